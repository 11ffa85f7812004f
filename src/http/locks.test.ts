// What a device that an execution holds answers to everybody else.

import { type Test, test } from 'tap'
import { isRefusal, openTestBench, type TestedBench } from '../testing/http.ts'
import { beginRun, plateRun } from '../testing/http_runs.ts'

const execution_id = 'b1f3c9a2-6f5e-4a53-9c3d-0d6b7f1f3a10'
const shaker = '/api/devices/shaker-1'
const gentle = { speed: 500, duration: 5 }
const override = { 'X-Override': 'true' }

async function held(t: Test): Promise<TestedBench & { release(): void }> {
  const bench = await openTestBench(t)
  await bench.ask('POST', `${shaker}/initialize`)
  await bench.ask('POST', `${shaker}/lock_plate`)
  return { ...bench, release: bench.bench.registry.find('shaker-1').lock.hold(execution_id) }
}

test('a device that an execution holds does nothing for others, and says who holds it', async (t) => {
  const { ask, bench, release } = await held(t)
  const frames = bench.registry.find('shaker-1').wire().frames.length
  for (const name of ['initialize', 'lock_plate', 'unlock_plate']) {
    const answer = await ask('POST', `${shaker}/${name}`, { key: 'operate' })
    isRefusal(t, answer, 423, 'locked')
    t.match(answer.text, new RegExp(`shaker-1 is held by execution ${execution_id}`))
    t.equal(answer.headers.get('operation-id'), null)
  }
  t.equal(bench.registry.find('shaker-1').wire().frames.length, frames, 'nothing of it is on the wire')
  t.strictSame(((await ask('GET', shaker)).body as { lock: unknown }).lock, {
    owner: `execution ${execution_id}`,
    note: null,
    expires_at: null,
  })
  release()
  t.equal((await ask('POST', `${shaker}/shake`, { key: 'operate', json: gentle })).status, 200)
  t.equal(((await ask('GET', shaker)).body as { lock: unknown }).lock, null)
})

test('what is wrong with the request is told before the lock, and the lock before the state', async (t) => {
  const { ask, bench } = await held(t)
  const shake = (json: unknown) => ask('POST', `${shaker}/shake`, { key: 'operate', json })
  isRefusal(t, await ask('POST', `${shaker}/seal`, { key: 'operate', json: {} }), 400, 'invalid')
  isRefusal(t, await shake({ speed: 500 }), 400, 'invalid')
  isRefusal(t, await shake({ speed: 90_000, duration: 5 }), 400, 'invalid')
  isRefusal(t, await ask('POST', `${shaker}/shake`, { key: 'read', json: gentle }), 403, 'forbidden')
  isRefusal(t, await shake(gentle), 423, 'locked')
  bench.registry.find('spare-1').lock.hold(execution_id)
  isRefusal(t, await ask('POST', '/api/devices/spare-1/lock_plate', { key: 'operate' }), 423, 'locked')
})

test('readings and a stop pass whoever holds the device', async (t) => {
  const { ask } = await held(t)
  for (const path of ['', '/capabilities', '/initialized', '/get_temperature', '/wire']) {
    t.equal((await ask('GET', `${shaker}${path}`, { key: 'read' })).status, 200, path)
  }
  t.equal((await ask('POST', `${shaker}/stop`, { key: 'read' })).status, 200)
  t.equal((await ask('POST', '/api/stop', { key: 'read' })).status, 200)
})

test('an admin passes with the word for it, and nobody else does', async (t) => {
  const { ask } = await held(t)
  isRefusal(t, await ask('POST', `${shaker}/unlock_plate`, { key: 'admin' }), 423, 'locked')
  isRefusal(t, await ask('POST', `${shaker}/unlock_plate`, { key: 'admin', headers: { 'X-Override': 'false' } }), 423, 'locked')
  isRefusal(t, await ask('POST', `${shaker}/unlock_plate`, { key: 'operate', headers: override }), 423, 'locked')
  t.equal((await ask('POST', `${shaker}/unlock_plate`, { key: 'admin', headers: override })).status, 200)
})

test('a fault is cleared by whoever may use the device', async (t) => {
  const { ask, clock, bench, release } = await held(t)
  const clear = (key: 'operate' | 'admin', headers = {}) => ask('POST', `${shaker}/clear_fault`, { key, headers })
  bench.simulations.get('shaker-1')?.setFault('unplug', 0)
  await clock.advance(100)
  isRefusal(t, await clear('operate'), 423, 'locked')
  isRefusal(t, await clear('operate', override), 423, 'locked')
  t.match(bench.registry.find('shaker-1').info().fault, { error_type: 'Disconnected' })
  t.match((await clear('admin', override)).body, { message: /fault cleared/ })
  await ask('POST', `${shaker}/stop`)
  isRefusal(t, await clear('operate'), 423, 'locked')
  release()
  isRefusal(t, await clear('operate'), 409, 'stopped')
})

test('an execution may hold a device more than once, and another may not', async (t) => {
  const { bench, release } = await held(t)
  const instrument = bench.registry.find('shaker-1')
  const again = instrument.lock.hold(execution_id)
  release()
  release()
  t.throws(() => instrument.lock.hold('another'), { code: 'locked' })
  again()
  instrument.lock.hold('another')()
  t.equal(instrument.info().lock, null)
})

test('a fault while an execution holds the device is an event of that execution', async (t) => {
  const { ask, clock, bench, release } = await held(t)
  await ask('POST', `${shaker}/stop`)
  release()
  await ask('POST', `${shaker}/initialize`)
  const events = await clock.run(bench.hub.getEventsSince())
  const told = events.filter(({ entity_type }) => entity_type === 'DEVICE')
  t.match(told, [
    { event_name: 'DEVICE.shaker-1.FAULTED', execution_id, context: { execution_id } },
    { event_name: 'DEVICE.shaker-1.FAULT_CLEARED', execution_id: bench.hub.system_id, context: { execution_id: null } },
  ])
})

test('a device is kept from others as long as the arm of a run reaches in, to bring labware and to fetch it', async (t) => {
  const run = await beginRun(t, { workflow: plateRun([{ method: 'shake_it' }]) })
  for (const [from, to] of [
    ['pad_1', 'shaker_in'],
    ['shaker_in', 'pad_1'],
  ]) {
    const isUnderWay = async () =>
      (await run.snapshot()).moves.some((move) => move.from === from && move.to === to && /^P(ICK|LAC)ING$/.test(move.status))
    await run.until(`the move to ${to}`, isUnderWay, 100)
    isRefusal(t, await run.ask('POST', `${shaker}/shake`, gentle), 423, 'locked')
  }
  t.equal(await run.over(), 'COMPLETED')
  t.equal((await run.get(shaker)).lock, null)
})
