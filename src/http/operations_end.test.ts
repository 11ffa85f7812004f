// DELETE of an operation: ended in an orderly way, and whom it refuses.

import { test } from 'tap'
import type { OperationRecord } from '../devices/records.ts'
import { isRefusal, openTestBench } from '../testing/http.ts'

const shaker = '/api/devices/shaker-1'

test('a running operation is ended with 202, its record then says so with 200, and one that is not there is 404', async (t) => {
  const { ask, clock } = await openTestBench(t)
  await ask('POST', `${shaker}/initialize`)
  await ask('POST', `${shaker}/lock_plate`)
  const begun = await ask('POST', `${shaker}/shake`, { json: { speed: 500, duration: 60 }, headers: { Prefer: 'respond-async' } })
  const operation = `/api/operations/${(begun.body as OperationRecord).operation_id}`
  await clock.advance(12_000)
  isRefusal(t, await ask('DELETE', operation, { key: 'read' }), 403, 'forbidden')
  t.match(await ask('DELETE', operation), {
    status: 202,
    body: { status: 'running', ended_early: false, notice: 'it is being ended early' },
  })
  t.equal((await ask('DELETE', operation, { key: 'operate' })).status, 202)
  await clock.advance(30_000)
  const result = { success: true, message: /^shaker-1: ended after 1[12](\.\d)? s of 60 s$/ }
  t.match(await ask('DELETE', operation), { status: 200, body: { status: 'ended', ended_early: true, notice: null, result } })
  t.match(await ask('GET', shaker), { body: { state: 'ready', operation: null, fault: null } })
  isRefusal(t, await ask('DELETE', '/api/operations/none'), 404, 'not_found')
})

test('an operation that cannot end early, or is kept by another key, is refused, and goes on', async (t) => {
  const { ask, clock } = await openTestBench(t)
  const sealer = '/api/devices/sealer-1'
  await ask('POST', `${sealer}/initialize`)
  // It has to heat first: minutes, however long the requests are on their way.
  const sealing = { json: { temperature: 170, duration: 2 }, headers: { Prefer: 'respond-async' } }
  const begun = await ask('POST', `${sealer}/seal`, sealing)
  const operation = `/api/operations/${(begun.body as OperationRecord).operation_id}`
  const refused = await ask('DELETE', operation)
  isRefusal(t, refused, 409, 'conflict')
  t.match(refused.text, /sealer-1 cannot end seal early; .*POST \/api\/devices\/sealer-1\/stop/)
  t.equal((await ask('PUT', `${sealer}/lock`, { json: { owner: 'Anna', ttl_s: 600 } })).status, 200)
  isRefusal(t, await ask('DELETE', operation, { key: 'operate' }), 423, 'locked')
  await clock.advance(600_000)
  t.match(await ask('GET', operation), { body: { status: 'ended', result: { success: true } } })
})
