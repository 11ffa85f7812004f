// The service as it ships and as the unit starts it, on the demo's devices, over plain HTTP or TLS.

import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { request as requestTls } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { json } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { demoBench } from '../../../src/examples/demo_bench.ts'
import { unitFlags } from '../events/unit.ts'

export type Target = {
  port: number
  pid: number
  keys: { read: string; operate: string }
  /** Begins a run in PURE_SIM with so many groups that does not end by itself; resolves with its id. */
  run(groups: number): Promise<string>
  /** Milliseconds until a stop is answered on a connection of its own; undefined when it is not within ten seconds. */
  stop(): Promise<number | undefined>
  /** MiB: the most the process ever held; infinite when it has ended. */
  peak(): number
  /** Sockets that it has open. */
  sockets(): number
  end(): Promise<void>
}

const top = process.env.BASE ?? fileURLToPath(new URL('../../../..', import.meta.url))
const benchd = join(top, 'dist/bundle/main.js')
const patience_ms = 10_000

export async function startTarget({ tls, events }: { tls: boolean; events: number }): Promise<Target> {
  const folder = mkdtempSync(join(tmpdir(), 'benchd-attacks-'))
  if (tls) execFileSync(join(top, 'scripts/make-cert.sh'), [folder], { stdio: 'ignore' })
  const listen = { host: '127.0.0.1', port: 0, ...(tls && { tls: { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') } }) }
  writeFileSync(join(folder, 'config.json'), JSON.stringify({ ...demoBench, listen }))
  const args = [...unitFlags, benchd, 'serve', '--config', join(folder, 'config.json'), '--data-dir', join(folder, 'data')]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const exit = once(child, 'exit')
  const port = await portOf(child.stdout)
  const overControl = { socketPath: join(folder, 'data/control.sock') }
  const key = async (scope: string) =>
    ((await ask(overControl, 'POST', '/api/keys', { name: scope, scope })) as { api_key: string }).api_key
  const keys = { read: await key('read'), operate: await key('operate') }
  for (let left = events; left > 0; left -= 1000)
    await ask(overControl, 'POST', '/api/sim/load', { rate: 200_000, seconds: 1000 / 200_000 })
  await ask(overControl, 'POST', '/api/devices/shaker-1/initialize')
  return {
    port,
    pid: child.pid!,
    keys,
    async run(groups) {
      const body = { workflow: 'smc_assay', run_mode: 'PURE_SIM', groups: groupsOf(groups) }
      const { execution_id } = (await ask(overControl, 'POST', '/api/submissions', body)) as { execution_id: string }
      await ask(overControl, 'POST', `/api/executions/${execution_id}/pause`)
      return execution_id
    },
    stop: () => stopped({ port, key: keys.read, tls }),
    peak: () =>
      (child.exitCode ?? child.signalCode) === null
        ? Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1024
        : Number.POSITIVE_INFINITY,
    sockets: () =>
      (child.exitCode ?? child.signalCode) !== null
        ? 0
        : readdirSync(`/proc/${child.pid}/fd`).filter((fd) => isSocket(`/proc/${child.pid}/fd/${fd}`)).length,
    async end() {
      child.kill('SIGKILL')
      await exit
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Groups of a submission. */
export function groupsOf(count: number): object[] {
  return Array.from({ length: count }, (_, i) => ({ group_id: `g${i}` }))
}

function isSocket(path: string): boolean {
  try {
    return readlinkSync(path).startsWith('socket:')
  } catch {
    return false
  }
}

async function portOf(stdout: NodeJS.ReadableStream): Promise<number> {
  for await (const line of createInterface({ input: stdout })) {
    const [, port] = /https?:\/\/127\.0\.0\.1:(\d+)/.exec(line) ?? []
    if (port) {
      stdout.resume()
      return Number(port)
    }
  }
  throw new Error('the service ended before it listened')
}

function ask(where: object, method: string, path: string, body?: object): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const headers = { Host: 'localhost', ...(body && { 'Content-Type': 'application/json' }) }
    request({ ...where, method, path, headers }, (response) => resolve(json(response)))
      .on('error', reject)
      .end(body && JSON.stringify(body))
  })
}

function stopped({ port, key, tls }: { port: number; key: string; tls: boolean }): Promise<number | undefined> {
  const began = performance.now()
  return new Promise((resolve) => {
    const options = { host: '127.0.0.1', port, method: 'POST', path: '/api/stop', headers: { 'X-API-Key': key }, agent: false } as const
    const answered = (status: number | undefined) => resolve(status === 200 ? performance.now() - began : undefined)
    const asking = tls
      ? requestTls({ ...options, rejectUnauthorized: false }, ({ statusCode }) => answered(statusCode))
      : request(options, ({ statusCode }) => answered(statusCode))
    asking.setTimeout(patience_ms, () => asking.destroy())
    asking.on('error', () => resolve(undefined))
    asking.end()
  })
}
