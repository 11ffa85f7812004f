// Speaks to the service on the demo bench that a benchmark has started.

import { setTimeout as wait } from 'node:timers/promises'
import type { Demo } from './servers/demo.ts'

/** In which the demo's workflow has long ended, at whatever scale. */
const patience_ms = 600_000

export type Client = {
  ask(method: string, path: string, body?: object): Promise<{ status: number; body: unknown }>
  /** The answer as it comes, as a stream of events has it. */
  open(path: string): Promise<Response>
  /** Does the demo's workflow from its submission to its end, LIVE unless said, and answers its id. */
  run(run_mode?: 'LIVE' | 'PURE_SIM'): Promise<string>
}

export function clientOf({ url, key }: Demo): Client {
  const send = (method: string, path: string, body?: object) =>
    fetch(`${url}${path}`, {
      method,
      headers: { 'X-API-Key': key, ...(body && { 'Content-Type': 'application/json' }) },
      ...(body && { body: JSON.stringify(body) }),
    })
  const ask: Client['ask'] = async (method, path, body) => {
    const response = await send(method, path, body)
    return { status: response.status, body: await response.json().catch(() => undefined) }
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
  }
}
