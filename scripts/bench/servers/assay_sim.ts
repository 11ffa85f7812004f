// The service with the bench of the assay, which runs the assay once in DEVICE_SIM, at the pace that the arguments tell.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { checkConfig } from '../../../src/config.ts'
import { assayBench, assayTeachpoints } from '../../../src/examples/assay_bench.ts'
import { silent } from '../../../src/kit/log.ts'
import { startService } from '../../../src/main.ts'
import { answerParent } from '../child.ts'

/** `makespan_s` is that of the PURE_SIM dry run, in the time of the instruments; `seconds` is what the run took here. */
export type AssayRun = { makespan_s: number; seconds: number }

const time_scale = Number(process.argv[2])
const data_dir = mkdtempSync(join(tmpdir(), 'benchd-assay-'))
process.on('exit', () => rmSync(data_dir, { recursive: true, force: true }))
const config = await checkConfig({ ...assayBench, format: 1, listen: { host: '127.0.0.1', port: 0 }, time_scale }, 'the bench')
const { bench, url } = await startService(config, { data_dir, log: silent })
const { api_key } = await bench.keys.create({ name: 'bench', scope: 'admin' })
await bench.teachpoints.importAll(assayTeachpoints, { overwrite: false })

answerParent({}, async (): Promise<AssayRun> => {
  await ask('POST', '/api/topology/load', { name: 'smc' })
  const { makespan_s } = await ask<{ makespan_s: number }>('POST', '/api/simulations', { workflow: 'smc_assay', run_mode: 'PURE_SIM' })
  const began = performance.now()
  const { execution_id } = await ask<{ execution_id: string }>('POST', '/api/submissions', {
    workflow: 'smc_assay',
    run_mode: 'DEVICE_SIM',
  })
  for (;;) {
    const { status } = await ask<{ status: string }>('GET', `/api/executions/${execution_id}`)
    if (status === 'COMPLETED') return { makespan_s, seconds: (performance.now() - began) / 1000 }
    if (['FAILED', 'ABORTED'].includes(status)) throw new Error(`the assay is ${status}`)
    type Shown = { threads: { thread_id: string; status: string }[] }
    const { threads } = await ask<Shown>('GET', `/api/executions/${execution_id}/threads`)
    const waiting = threads.find((thread) => thread.status === 'AWAITING_MANUAL_REMOVE')
    if (waiting) await ask('POST', `/api/threads/${waiting.thread_id}/removed`, {})
    await sleep(100)
  }
})

async function ask<Answer>(method: string, path: string, body?: object): Promise<Answer> {
  const headers = { 'X-API-Key': api_key, ...(body && { 'Content-Type': 'application/json' }) }
  const response = await fetch(url + path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
  if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`)
  return (await response.json()) as Answer
}
