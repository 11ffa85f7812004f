// Submissions whose id the caller chose: carried out once, and answered alike for as long as their record is kept.

import { test } from 'tap'
import { isRefusal } from '../testing/http.ts'
import { beginRun, plateRun } from '../testing/http_runs.ts'

const submission_id = '5f0c9a1e-8c5d-4f0e-9a51-0d3c7f6a1b2c'
const other = '5f0c9a1e-8c5d-4f0e-9a51-0d3c7f6a1b2e'
type Answer = { submission_id: string; execution_id: string; status: string }

test('a submission with an id of the caller is carried out once, whoever repeats it, also after a restart', async (t) => {
  const first = await beginRun(t, { workflow: plateRun([{ method: 'shake_it' }], { variables: { a: {}, b: {} } }) })
  const { ask } = first.bench
  const json = { submission_id, workflow: 'work', run_mode: 'PURE_SIM', variables: { a: 1, b: [2] } }
  const submit = (more: object = {}, key: 'operate' | 'admin' = 'operate') =>
    ask('POST', '/api/submissions', { key, json: { ...json, ...more } })
  const count = async () => ((await ask('GET', '/api/executions')).body as { executions: object[] }).executions.length
  const before = await count()
  const [one, another] = await Promise.all([submit(), submit({}, 'admin')])
  t.equal(one.status, 202, one.text)
  t.match(one.body, { submission_id, status: 'IN_PROGRESS' })
  t.same(another.body, one.body, 'two at once are one')
  const { execution_id } = one.body as Answer
  const reordered = { variables: { b: [2], a: 1 }, batch_mode: 'STANDALONE' }
  t.match((await submit(reordered)).body, { submission_id, execution_id }, 'what is filled in, and the order, make no other request')
  t.equal(await count(), before + 1)
  const changed = await submit({ variables: { a: 2, b: [2] } })
  isRefusal(t, changed, 409, 'conflict')
  t.match(changed.text, /asked for something else; send what was sent then, or choose another id/)
  isRefusal(t, await submit({ submission_id: 'mine' }), 400, 'invalid')
  t.equal(await count(), before + 1)

  await first.until('its end', async () => (await ask('GET', `/api/executions/${execution_id}`)).text.includes('"status":"COMPLETED"'), 100)
  t.match((await submit()).body, { submission_id, execution_id, status: 'COMPLETED' })
  const { bench: restarted } = await first.afterPowerCut()
  const again = await restarted.ask('POST', '/api/submissions', { json })
  t.match([again.status, again.body], [202, { submission_id, execution_id, status: 'COMPLETED' }])
  isRefusal(t, await restarted.ask('POST', '/api/submissions', { json: { ...json, run_mode: 'DEVICE_SIM' } }), 409, 'conflict')

  t.equal((await restarted.ask('DELETE', `/api/executions/${execution_id}`, { key: 'admin' })).status, 200)
  const anew = await restarted.ask('POST', '/api/submissions', { json })
  t.match([anew.status, anew.body], [202, { submission_id }])
  t.not((anew.body as Answer).execution_id, execution_id, 'when its record is gone, it is another')
})

test('a run that was under way when the power was cut is the same submission afterwards', async (t) => {
  const first = await beginRun(t, { workflow: plateRun([{ method: 'shake_it' }]), submission: { submission_id } })
  await first.does('shaker-1', 'shake')
  const run = await first.afterPowerCut()
  const json = { submission_id, workflow: 'work', run_mode: 'LIVE' }
  t.match((await run.bench.ask('POST', '/api/submissions', { json })).body, { submission_id, execution_id: first.execution_id })
  isRefusal(t, await run.bench.ask('POST', '/api/submissions', { json: { ...json, operator_id: 'another' } }), 409, 'conflict')
})

test('a submission that was withdrawn before it came does not begin, also after a restart', async (t) => {
  const first = await beginRun(t, { workflow: plateRun([{ method: 'shake_it' }]) })
  const { ask } = first.bench
  const json = { submission_id, workflow: 'work', run_mode: 'PURE_SIM' }
  const path = `/api/submissions/${submission_id}`
  isRefusal(t, await ask('DELETE', '/api/submissions/mine'), 400, 'invalid')
  isRefusal(t, await ask('DELETE', path, { key: 'read' }), 403, 'forbidden')
  t.match((await ask('DELETE', path)).body, { success: true })
  t.equal((await ask('DELETE', path)).status, 200, 'again is the same')
  const late = await ask('POST', '/api/submissions', { json })
  isRefusal(t, late, 409, 'conflict')
  t.match(late.text, /was withdrawn before it came; choose another id/)
  const { bench } = await first.afterPowerCut()
  isRefusal(t, await bench.ask('POST', '/api/submissions', { json }), 409, 'conflict')

  const another = '5f0c9a1e-8c5d-4f0e-9a51-0d3c7f6a1b2d'
  const [submitted, withdrawn] = await Promise.all([
    bench.ask('POST', '/api/submissions', { json: { ...json, submission_id: another } }),
    bench.ask('DELETE', `/api/submissions/${another}`),
  ])
  t.not(submitted.status === 202, withdrawn.status === 200, 'of two at once one is carried out')
  const { execution_id } = (await bench.ask('POST', '/api/submissions', { json: { ...json, submission_id: other } })).body as Answer
  const begun = await bench.ask('DELETE', `/api/submissions/${other}`)
  isRefusal(t, begun, 409, 'conflict')
  t.match(begun.text, `has begun as execution ${execution_id}; stop that: POST /api/executions/${execution_id}/stop`)
})
