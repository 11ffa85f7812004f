// For tests: scripted runs over the API, as an operator sees them, on the bench's clock.

import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { DeviceInfo } from '../devices/records.ts'
import type { RuntimeEvent } from '../events/event.ts'
import type { Incident } from '../events/incidents.ts'
import { readStates } from '../events/states_reader.ts'
import { demoBench, demoTeachpoints } from '../examples/demo_bench.ts'
import type { Blocker } from '../workflow/runs/explanation.ts'
import type { ExecutionSnapshot, ShownThread } from '../workflow/snapshot.ts'
import type { Whereabouts } from '../workflow/whereabouts.ts'
import { severalArms, standing, workflowOf } from './documents.ts'
import { atTheEnd, openTestBench, type Reply, type TestedBench } from './http.ts'
import { trace } from './workflow.ts'

const usual = [...demoBench.devices, { device_id: 'arm-2', driver: 'arm', transport: { kind: 'simulated' } }]

/** The arms of the demo bench, and an island: two positions that only another arm reaches. The centrifuge has two nests. */
const arms = {
  'arm-1': ['pad_1', 'pad_2', 'pad_3', 'pad_4', 'shaker_in', 'sealer_in', 'centrifuge_in', 'centrifuge_gate', 'waste'],
  'arm-2': ['isle_1', 'isle_2'],
}
const nests = { shaker_in: 'shaker-1', sealer_in: 'sealer-1', centrifuge_in: 'centrifuge-1', centrifuge_gate: 'centrifuge-1' }
const island = { name: 'island', parking: ['pad_3', 'pad_4'], storages: ['waste'], nests }
const topology = severalArms(arms, island)
/** Adds a second shaker, in a pool with the first. */
const secondShaker = {
  device: { device_id: 'shaker-2', driver: 'bioshake', transport: { kind: 'simulated' } },
  topology: severalArms(
    { ...arms, 'arm-1': [...arms['arm-1'], 'shaker_2_in'] },
    { ...island, nests: { ...nests, shaker_2_in: 'shaker-2' }, pools: { shakers: ['shaker-1', 'shaker-2'] } },
  ),
}
/** Adds a scanner at pad_1. */
const scanner = {
  device: {
    ...{ device_id: 'scan-1', driver: 'simulated', type: 'scanner', transport: { kind: 'simulated' } },
    settings: { operations: { scan: { seconds: 2 } } },
  },
  topology: severalArms(arms, { ...island, scanners: { pad_1: 'scan-1' } }),
}
const coords = { x: 200, y: 100, z: 50, yaw: 0, pitch: 0, roll: 0 }
const isles = ['isle_1', 'isle_2'].map((name) => ({ device_id: 'arm-2', name, coord_type: 'cartesian', coords }))

export type Body = Record<string, unknown>
export const bodyOf = async (reply: Promise<Reply>) => (await reply).body as Body

/** The steps of the clock after which a waiting test looks although no event has come: little changes without one. */
const looksEvery = 8

/** Lets time pass in steps until `look` returns a value; undefined if it never does. Looks again when an event has come, and now and then. */
async function foundOn<Value>(
  { bench, clock }: TestedBench,
  look: () => Promise<Value | undefined | false>,
  { step_ms = 500, steps = 6000 } = {},
): Promise<Value | undefined> {
  let seen_us = -1
  for (let step = 0; step < steps; step++) {
    const { newest_us } = bench.hub.log
    if (newest_us !== seen_us || step % looksEvery === 0) {
      seen_us = newest_us
      const found = await look()
      if (found !== undefined && found !== false) return found
    }
    await clock.advance(step_ms)
  }
  return undefined
}

/** Repeats the request until the answer satisfies `isSo`; time passes meanwhile. */
export async function until(tested: TestedBench, path: string, isSo: (body: Body) => boolean): Promise<Body> {
  const found = await foundOn(tested, async () => {
    const body = await bodyOf(tested.ask('GET', path))
    return isSo(body) && body
  })
  if (!found) throw new Error(`${path} never came to it`)
  return found
}

