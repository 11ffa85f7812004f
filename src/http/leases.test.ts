// A device that a key has leased: what it does for others, for its holder, and for an execution.

import { rename, rm, writeFile } from 'node:fs/promises'
import { type Test, test } from 'tap'
import { openBench } from '../bench/bench.ts'
import { demoTeachpoints } from '../examples/demo_bench.ts'
import { silent } from '../kit/log.ts'
import { type Asking, benchConfig, isRefusal, openTestBench, type TestedBench } from '../testing/http.ts'
import { diskClock } from '../testing/kit.ts'
import { examples } from './openapi_examples.ts'

const shaker = '/api/devices/shaker-1'
const lock = `${shaker}/lock`
const wish = { owner: 'Anna', note: 'hands inside', ttl_s: 86_400 }
const override = { 'X-Override': 'true' }
const execution_id = 'b1f3c9a2-6f5e-4a53-9c3d-0d6b7f1f3a10'

async function leased(t: Test): Promise<TestedBench & { other: Asking }> {
  const bench = await openTestBench(t)
  const { ask } = bench
  await ask('POST', `${shaker}/initialize`)
  const answer = await ask('PUT', lock, { key: 'operate', json: wish })
  t.equal(answer.status, 200, answer.text)
  const { api_key } = (await ask('POST', '/api/keys', { json: { name: 'other', scope: 'operate' } })).body as { api_key: string }
  return { ...bench, other: { key: null, headers: { 'X-API-Key': api_key } } }
}

test('a leased device does nothing for other keys, all for its own, and says who has it and until when', async (t) => {
  const { ask, other } = await leased(t)
  const told = ((await ask('GET', shaker)).body as { lock: { expires_at: number } }).lock
  t.match(told, { owner: 'Anna', note: 'hands inside' })
  t.ok(Math.abs(told.expires_at - Date.now() / 1000 - 86_400) < 60)
  for (const name of ['initialize', 'lock_plate']) {
    const answer = await ask('POST', `${shaker}/${name}`, other)
    isRefusal(t, answer, 423, 'locked')
    t.match(answer.text, /shaker-1 is leased by Anna \(hands inside\) until \d{4}-/)
  }
  t.equal((await ask('POST', `${shaker}/lock_plate`, { key: 'operate' })).status, 200)
  isRefusal(t, await ask('PUT', lock, { ...other, json: { owner: 'Ben', ttl_s: 5 } }), 423, 'locked')
  isRefusal(t, await ask('DELETE', lock, other), 423, 'locked')
  t.equal((await ask('DELETE', lock, { key: 'operate' })).status, 200)
  t.equal(((await ask('GET', shaker)).body as { lock: unknown }).lock, null)
  t.equal((await ask('POST', `${shaker}/unlock_plate`, other)).status, 200)
  t.match((await ask('DELETE', lock, other)).body, { success: true, message: 'shaker-1 was not leased' })
})

test('a lease ends with its key', async (t) => {
  const { ask, other, bench } = await leased(t)
  isRefusal(t, await ask('POST', `${shaker}/lock_plate`, other), 423, 'locked')
  const { key_id } = bench.keys.list().find(({ scope }) => scope === 'operate')!
  t.equal((await ask('DELETE', `/api/keys/${key_id}`)).status, 200)
  t.equal(bench.registry.find('shaker-1').info().lock, null)
  t.equal((await ask('POST', `${shaker}/lock_plate`, other)).status, 200)
})

test('on the control socket those who say who they are, and those who do not, are held apart', async (t) => {
  const { hono, clock } = await openTestBench(t)
  const here = async (method: string, path: string, user?: string, json?: object, more: object = {}) => {
    const headers = { 'Content-Type': 'application/json', ...(user && { 'X-Local-User': user }), ...more }
    const body = json && JSON.stringify(json)
    const answer = await clock.run(Promise.resolve(hono.request(path, { method, headers, ...(body && { body }) }, { local: true })))
    return { status: answer.status, text: await answer.text() }
  }
  t.equal((await here('PUT', lock, 'anna', wish)).status, 200)
  t.match(await here('POST', `${shaker}/initialize`, 'ben'), { status: 423, text: /leased by Anna/ })
  t.equal((await here('DELETE', lock, 'ben')).status, 423)
  t.equal((await here('POST', `${shaker}/initialize`)).status, 423)
  t.equal((await here('POST', `${shaker}/initialize`, 'anna')).status, 200)
  t.equal((await here('POST', `${shaker}/lock_plate`, 'ben', undefined, override)).status, 200)
  t.equal((await here('DELETE', lock, 'anna')).status, 200)

  t.equal((await here('PUT', lock, undefined, wish)).status, 200, 'nobody says who it is')
  t.equal((await here('PUT', lock, undefined, wish)).status, 200, 'the same owner renews it')
  t.match(await here('PUT', lock, undefined, { ...wish, owner: 'Ben' }), { status: 423, text: /leased by Anna/ })
  t.equal((await here('PUT', lock, undefined, { ...wish, owner: 'Ben' }, override)).status, 200)
})

