// The bench of the assay: what ran in PURE_SIM alone runs with drivers, in a thousandth of its time.

import { test } from 'tap'
import { until } from '../testing/bridges.ts'
import { openService } from '../testing/http.ts'
import { assayBench, assayTeachpoints } from './assay_bench.ts'

const scale = 1000

for (const run_mode of ['LIVE', 'DEVICE_SIM']) {
  test(`the assay completes in ${run_mode}, in little more than its makespan at that pace`, { timeout: 0 }, async (t) => {
    const { ask, bench } = await openService(t, { ...assayBench, time_scale: scale })
    await bench.teachpoints.importAll(assayTeachpoints, { overwrite: false })
    t.equal((await ask('POST', '/api/topology/load', { json: { name: 'smc' } })).status, 200)
    const dry = await ask('POST', '/api/simulations', { json: { workflow: 'smc_assay', run_mode: 'PURE_SIM' } })
    const { makespan_s } = dry.body as { makespan_s: number }
    const { status, body } = await ask('POST', '/api/submissions', { json: { workflow: 'smc_assay', run_mode } })
    t.equal(status, 202, JSON.stringify(body))
    const { execution_id } = body as { execution_id: string }
    const execution = bench.runs.runtime.runs.get(execution_id)!
    // In LIVE a person takes the plate away, as soon as the run asks for it.
    const ended = bench.runs.runtime.over(execution)
    const isOver = ended.then(() => true)
    type Shown = { threads: { thread_id: string; status: string }[] }
    await until(async () => {
      const { threads } = (await ask('GET', `/api/executions/${execution_id}/threads`)).body as Shown
      const waiting = threads.find((thread) => thread.status === 'AWAITING_MANUAL_REMOVE')
      if (waiting) await ask('POST', `/api/threads/${waiting.thread_id}/removed`, { json: {} })
      return Promise.race([isOver, Promise.resolve(false)])
    })
    const shown = (await ask('GET', `/api/executions/${execution_id}`)).body as { status: string; started_at: number; ended_at: number }
    t.equal(shown.status, 'COMPLETED')
    t.comment(`${shown.ended_at - shown.started_at} s for a makespan of ${makespan_s} s`)
  })
}