/** The start and end of the plate in most workflows. */
export const atPad1 = standing('pad_1')
export const shake = { do: 'shake', on: 'shaker-1', with: { speed: 500, duration: 60 } }
export const seal = { do: 'seal', on: 'sealer-1', with: { temperature: 165, duration: 3 } }

/** Returns a workflow for one plate, with a method that shakes and one that shakes and seals. */
export const plateRun = (steps: object[], more: object = {}) =>
  workflowOf(
    'work',
    { plate: { ...atPad1, steps } },
    { topology: 'island', methods: { shake_it: [shake, { emit: 'shaken' }], seal_it: [seal] }, ...more },
  )

/** The run of a plate, whose thread has these members, beside a lid that waits for the event `go` and stays at pad_2. */
export const plateAndLid = (plate: object) =>
  workflowOf(
    'work',
    { plate: { ...atPad1, ...plate }, lid: { ...standing('pad_2'), steps: [{ wait_for: 'go' }] } },
    { topology: 'island', labware: { plate: { type: '96-well' }, lid: { type: 'lid' } }, methods: {} },
  )

type Opening = {
  /** A document, or the text of a module. */
  workflow: object | string
  run_mode?: 'LIVE' | 'DEVICE_SIM'
  time_scale?: number
  submission?: object
  /** Another workflow in the folder. */
  besides?: object
  has_second_shaker?: boolean
  has_scanner?: boolean
}

/** Opens the bench, loads the topology, and submits a run of the workflow `work`. */
export async function beginRun(
  t: Test,
  { workflow, run_mode = 'LIVE', time_scale, submission, besides, has_second_shaker, has_scanner }: Opening,
): Promise<Scripted> {
  const topologies = mkdtempSync(join(tmpdir(), 'benchd-topologies-'))
  atTheEnd(t).push(async () => rmSync(topologies, { recursive: true }))
  const more = has_second_shaker ? secondShaker : has_scanner ? scanner : undefined
  const devices = more ? [...usual, more.device] : usual
  writeFileSync(join(topologies, 'island.json'), JSON.stringify(more?.topology ?? topology))
  if (typeof workflow === 'string') writeFileSync(join(topologies, 'work.ts'), workflow)
  else writeFileSync(join(topologies, 'work.json'), JSON.stringify(workflow))
  if (besides) writeFileSync(join(topologies, 'besides.json'), JSON.stringify(besides))
  const bench = await openTestBench(t, { devices }, { topologies, ...(time_scale && { time_scale }) })
  const answered = async (method: string, path: string, json?: unknown) => {
    const reply = await bench.ask(method, path, { ...(json !== undefined && { json }) })
    if (reply.status > 202) throw new Error(`${method} ${path}: ${reply.status} ${reply.text}`)
    return reply.body as Record<string, unknown>
  }
  const second = { device_id: 'arm-1', name: 'shaker_2_in', coord_type: 'cartesian', coords }
  await answered('POST', '/api/teachpoints/bulk', [...demoTeachpoints, ...isles, ...(has_second_shaker ? [second] : [])])
  await answered('POST', '/api/topology/load', { name: 'island' })
  const { faults } = await answered('GET', '/api/workflows')
  if ((faults as object[]).length > 0) throw new Error(JSON.stringify(faults))
  const { execution_id } = await answered('POST', '/api/submissions', { workflow: 'work', run_mode, ...submission })
  return new Scripted(t, { bench, devices, topologies, execution_id: execution_id as string })
}

/** A run, and the operator who looks after it. */
export class Scripted {
  readonly bench: TestedBench
  readonly execution_id: string
  readonly #t: Test
  readonly #topologies: string
  readonly #devices: readonly object[]

  constructor(
    t: Test,
    {
      bench,
      devices,
      topologies,
      execution_id,
    }: { bench: TestedBench; devices: readonly object[]; topologies: string; execution_id: string },
  ) {
    this.#devices = devices
    this.#t = t
    this.#topologies = topologies
    this.bench = bench
    this.execution_id = execution_id
  }