test('over the network it is the key that counts, whoever one says one is', async (t) => {
  const { ask, other } = await leased(t)
  const headers = { 'X-Local-User': 'anna' }
  isRefusal(t, await ask('POST', `${shaker}/lock_plate`, { ...other, headers: { ...other.headers, ...headers } }), 423, 'locked')
  t.equal((await ask('POST', `${shaker}/lock_plate`, { key: 'operate', headers })).status, 200)
})

test('readings and a stop pass whoever has leased the device', async (t) => {
  const { ask } = await leased(t)
  for (const path of ['', '/capabilities', '/initialized', '/get_temperature', '/wire'])
    t.equal((await ask('GET', shaker + path, { key: 'read' })).status, 200, path)
  t.equal((await ask('POST', `${shaker}/stop`, { key: 'read' })).status, 200)
  t.equal((await ask('POST', '/api/stop', { key: 'read' })).status, 200)
})

test('a lease ends by itself on the clock, and its holder renews it with another', async (t) => {
  const { bench, clock } = await openTestBench(t)
  const instrument = bench.registry.find('shaker-1')
  const holder = { key_id: 'holder', override: false }
  const other = { key_id: 'other', override: false }
  const forTenMinutes = { owner: 'Anna', ttl_s: 600 }
  await instrument.lock.lease(holder, forTenMinutes)
  await clock.advance(500_000)
  await instrument.lock.lease(holder, forTenMinutes)
  await clock.advance(599_999)
  await t.rejects(instrument.lock.lease(other, forTenMinutes), { code: 'locked' })
  await clock.advance(1)
  t.equal(instrument.info().lock, null)
  t.match(await instrument.lock.lease(other, forTenMinutes), { owner: 'Anna' })
})

test('after the clock of the computer is set a lease lasts as long as it was given for, and shows its end by the new clock', async (t) => {
  const { bench, clock } = await openTestBench(t)
  const instrument = bench.registry.find('shaker-1')
  const other = { key_id: 'other', override: false }
  await instrument.lock.lease({ key_id: 'holder', override: false }, { owner: 'Anna', ttl_s: 600 })
  const day = 86_400
  const now = Date.now
  const begun = now() / 1000
  t.teardown(() => {
    Date.now = now
  })
  Date.now = () => (begun + day) * 1000
  t.equal(Math.round(instrument.info().lock!.expires_at! - begun), day + 600)
  await t.rejects(instrument.lock.lease(other, { owner: 'Ben', ttl_s: 600 }), {
    message: new RegExp(new Date(instrument.info().lock!.expires_at! * 1000).toISOString().slice(0, 10)),
  })
  await clock.advance(599_999)
  t.ok(instrument.info().lock)
  await clock.advance(1)
  t.equal(instrument.info().lock, null)
})

test('an admin passes a lease, ends it and takes it over, with the word for it alone', async (t) => {
  const { ask } = await leased(t)
  isRefusal(t, await ask('POST', `${shaker}/lock_plate`), 423, 'locked')
  t.equal((await ask('POST', `${shaker}/lock_plate`, { headers: override })).status, 200)
  isRefusal(t, await ask('DELETE', lock), 423, 'locked')
  t.equal((await ask('PUT', lock, { json: { owner: 'Admin', ttl_s: 86_400 }, headers: override })).status, 200)
  isRefusal(t, await ask('POST', `${shaker}/lock_plate`, { key: 'operate', headers: override }), 423, 'locked')
  t.equal((await ask('DELETE', lock, { headers: override })).status, 200)
})

test('a lease lasts a second at least and a day at most, and wants an owner and the scope to operate', async (t) => {
  const { ask } = await openTestBench(t)
  for (const json of [
    { ...wish, ttl_s: 86_401 },
    { ...wish, ttl_s: 0 },
    { ttl_s: 5 },
    { owner: 'Anna' },
    { ...wish, owner: '' },
    { ...wish, more: 1 },
  ])
    isRefusal(t, await ask('PUT', lock, { json }), 400, 'invalid')
  isRefusal(t, await ask('PUT', lock, { key: 'read', json: wish }), 403, 'forbidden')
  isRefusal(t, await ask('PUT', '/api/devices/nobody/lock', { json: wish }), 404, 'not_found')
  t.equal((await ask('PUT', lock, { json: { ...wish, ttl_s: 86_400 } })).status, 200)
})

