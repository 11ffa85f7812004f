// The priority of an open run, changed over the API.

import { test } from 'tap'
import type { Scripted } from '../testing/http_runs.ts'
import { beginRun, plateRun } from '../testing/http_runs.ts'

function priorities(run: Scripted) {
  const { runtime } = run.bench.bench.runs
  const execution = runtime.runs.get(run.execution_id)!
  return execution.live().map(({ thread_id, environment }) => environment.scheduler.priorities.of(thread_id))
}

test('an open run gets another priority, with a row of its record, and keeps it after a power cut', async (t) => {
  const run = await beginRun(t, { workflow: plateRun([{ wait_for: 'go' }]) })
  await run.thread('plate', 'AWAITING_EVENT')
  t.same(priorities(run), [0])
  const path = `/api/executions/${run.execution_id}`
  for (const priority of [10, 1.5, '9']) t.match(await run.ask('POST', `${path}/priority`, { priority }), { status: 400 })
  t.same(await run.post(`${path}/priority`, { priority: 9 }), { success: true, message: 'the run has the priority 9' })
  t.same(priorities(run), [9])
  const record = await run.get<object>(`${path}/record`)
  t.match(JSON.stringify(record), /"decision":"priority","text":"Set the priority of the run to 9"/)
  const after = await run.afterPowerCut()
  t.same(priorities(after), [9])
  await after.post(`${path}/resume`)
  await after.emits('go')
  t.equal(await after.over(), 'COMPLETED')
  t.match(await after.ask('POST', `${path}/priority`, { priority: 1 }), { status: 409 }, 'it has ended')
})
