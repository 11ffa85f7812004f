// For tests: `benchd serve` as a process of its own, which a test kills and starts again.

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { Keys, type PublicKey } from '../keys/keys.ts'
import { until } from './bridges.ts'
import { atTheEnd } from './http.ts'

type Body = Record<string, unknown>
type Home = { config: object; topologies?: Readonly<Record<string, object>>; scope?: PublicKey['scope'] }

/** The service as it ships. */
const main = fileURLToPath(new URL('../../bundle/main.js', import.meta.url))

/** Starts the service in the test's folder. `config` needs no `format` and no `listen`. It ends with the test. */
export async function killable(t: Test, { config, topologies = {}, scope = 'admin' }: Home) {
  const ending = atTheEnd(t)
  const folder = t.testdir({})
  const data_dir = `${folder}/data`
  for (const path of [data_dir, `${folder}/topologies`]) mkdirSync(path, { recursive: true, mode: 0o700 })
  writeFileSync(`${folder}/config.json`, JSON.stringify({ format: 1, listen: { host: '127.0.0.1', port: 0 }, ...config }))
  for (const [name, topology] of Object.entries(topologies)) writeFileSync(`${folder}/topologies/${name}.json`, JSON.stringify(topology))
  const keys = await Keys.open({ folder: data_dir, report: () => undefined })
  const { api_key: key } = await keys.create({ name: 'test', scope })
  keys.close()
  let child: ChildProcess | undefined
  let port = 0
  const start = async () => {
    // Too many that broke off would be a reason for safe mode.
    rmSync(`${data_dir}/starts.json`, { force: true })
    child = spawn(process.execPath, [main, 'serve', '--config', `${folder}/config.json`, '--data-dir', data_dir], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    for await (const line of createInterface({ input: child.stdout! })) {
      port = Number(/http:\/\/[\d.]+:(\d+)/.exec(line)?.[1] ?? 0)
      if (port) break
    }
    child.stdout!.resume()
  }
  const kill = async () => {
    if (!child || child.exitCode !== null) return
    const ended = once(child, 'exit')
    child.kill('SIGKILL')
    await ended
    child = undefined
  }
  ending.push(kill)
  const ask = async (method: string, path: string, json?: object) => {
    const headers = { 'X-API-Key': key, 'Content-Type': 'application/json' }
    const reply = await fetch(`http://127.0.0.1:${port}${path}`, { method, headers, ...(json && { body: JSON.stringify(json) }) })
    return { status: reply.status, body: (await reply.json()) as Body }
  }
  /** Asks until the answer is good: a service that has just started may still open its runs. */
  const granted = async <Shown = Body>(method: string, path: string, json?: object): Promise<Shown> => {
    const body = await until(async () => {
      const reply = await ask(method, path, json)
      if (reply.status === 400) throw new Error(`${method} ${path}: ${JSON.stringify(reply.body)}`)
      return reply.status <= 202 ? reply.body : undefined
    })
    return body as Shown
  }
  await start()
  return { folder, key, port: () => port, start, kill, ask, granted }
}

export type Killable = Awaited<ReturnType<typeof killable>>

/** Begins a run in LIVE whose one thread waits for a person to say that its labware stands there; returns the path of its execution. */
export async function begun({ granted }: Killable, workflow: string): Promise<string> {
  const { execution_id } = await granted('POST', '/api/submissions', { workflow, run_mode: 'LIVE' })
  const execution = `/api/executions/${execution_id}`
  const { threads } = await granted<{ threads: { thread_id: string }[] }>('GET', execution)
  await granted('POST', `/api/threads/${threads[0]!.thread_id}/placed`, {})
  return execution
}

export async function completed({ granted }: Killable, execution: string): Promise<void> {
  await until(async () => (await granted('GET', execution)).status === 'COMPLETED')
}

/** Returns the only labware of the bench. */
export async function onlyLabware({ granted }: Killable): Promise<{ labware_id: string; place: string }> {
  const { labware } = await granted<{ labware: { labware_id: string; place: string }[] }>('GET', '/api/labware')
  return labware[0]!
}
