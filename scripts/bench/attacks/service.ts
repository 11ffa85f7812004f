// The service as it ships and as the unit starts it, on the demo's devices, over plain HTTP or TLS.

import { execFileSync, spawn } from 'node:child_process'
import { readdirSync, readlinkSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { request as requestTls } from 'node:https'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ask } from '../../../src/cli/client.ts'
import { demoBench } from '../../../src/examples/demo_bench.ts'
import { ownFolder } from '../child.ts'
import { unitFlags } from '../events/unit.ts'
import { addressOf, killed, memoryOf } from '../process.ts'

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

const top = fileURLToPath(new URL('../../../..', import.meta.url))
const benchd = join(top, 'dist/bundle/main.js')
const patience_ms = 10_000

export async function startTarget({ tls, events }: { tls: boolean; events: number }): Promise<Target> {
  const folder = ownFolder()
  if (tls) execFileSync(join(top, 'scripts/make-cert.sh'), [folder], { stdio: 'ignore' })
  const listen = { host: '127.0.0.1', port: 0, ...(tls && { tls: { cert: join(folder, 'cert.pem'), key: join(folder, 'key.pem') } }) }
  writeFileSync(join(folder, 'config.json'), JSON.stringify({ ...demoBench, listen }))
  const args = [...unitFlags, benchd, 'serve', '--config', join(folder, 'config.json'), '--data-dir', join(folder, 'data')]
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
  const port = Number(new URL(await addressOf(child)).port)
  const post = <Answer>(path: string, body?: object) => ask<Answer>({ socket_of: join(folder, 'data') }, 'POST', path, body)
  const key = async (scope: string) => (await post<{ api_key: string }>('/api/keys', { name: scope, scope })).api_key
  const keys = { read: await key('read'), operate: await key('operate') }
  for (let left = events; left > 0; left -= 1000) await post('/api/sim/load', { rate: 200_000, seconds: 1000 / 200_000 })
  await post('/api/devices/shaker-1/initialize')
  const isUp = () => child.exitCode === null && child.signalCode === null
  const fds = `/proc/${child.pid}/fd`
  return {
    port,
    pid: child.pid!,
    keys,
    async run(groups) {
      const body = { workflow: 'smc_assay', run_mode: 'PURE_SIM', groups: groupsOf(groups) }
      const { execution_id } = await post<{ execution_id: string }>('/api/submissions', body)
      await post(`/api/executions/${execution_id}/pause`)
      return execution_id
    },
    stop: () => stopped({ port, key: keys.read, tls }),
    peak: () => (isUp() ? memoryOf(child.pid!, 'VmHWM') : Number.POSITIVE_INFINITY),
    sockets: () => (isUp() ? readdirSync(fds).filter((fd) => isSocket(`${fds}/${fd}`)).length : 0),
    end: () => killed(child),
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

function stopped({ port, key, tls }: { port: number; key: string; tls: boolean }): Promise<number | undefined> {
  const began = performance.now()
  return new Promise((resolve) => {
    const options = { host: '127.0.0.1', port, method: 'POST', path: '/api/stop', headers: { 'X-API-Key': key }, agent: false } as const
    const answered = (status: number | undefined) => resolve(status === 200 ? performance.now() - began : undefined)
    const asking = (tls ? requestTls : request)({ ...options, rejectUnauthorized: false }, ({ statusCode }) => answered(statusCode))
    asking.setTimeout(patience_ms, () => asking.destroy())
    asking.on('error', () => resolve(undefined))
    asking.end()
  })
}
