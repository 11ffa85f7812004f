import { test } from 'tap'
import { isRefusal, openTestBench } from '../testing/http.ts'

test('a submission is tried out, and nothing of it is to be seen afterwards', async (t) => {
  const { ask } = await openTestBench(t)
  const before = await Promise.all(
    ['/api/executions', '/api/submissions', '/api/incidents', '/api/devices'].map((path) => ask('GET', path)),
  )
  const reply = await ask('POST', '/api/simulations', { json: { workflow: 'smc_assay', run_mode: 'PURE_SIM' } })
  t.equal(reply.status, 200, reply.text)
  t.match(reply.body, { workflow: 'smc_assay', verdict: 'completes', conflict: null, waiting: [], dropped: 0 })
  const after = await Promise.all(['/api/executions', '/api/submissions', '/api/incidents', '/api/devices'].map((path) => ask('GET', path)))
  t.same(
    after.map(({ body }) => body),
    before.map(({ body }) => body),
  )
})

test('a dry run of a mode says why a submission in it would be refused now', async (t) => {
  const { ask } = await openTestBench(t)
  const tried = async (run_mode: string) => (await ask('POST', '/api/simulations', { json: { workflow: 'smc_assay', run_mode } })).body
  t.match(await tried('PURE_SIM'), { verdict: 'completes', refusal: null })
  const refused = await ask('POST', '/api/submissions', { json: { workflow: 'smc_assay', run_mode: 'LIVE' } })
  const { detail } = refused.body as { detail: string }
  t.match(detail, /cannot run in LIVE/)
  t.match(await tried('LIVE'), { verdict: 'completes', refusal: detail.slice(0, 200) })
})

test('what cannot be submitted cannot be tried out, and whoever may only read may not', async (t) => {
  const { ask } = await openTestBench(t)
  const tried = async (json: object, more: object = {}) => (await ask('POST', '/api/simulations', { json, ...more })).status
  t.equal(await tried({ workflow: 'no-such', run_mode: 'PURE_SIM' }), 404)
  t.equal(await tried({ workflow: 'smc_assay', run_mode: 'PURE_SIM', variables: { no: 1 } }), 400)
  t.equal(await tried({ workflow: 'smc_assay' }), 400)
  const json = { workflow: 'smc_assay', run_mode: 'PURE_SIM' }
  isRefusal(t, await ask('POST', '/api/simulations', { key: 'read', json }), 403)
  t.equal(await tried(json, { key: 'operate' }), 200)
})

test('simulations beyond the bound are refused with 503 and counted', async (t) => {
  const { ask, bench } = await openTestBench(t, { limits: { open_simulations: 2, open_threads: 50 } })
  const json = { workflow: 'smc_assay', run_mode: 'PURE_SIM' }
  const replies = await Promise.all(Array.from({ length: 5 }, () => ask('POST', '/api/simulations', { key: 'operate', json })))
  const refused = replies.filter(({ status }) => status !== 200)
  t.equal(refused.length, 3)
  for (const reply of refused) isRefusal(t, reply, 503, 'overloaded')
  const groups = Array.from({ length: 51 }, (_, n) => ({ group_id: `g${n}` }))
  for (const path of ['/api/simulations', '/api/submissions'])
    isRefusal(t, await ask('POST', path, { key: 'operate', json: { ...json, groups } }), 503, 'overloaded')
  const counts = Object.fromEntries(bench.refusals.counts.map(({ bound, times }) => [bound, times]))
  t.match(counts, { open_simulations: 3, open_threads: 2, open_runs: 0 })
  t.equal((await ask('POST', '/api/simulations', { key: 'operate', json })).status, 200)
})
