import { test } from 'tap'
import { isRefusal, openBench } from './testing.ts'

test('a submission is tried out, and nothing of it is to be seen afterwards', async (t) => {
  const { ask } = await openBench(t)
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

test('what cannot be submitted cannot be tried out, and whoever may only read may not', async (t) => {
  const { ask } = await openBench(t)
  const tried = async (json: object, more: object = {}) => (await ask('POST', '/api/simulations', { json, ...more })).status
  t.equal(await tried({ workflow: 'no-such', run_mode: 'PURE_SIM' }), 404)
  t.equal(await tried({ workflow: 'smc_assay', run_mode: 'PURE_SIM', variables: { no: 1 } }), 400)
  t.equal(await tried({ workflow: 'smc_assay' }), 400)
  const json = { workflow: 'smc_assay', run_mode: 'PURE_SIM' }
  isRefusal(t, await ask('POST', '/api/simulations', { key: 'read', json }), 403)
  t.equal(await tried(json, { key: 'operate' }), 200)
})