test('what an execution holds cannot be leased, and what is leased refuses what an execution asks', async (t) => {
  const { ask, bench, clock, other } = await leased(t)
  const instrument = bench.registry.find('shaker-1')
  const letGo = instrument.lock.hold(execution_id)
  await t.rejects(clock.run(instrument.perform('lock_plate', {})), { code: 'locked', message: /leased by Anna/ })
  t.equal((await ask('POST', `${shaker}/lock_plate`, { key: 'operate' })).status, 200, 'the lease goes before the execution')
  await ask('DELETE', lock, { key: 'operate' })
  t.match(await clock.run(instrument.perform('unlock_plate', {})), { success: true })
  isRefusal(t, await ask('PUT', lock, { ...other, json: wish }), 423, 'locked')
  letGo()
  t.equal((await ask('PUT', lock, { ...other, json: wish })).status, 200)
})

test('a run comes to a leased device, pauses and says why, and goes on when it is told to once the lease is over', async (t) => {
  const { ask, clock, bench } = await openTestBench(t)
  await bench.teachpoints.importAll(demoTeachpoints, { overwrite: false })
  await ask('POST', '/api/topology/load', { json: { name: 'demo' } })
  t.equal((await ask('PUT', '/api/workflows/just-shake', { json: examples.putWorkflow?.body })).status, 201)
  await bench.registry.find('shaker-1').lock.lease({ key_id: 'anna', override: false }, wish)
  const lastOperation = () => bench.registry.find('shaker-1').info().last_operation
  const { execution_id } = (await ask('POST', '/api/submissions', { json: { workflow: 'just-shake', run_mode: 'LIVE' } })).body as Run
  const shown = async () => (await ask('GET', `/api/executions/${execution_id}`)).body as Run
  const until = async (isSo: (run: Run) => boolean) => {
    for (let tries = 0; tries < 500 && !isSo(await shown()); tries++) await clock.advance(500)
    return shown()
  }
  const [thread] = (await until(({ threads }) => threads[0]?.status === 'PAUSED')).threads
  const advice =
    /^shaker-1 is leased by Anna \(hands inside\) until \S+Z; ask them to release it, wait, or let an admin end the lease: DELETE \/api\/devices\/shaker-1\/lock with X-Override: true/
  t.match(thread, { status: 'PAUSED', last_error: advice })
  t.equal(lastOperation(), null, 'nothing was done on it')
  t.equal((await ask('DELETE', lock, { headers: override })).status, 200)
  t.equal((await ask('POST', `/api/threads/${thread?.thread_id}/recover`, { json: { decision: 'RETRY' } })).status, 200)
  t.match(await until(({ status }) => status !== 'IN_PROGRESS'), { status: 'COMPLETED' })
})

type Run = { execution_id: string; status: string; threads: { thread_id: string; status: string; last_error: string | null }[] }

test('of two who lease at once one gets it, and who could not be kept has none', async (t) => {
  const { ask, clock, data_dir, other, bench } = await leased(t)
  await ask('DELETE', lock, { key: 'operate' })
  const two = [ask('PUT', lock, { key: 'operate', json: wish }), ask('PUT', lock, { ...other, json: wish })]
  t.same((await clock.run(Promise.all(two))).map(({ status }) => status).sort(), [200, 423])
  await ask('DELETE', lock, { headers: override })
  // A file in the place of the folder stops each write, for root too.
  await rename(data_dir, `${data_dir}.away`)
  await writeFile(data_dir, '')
  isRefusal(t, await ask('PUT', lock, { key: 'operate', json: wish }), 503, 'storage')
  await rm(data_dir)
  await rename(`${data_dir}.away`, data_dir)
  t.equal(bench.registry.find('shaker-1').info().lock, null)
})

test('a lease is there after a restart, and no longer than it was given for, whatever the wall clock says', async (t) => {
  const { bench, data_dir, clock } = await openTestBench(t)
  const kept = await bench.registry.find('shaker-1').lock.lease({ key_id: 'holder', override: false }, { ...wish, ttl_s: 600 })
  await clock.run(bench.close())
  const later = diskClock()
  const again = await openBench(await benchConfig(), { data_dir, log: silent, clock: later })
  t.same(again.registry.find('shaker-1').info().lock, kept)
  await t.rejects(again.registry.find('shaker-1').perform('initialize', {}), { code: 'locked' })
  await later.advance(600_000)
  t.equal(again.registry.find('shaker-1').info().lock, null)
  await later.run(again.close())
})
