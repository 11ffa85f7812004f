// Speaks to the service on the demo bench that a benchmark has started, and looks at its process from outside.

import { readdirSync, readFileSync } from 'node:fs'
import { Agent, type IncomingMessage, request } from 'node:http'
import { json } from 'node:stream/consumers'
import { setTimeout as wait } from 'node:timers/promises'
import type { Demo } from './servers/demo.ts'

/** In which the demo's workflow has long ended, at whatever scale. */
const patience_ms = 600_000

export type Answer = { status: number; body: unknown }

export type Client = {
  ask(method: string, path: string, body?: object): Promise<Answer>
  /** The answer as it comes, as a stream of events has it. */
  open(path: string): Promise<IncomingMessage>
  /** Does the demo's workflow from its submission to its end, LIVE unless said, and answers its id. */
  run(run_mode?: 'LIVE' | 'PURE_SIM'): Promise<string>
  close(): void
}

export function clientOf({ url, key }: Demo): Client {
  const agent = new Agent({ keepAlive: true })
  const send = (method: string, path: string, body?: object, its = key) =>
    new Promise<IncomingMessage>((resolve, reject) => {
      const headers = { 'X-API-Key': its, ...(body && { 'Content-Type': 'application/json' }) }
      request(`${url}${path}`, { method, headers, agent }, resolve)
        .on('error', reject)
        .end(body && JSON.stringify(body))
    })
  const ask = async (method: string, path: string, body?: object): Promise<Answer> => {
    const response = await send(method, path, body)
    return { status: response.statusCode ?? 0, body: await json(response).catch(() => undefined) }
  }
  return {
    ask,
    open: (path) => send('GET', path),
    async run(run_mode = 'LIVE') {
      const { status, body } = await ask('POST', '/api/submissions', { workflow: 'seal-and-spin', run_mode })
      if (status !== 202) throw new Error(`the workflow was refused: ${JSON.stringify(body)}`)
      const { execution_id } = body as { execution_id: string }
      for (const end = performance.now() + patience_ms; performance.now() < end; ) {
        const { status } = (await ask('GET', `/api/executions/${execution_id}`)).body as { status: string }
        if (status === 'COMPLETED') return execution_id
        if (status === 'ABORTED' || status === 'FAILED') throw new Error(`the run is ${status}`)
        await wait(100)
      }
      throw new Error(
        `run ${execution_id} stands: a busy machine lets a simulated device answer too late, and nobody decides about that here`,
      )
    },
    close: () => agent.destroy(),
  }
}

/** In MiB. */
export function rssOf(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
}

export function descriptorsOf(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length
}

/** The data that it gave the disks to write and did not take back before they were, in MiB; nothing on a file system in memory. */
export function writtenBy(pid: number): number {
  const io = readFileSync(`/proc/${pid}/io`, 'utf8')
  const bytes = (name: string) => Number(new RegExp(`^${name}: (\\d+)`, 'm').exec(io)?.[1])
  return (bytes('write_bytes') - bytes('cancelled_write_bytes')) / 2 ** 20
}