  ask(method: string, path: string, json?: unknown): Promise<Reply> {
    return this.bench.ask(method, path, { ...(json !== undefined && { json }) })
  }

  /** Makes a GET request, which must succeed, and returns the answer. */
  async get<Answer = Record<string, unknown>>(path: string): Promise<Answer> {
    return this.#granted('GET', path)
  }

  async post<Answer = { message: string }>(path: string, json?: unknown): Promise<Answer> {
    return this.#granted('POST', path, json)
  }

  async #granted<Answer>(method: string, path: string, json?: unknown): Promise<Answer> {
    const reply = await this.ask(method, path, json)
    if (reply.status > 202) throw new Error(`${method} ${path}: ${reply.status} ${reply.text}`)
    return reply.body as Answer
  }

  snapshot(): Promise<ExecutionSnapshot> {
    return this.get(`/api/executions/${this.execution_id}`)
  }

  async blockers(): Promise<Blocker[]> {
    return (await this.get<{ blockers: Blocker[] }>(`/api/executions/${this.execution_id}/blockers`)).blockers
  }

  /** Lists the incidents of the run, oldest first. */
  async incidents(): Promise<Incident[]> {
    return (await this.get<{ incidents: Incident[] }>(`/api/incidents?execution_id=${this.execution_id}`)).incidents.reverse()
  }

  async events(): Promise<RuntimeEvent[]> {
    return (await this.get<{ events: RuntimeEvent[] }>(`/events?since=0&execution_id=${this.execution_id}`)).events
  }

  /** Lets time pass until `look` returns a value. */
  async until<Value>(what: string, look: () => Promise<Value | undefined | false>, step_ms = 500): Promise<Value> {
    const found = await foundOn(this.bench, look, { step_ms })
    if (found !== undefined) return found
    throw new Error(
      `${what} never came to be: ${JSON.stringify((await this.snapshot()).threads.map(({ thread_name, status, last_error, waiting }) => ({ thread_name, status, last_error, waiting })))}`,
    )
  }

  thread(name: string, status: string): Promise<ShownThread> {
    return this.until(`${name} in ${status}`, async () =>
      (await this.snapshot()).threads.find((thread) => thread.thread_name === name && thread.status === status),
    )
  }

  /** Resolves when an error holds the thread again, at this site. */
  heldAgain(name: string, site: 'MOVE' | 'DEVICE_OP'): Promise<ShownThread> {
    const isThere = ({ thread_name, status, decisions }: ShownThread) =>
      thread_name === name &&
      status === 'PAUSED' &&
      decisions.includes('RETRY') &&
      decisions.includes('ABORT_ACTION') === (site === 'DEVICE_OP')
    return this.until(`${name} at ${site}`, async () => (await this.snapshot()).threads.find(isThere))
  }

  /** Lists the events of that name, of all runs. */
  async named(event_name: string): Promise<RuntimeEvent[]> {
    const { events } = await this.get<{ events: RuntimeEvent[] }>('/events?since=0')
    return events.filter((event) => event.event_name === event_name)
  }

  /** Resolves with the final status of the run. */
  over(): Promise<string> {
    return this.until('the end', async () => {
      const { status } = await this.snapshot()
      return status !== 'IN_PROGRESS' && status
    })
  }

  /** Resolves when a device is performing this operation. */
  async does(device_id: string, operation: string): Promise<void> {
    const isDoing = async () => (await this.get<DeviceInfo>(`/api/devices/${device_id}`)).operation?.name === operation
    await this.until(`${operation} of ${device_id}`, isDoing, 100)
  }

  /** Breaks a device now. */
  async breaks(device_id: string, fault: string): Promise<void> {
    await this.post(`/api/sim/devices/${device_id}/faults`, { fault })
  }

  /** Repairs and initializes the device, as an operator does before a decision. */
  async mends(device_id: string): Promise<void> {
    await this.bench.ask('DELETE', `/api/sim/devices/${device_id}/faults`)
    await this.post(`/api/devices/${device_id}/initialize`)
  }

  async carries(name: string, position: string): Promise<void> {
    const { labware } = await this.get<{ labware: Whereabouts[] }>('/api/labware')
    const { labware_id } = labware.find((one) => one.name === name)!
    await this.#granted('PUT', `/api/labware/${labware_id}/location`, { position })
  }

  async emits(name: string): Promise<void> {
    await this.post(`/api/executions/${this.execution_id}/emit`, { name })
  }

  recover(thread_id: string, decision: string, on?: string): Promise<Reply> {
    return this.ask('POST', `/api/threads/${thread_id}/recover`, { decision, ...(on !== undefined && { on }) })
  }

  /** Returns the script of another run on the same bench. */
  of(execution_id: string): Scripted {
    return new Scripted(this.#t, { bench: this.bench, devices: this.#devices, topologies: this.#topologies, execution_id })
  }

  /** Whether the state on the disk contains this text. */
  isOnTheCard(text: string): boolean {
    return this.#stateFiles().some((name) => readFileSync(join(this.bench.data_dir, 'executions', name), 'utf8').includes(text))
  }

  /** Returns the values of the run that are on the disk. */
  async state(): Promise<ReadonlyMap<string, unknown>> {
    const { runs } = await readStates(join(this.bench.data_dir, 'executions'), {
      stored: Number.POSITIVE_INFINITY,
      known: Number.POSITIVE_INFINITY,
      ended: 0,
    })
    return runs.get(this.execution_id)?.keys ?? new Map()
  }

  #stateFiles(): string[] {
    return stateFilesIn(this.bench.data_dir)
  }

  /** Changes a file of the topologies folder, for the next start. */
  rewrites(file: string, content: object | string): void {
    writeFileSync(join(this.#topologies, file), typeof content === 'string' ? content : JSON.stringify(content))
  }

  /** The text of a file of the topologies folder. */
  reads(file: string): string {
    return readFileSync(join(this.#topologies, file), 'utf8')
  }

  async labware(): Promise<Whereabouts[]> {
    return (await this.get<{ labware: Whereabouts[] }>('/api/labware')).labware
  }

  /** Opens the same bench on a copy of the disk, as after a power cut. `change` may alter the copy, and returns a file to delete. */
  async afterPowerCut(change?: (copy: { folder: string }) => string, opening: { safe?: string } = {}): Promise<Scripted> {
    const folder = mkdtempSync(join(tmpdir(), 'benchd-copy-'))
    const ending = atTheEnd(this.#t)
    ending.push(async () => rmSync(folder, { recursive: true }))
    copyLive(this.bench.data_dir, folder)
    const without = change?.({ folder })
    if (without) for (const name of [without, `${without}.bak`]) rmSync(join(folder, name), { force: true })
    const topologies = this.#topologies
    const devices = this.#devices
    const bench = await openTestBench(this.#t, { devices }, { topologies, folder, ...opening })
    return new Scripted(this.#t, { bench, devices, topologies, execution_id: this.execution_id })
  }
}

/** Lists the ends of actions, methods, threads and the run. */
export function ended(events: readonly RuntimeEvent[]): string[] {
  const ends = /^(ACTION (?!move)|METHOD|THREAD|EXECUTION).*(COMPLETED?|ERRORED|SKIPPED|ABORTED|STOPPED|FAILED)$/
  return trace(events).filter((event) => ends.test(event))
}

/** Copies a folder while files in it are written. Starts over if a file disappears; that ends, because nothing new begins meanwhile. */
function copyLive(from: string, to: string): void {
  for (;;) {
    try {
      cpSync(from, to, { recursive: true })
      return
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
      rmSync(to, { recursive: true, force: true })
    }
  }
}

/** Lists the files of the state of open runs in a data folder, without the records of the runs beside them. */
export function stateFilesIn(data_dir: string): string[] {
  const folder = join(data_dir, 'executions')
  return existsSync(folder) ? readdirSync(folder).filter((name) => name.endsWith('.jsonl')) : []
}
