// A bench without a robot, with a run whose first task waits for a person.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { demoConfig, prepareDemo } from '../examples/demo.ts'
import { silent } from '../kit/log.ts'
import { startService } from '../main.ts'
import { atTheEnd } from './http.ts'

/** Starts the service and the run, and places the plate. `status` asks how far the run is. */
export async function handsAtWork(t: Test) {
  const ending = atTheEnd(t)
  const { listen, ...config } = await demoConfig(100, 'hands')
  const service = await startService({ ...config, listen: { ...listen, port: 0 } }, { data_dir: t.testdir({}), log: silent })
  ending.push(() => service.close())
  const { url, bench } = service
  const key = await prepareDemo(bench, 'hands')
  const ask = async (method: string, path: string, body?: object) => {
    const headers = { 'X-API-Key': key, ...(body && { 'Content-Type': 'application/json' }) }
    const answer = await fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
    return { ok: answer.ok, body: (await answer.json()) as Record<string, unknown> }
  }
  const { execution_id } = (await ask('POST', '/api/submissions', { workflow: 'shake-by-hand', run_mode: 'LIVE' })).body
  const run = `/api/executions/${execution_id}`
  const { threads } = (await ask('GET', run)).body as { threads: { thread_id: string }[] }
  while (!(await ask('POST', `/api/threads/${threads[0]!.thread_id}/placed`)).ok) await sleep(10)
  return { url, key, run, status: async () => (await ask('GET', run)).body['status'] }
}
