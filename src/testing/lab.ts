// For tests: a lab of real processes (two simulated benches, a broker, PostgreSQL and a coordinator). Each can be killed and restarted.

import { type ChildProcess, spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { ShownJourney, ShownTask } from '../coordinator/coordinator.ts'
import { type LocalPostgres, startPostgres } from '../coordinator/local_postgres.ts'
import type { CustodyRow } from '../coordinator/store.ts'
import { labBench, labFileOf, labPoints, labTopology, labWorkflows } from '../examples/lab_benches.ts'
import { freePort } from '../kit/ports.ts'
import { type TestBroker, testBroker } from './broker.ts'
import { benchd, program } from './cli.ts'

/** Says why no lab can run here, or false. */
export const noPostgres = !existsSync('/usr/lib/postgresql') && 'there is no postgres'

type Lifetime = { teardown(call: () => unknown): void }

/** A program that can be killed, as by a power cut, and restarted. */
export type Killable = {
  start(): Promise<void>
  kill(): Promise<void>
  /** Terminates it, and returns its exit code. */
  end(): Promise<number | null>
  readonly words: string[]
  readonly isRunning: boolean
}

/** Matches a bench's answer to a stop of all benches. On a busy computer a simulated instrument may confirm its stop too late. */
export const stopOfAll = /stopped: prep, read|(prep|read) \(stop sent/

export type TestBench = Killable & {
  name: string
  url: string
  key: string
  folder: string
  ask<Answer>(method: string, path: string, body?: object): Promise<Answer>
}

export type TestLab = {
  folder: string
  broker: TestBroker
  database: LocalPostgres
  prep: TestBench
  read: TestBench
  coordinator: Killable & { url: string; key: string }
  /** Writes the lab file. */
  write(change: (file: LabFile) => void): void
  file: string
  ask<Answer>(method: string, path: string, body?: object): Promise<Answer & { answered: number }>
  /** Begins a journey, and returns its id. Repeats the request if a bench or the database answers too late. Rejects if the coordinator refuses it. */
  begin(journey: string, labware: string): Promise<string>
  journey(id: string): Promise<ShownJourney>
  /** Asks for the journey until it is as `isSo` says. */
  journeyUntil(id: string, isSo: (shown: ShownJourney) => boolean): Promise<ShownJourney>
  tasks(): Promise<ShownTask[]>
  custody(labware: string): Promise<CustodyRow[]>
  /** The number of tasks that were confirmed by `carryUntil`. */
  hands: number
  /** Confirms each task as it comes, and does an operator's work at the benches, until `isSo` returns true. */
  carryUntil(isSo: () => Promise<boolean>, refuse?: (task: ShownTask) => boolean): Promise<void>
}

// biome-ignore lint/suspicious/noExplicitAny: a document that a test takes apart.
type LabFile = any

/** Starts all programs except the coordinator. */
export async function testLab(t: Lifetime, { scale = 200 }: { scale?: number } = {}): Promise<TestLab> {
  const folder = mkdtempSync(join(tmpdir(), 'benchd-lab-'))
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  const [broker, database] = await Promise.all([testBroker(t), startPostgres()])
  t.teardown(() => database.close())
  const [prep, read] = await Promise.all([
    startBench(t, 'prep', { folder: `${folder}/prep`, server: broker.url, scale }),
    startBench(t, 'read', { folder: `${folder}/read`, server: broker.url, scale }),
  ])
  mkdirSync(`${folder}/keys`)
  for (const { name, key } of [prep, read]) writeFileSync(`${folder}/keys/${name}.key`, key)
  const file = `${folder}/lab.json`
  const write = (change: (file: LabFile) => void) => {
    const content = structuredClone(
      labFileOf({
        database: database.url,
        server: broker.url,
        benches: { prep: { name: 'prep', url: prep.url }, read: { name: 'read', url: read.url } },
      }),
    )
    change(content)
    writeFileSync(file, JSON.stringify(content))
  }
  write(() => {})
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const data = `${folder}/coordinator`
  const { stdout } = await benchd(folder, ['key', 'create', '--name', 'test', '--scope', 'admin', '--data-dir', data])
  const key = stdout.trim()
  const process = killable(t, ['lab', 'serve', file, '--port', String(port), '--data-dir', data], async () => {
    while ((await fetch(`${url}/health`).catch(() => undefined))?.status !== 200) {
      if (!process.isRunning) throw new Error(`the coordinator has ended: ${process.words.slice(-5).join('\n')}`)
      await pause(20)
    }
  })
  const coordinator = Object.assign(process, { url, key })
  const ask = async <Answer>(method: string, path: string, body?: object) => {
    const reply = await fetch(url + path, {
      method,
      headers: { 'X-API-Key': key, 'Content-Type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
    return { ...((await reply.json()) as Answer), answered: reply.status }
  }
  const tasks = async () => (await ask<{ tasks?: ShownTask[] }>('GET', '/api/lab/tasks').catch(() => ({ tasks: [] }))).tasks ?? []
  const lab: TestLab = {
    ...{ folder, broker, database, prep, read, coordinator, write, file, ask, tasks },
    async begin(journey, labware) {
      // The same id makes a repeated request safe.
      const journey_id = randomUUID()
      for (;;) {
        const begun = await ask<ShownJourney & { detail?: string }>('POST', '/api/lab/journeys', { journey, labware, journey_id })
        if (begun.answered === 202) return begun.journey_id
        if (begun.answered !== 500 && begun.answered !== 503) throw new Error(begun.detail)
        await pause(100)
      }
    },
    journey: (id) => ask('GET', `/api/lab/journeys/${id}`),
    async journeyUntil(id, isSo) {
      let shown = await lab.journey(id)
      for (; !isSo(shown); shown = await lab.journey(id)) await pause(50)
      return shown
    },
    custody: async (labware) => (await ask<{ custody?: CustodyRow[] }>('GET', `/api/lab/custody/${labware}`)).custody ?? [],
    hands: 0,
    async carryUntil(isSo, refuse = () => false) {
      const confirm = async ({ task_id, kind, labware }: ShownTask) => {
        const body = kind === 'place' || kind === 'bring' ? { barcode: labware } : {}
        const { answered } = await ask('POST', `/api/lab/tasks/${task_id}/confirm`, body)
        if (answered === 200) lab.hands++
      }
      for (let turn = 0; !(await isSo().catch(() => false)); turn++) {
        const tried = (await tasks()).filter((task) => !refuse(task)).map(confirm)
        await Promise.allSettled([...tried, ...(turn % 5 ? [] : [prep, read].map(operate))])
        await pause(100)
      }
    },
  }
  return lab
}

type Incident = { incident_id: string; detail: { safe_mode?: boolean } }
type Open = { execution_id: string; paused: unknown }
type Held = {
  thread_id: string
  decisions: string[]
  last_error: string | null
  held_by: string | null
  position: string | null
  labware: { labware_id: string } | null
}

/**
 * Does the work of an operator: ends safe mode, resumes runs, says where labware is that an arm may hold, and repeats operations that were interrupted
 * or failed. On a busy computer a simulated device may answer too late for its fast clock.
 */
async function operate({ ask, isRunning }: TestBench): Promise<void> {
  if (!isRunning) return
  // After three crashes in five minutes a bench is in safe mode until somebody acknowledges it.
  const { incidents } = await ask<{ incidents: Incident[] }>('GET', '/api/incidents?acknowledged=false')
  for (const { incident_id, detail } of incidents) if (detail.safe_mode) await ask('POST', `/api/incidents/${incident_id}/acknowledge`, {})
  const { executions } = await ask<{ executions: Open[] }>('GET', '/api/executions?status=IN_PROGRESS')
  for (const { execution_id, paused } of executions) {
    const { threads } = await ask<{ threads: Held[] }>('GET', `/api/executions/${execution_id}`)
    for (const { thread_id, decisions, last_error, held_by, position, labware } of threads) {
      if (!decisions.includes('RETRY')) continue
      // The arm was cut off in a move, and the gripper of the new process is empty, so the labware is put back where it was picked up.
      if (labware && (held_by !== null || /say where it is/.test(last_error ?? '')))
        await ask('PUT', `/api/labware/${labware.labware_id}/location`, { position })
      for (const { device_id } of labBench.devices) {
        const { state } = await ask<{ state: string }>('GET', `/api/devices/${device_id}`)
        if (state === 'faulted' || state === 'stopped') await ask('POST', `/api/devices/${device_id}/initialize`, {})
      }
      await ask('POST', `/api/threads/${thread_id}/recover`, { decision: 'RETRY' })
    }
    if (paused) await ask('POST', `/api/executions/${execution_id}/resume`, {})
  }
}

type BenchPlace = { folder: string; server: string; scale: number }

async function startBench(t: Lifetime, name: string, { folder, server, scale }: BenchPlace): Promise<TestBench> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  mkdirSync(`${folder}/topologies`, { recursive: true })
  const config = {
    ...labBench,
    system_id: name,
    time_scale: scale,
    listen: { host: '127.0.0.1', port },
    fleet: { servers: [server], lab: 'floor-2', name, url },
  }
  writeFileSync(`${folder}/config.json`, JSON.stringify(config))
  for (const document of [labTopology, ...labWorkflows])
    writeFileSync(`${folder}/topologies/${document.name}.json`, JSON.stringify(document))
  const { stdout } = await benchd(folder, ['key', 'create', '--name', 'lab', '--scope', 'admin', '--data-dir', `${folder}/data`])
  const key = stdout.trim()
  const args = ['serve', '--config', `${folder}/config.json`, '--data-dir', `${folder}/data`, '--topologies', `${folder}/topologies`]
  const process = killable(t, args, async () => {
    while ((await fetch(`${url}/health`).catch(() => undefined))?.ok !== true) {
      if (!process.isRunning) throw new Error(`the bench ${name} has ended: ${process.words.slice(-5).join('\n')}`)
      await pause(20)
    }
  })
  const ask = async <Answer>(method: string, path: string, body?: object) => {
    const reply = await fetch(url + path, {
      method,
      headers: { 'X-API-Key': key, 'Content-Type': 'application/json' },
      ...(body && { body: JSON.stringify(body) }),
    })
    return (await reply.json()) as Answer
  }
  await process.start()
  await ask('POST', '/api/teachpoints/bulk', { device_id: 'arm-1', teachpoints: labPoints })
  await ask('POST', '/api/topology/load', { name: labTopology.name })
  return Object.assign(process, { name, url, key, folder, ask })
}

/** `ready` resolves when the started program answers. */
function killable(t: Lifetime, args: readonly string[], ready: () => Promise<void>): Killable {
  let child: ChildProcess | undefined
  const words: string[] = []
  const isRunning = () => child !== undefined && child.exitCode === null && child.signalCode === null
  const kill = async () => {
    if (!child || !isRunning()) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
  }
  t.teardown(kill)
  return {
    words,
    get isRunning() {
      return isRunning()
    },
    kill,
    async end() {
      const ended = once(child!, 'close')
      child!.kill('SIGTERM')
      return (await ended)[0]
    },
    async start() {
      child = spawn(process.execPath, [program, ...args], {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { PATH: process.env.PATH, HOME: '/nonexistent' },
      })
      for (const stream of [child.stdout!, child.stderr!]) createInterface({ input: stream }).on('line', (line) => void words.push(line))
      await ready()
    },
  }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
