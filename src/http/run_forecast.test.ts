import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { type Test, test } from 'tap'
import { demoTeachpoints } from '../examples/demo_bench.ts'
import { standing, workflowOf } from '../testing/documents.ts'
import { isRefusal, openTestBench } from '../testing/http.ts'

const steps = [{ method: 'note' }, { wait_for: 'go' }]
const methods = { note: [{ emit: 'noted' }] }
const waiting = workflowOf('waiting', { plate: { ...standing('pad_1'), steps } }, { topology: 'demo', methods })

async function benchWithWorkflow(t: Test) {
  const its = await openTestBench(t)
  await its.ask('POST', '/api/teachpoints/bulk', { json: demoTeachpoints })
  await its.ask('PUT', '/api/workflows/waiting', { json: waiting })
  await its.ask('POST', '/api/topology/load', { json: { name: 'demo' } })
  return its
}

test('an open run has a forecast, which is kept with its record and stays the same', async (t) => {
  const { ask, bench } = await benchWithWorkflow(t)
  const submitted = await ask('POST', '/api/submissions', { json: { workflow: 'waiting', run_mode: 'DEVICE_SIM' } })
  const { execution_id } = submitted.body as { execution_id: string }
  t.equal(submitted.status, 202, submitted.text)
  const path = `/api/executions/${execution_id}/forecast`
  const [first, second] = await Promise.all([ask('GET', path, { key: 'read' }), ask('GET', path)])
  t.equal(first.status, 200, first.text)
  t.match(first.body, { gantt: [{ thread_name: 'plate' }], dropped: 0 })
  t.same(second.body, first.body, 'two requests at once make one forecast')
  const file = `${bench.hub.states.folder}/${execution_id}/forecast.json`
  t.same(JSON.parse(readFileSync(file, 'utf8')), first.body)
  writeFileSync(file, JSON.stringify({ ...(first.body as object), made_at: 7 }))
  t.match((await ask('GET', path)).body, { made_at: 7 }, 'the kept one is answered')
  for (const foreign of ['', '{', 'null', '"text"', '{"made_at":7}', '{"gantt":5}']) {
    writeFileSync(file, foreign)
    t.match((await ask('GET', path)).body, { verdict: 'waits', gantt: [{ thread_name: 'plate' }] }, `${foreign} counts as none`)
  }
  writeFileSync(file, JSON.stringify({ ...(first.body as object), made_at: 7 }))
  for (const confirm of [false, true]) await ask('POST', `/api/executions/${execution_id}/stop`, { json: { confirm } })
  await bench.runs.runtime.over(bench.runs.runtime.runs.get(execution_id)!)
  t.match((await ask('GET', path)).body, { made_at: 7 }, 'also after the end')
  writeFileSync(file, '{"gantt":5}')
  isRefusal(t, await ask('GET', path), 404, 'not_found')
  await ask('DELETE', `/api/executions/${execution_id}`)
  t.notOk(existsSync(file), 'it goes with its run')
})

test('a run without a record, and one that ended before somebody asked, have no forecast', async (t) => {
  const { ask, bench } = await benchWithWorkflow(t)
  for (const run_mode of ['PURE_SIM', 'DEVICE_SIM']) {
    const { body } = await ask('POST', '/api/submissions', { json: { workflow: 'waiting', run_mode } })
    const { execution_id } = body as { execution_id: string }
    const execution = bench.runs.runtime.runs.get(execution_id)
    for (const confirm of [false, true]) await ask('POST', `/api/executions/${execution_id}/stop`, { json: { confirm } })
    if (execution) await bench.runs.runtime.over(execution)
    isRefusal(t, await ask('GET', `/api/executions/${execution_id}/forecast`), 404, 'not_found')
  }
})

test('a forecast has the plan, a forecast of an earlier version has none, and why says what the plan saves as far as it is known', async (t) => {
  const { ask, bench } = await benchWithWorkflow(t)
  const lanes = { first: { ...standing('pad_1'), steps }, second: { ...standing('pad_2'), steps } }
  await ask('PUT', '/api/workflows/two', { json: workflowOf('two', lanes, { topology: 'demo', methods }) })
  const body = { workflow: 'two', run_mode: 'DEVICE_SIM', plan: 'off', priority: 3, objective: 'flow_time' }
  const { execution_id } = (await ask('POST', '/api/submissions', { json: body })).body as { execution_id: string }
  const path = `/api/executions/${execution_id}`
  const execution = bench.runs.runtime.runs.get(execution_id)!
  t.match(await ask('GET', `${path}/why`), { status: 200 })
  t.equal(execution.planning.saves_s, null, 'nobody has asked for the forecast, and why looks for it once')
  const { body: forecast } = await ask('GET', `${path}/forecast`)
  t.match(forecast, { plan: null })
  t.equal(execution.planning.saves_s, null)
  const file = `${bench.hub.states.folder}/${execution_id}/forecast.json`
  const { plan: _, ...earlier } = forecast as Record<string, unknown>
  writeFileSync(file, JSON.stringify(earlier))
  t.same((await ask('GET', `${path}/forecast`)).body, earlier)
  const plan = { planned_s: 100, dispatch_s: 500, bound_s: 90 }
  writeFileSync(file, JSON.stringify({ ...earlier, verdict: 'waits', plan }))
  execution.planning.saves_s = undefined
  t.match(await ask('GET', `${path}/why`), { status: 200 })
  t.equal(execution.planning.saves_s, 400)
  t.match((await ask('GET', `${path}/forecast`)).body, { plan })
  writeFileSync(file, JSON.stringify({ ...earlier, verdict: 'completes', makespan_s: 500, plan }))
  await ask('GET', `${path}/forecast`)
  t.equal(execution.planning.saves_s, null, 'a plan that saves nothing in the dry run saves nothing')
  const recorded = await ask('GET', `${path}/record?kind=submission`)
  t.match(recorded.body, { rows: [{ plan: 'off', priority: 3, objective: 'flow_time' }] })
  execution.abort('the test is over')
  await bench.runs.runtime.over(execution)
})

test('the record is read from where the last answer ended, or its newest rows alone', async (t) => {
  const { ask } = await benchWithWorkflow(t)
  const { body } = await ask('POST', '/api/submissions', { json: { workflow: 'waiting', run_mode: 'DEVICE_SIM' } })
  const path = `/api/executions/${(body as { execution_id: string }).execution_id}`
  type Answer = { rows: { kind: string; text?: string }[]; next: number; damaged: number }
  const read = async (query = '') => (await ask('GET', `${path}/record${query}`)).body as Answer
  const first = await read()
  t.equal(first.rows[0]?.kind, 'submission')
  t.match(await read(`?after=${first.next}`), { rows: [], next: first.next, damaged: 0 })
  for (const text of ['one', 'two']) await ask('POST', `${path}/notes`, { json: { text } })
  const since = await read(`?after=${first.next}`)
  t.same(
    since.rows.filter(({ kind }) => kind === 'note').map(({ text }) => text),
    ['one', 'two'],
  )
  t.ok(since.next > first.next)
  const newest = await read('?newest_bytes=150')
  t.match(newest, { rows: [{ kind: 'note', text: 'two' }], next: since.next, damaged: 0 })
  t.same((await read('?newest_bytes=1000000')).rows.length, (await read()).rows.length)
  t.match(await read(`?after=${since.next + 1000}`), { rows: [], next: since.next, damaged: 0 }, 'nothing is left out later')
  for (const odd of ['-1', '1.5', 'x', '', '1e9', '99999999999999999999'])
    isRefusal(t, await ask('GET', `${path}/record?after=${odd}`), 400)
})
