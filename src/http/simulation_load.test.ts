import { test } from 'tap'
import type { RuntimeEvent } from '../events/event.ts'
import { isRefusal, openTestBench } from '../testing/http.ts'

test('a load has its rate, a counter without gaps, and the execution it was asked for, until it is over', async (t) => {
  const { ask, bench, clock } = await openTestBench(t)
  const { status, body } = await ask('POST', '/api/sim/load', { json: { rate: 2000, seconds: 3, execution_id: 'run-1' } })
  t.same([status, body], [200, { success: true, message: '2000 events a second for 3 s' }])
  const sent = async () => (await bench.hub.getEventsForExecution('run-1')).map(({ event_name, context: { n } }) => [event_name, n])
  for (const [seconds, count] of [
    [0, 0],
    [1, 2000],
    [1, 4000],
    [5, 6000],
  ] as const) {
    await clock.advance(seconds * 1000)
    // What is due is fired a few at a time, so that others have their turn.
    for (let turn = 0; turn < 200; turn++) await new Promise(setImmediate)
    t.same(
      await sent(),
      Array.from({ length: count }, (_, n) => ['SIM.load.EMITTED', n]),
    )
  }
})

test('rate 0 ends a load, and a new one takes its place with a counter of its own', async (t) => {
  const { ask, bench, clock } = await openTestBench(t)
  await ask('POST', '/api/sim/load', { json: { rate: 100 } })
  await clock.advance(1000)
  await ask('POST', '/api/sim/load', { json: { rate: 10, execution_id: 'run-2' } })
  await clock.advance(1000)
  const { body } = await ask('POST', '/api/sim/load', { json: { rate: 0 } })
  t.same(body, { success: true, message: 'no load' })
  await clock.advance(60_000)
  const numbers = (events: RuntimeEvent[]) => events.filter(({ entity_type }) => entity_type === 'SIM').map(({ context: { n } }) => n)
  t.same(numbers(await bench.hub.getEventsForExecution('run-2')), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  t.equal(numbers(await bench.hub.getEventsForExecution('system')).length, 100)
})

test('a load that cannot be is refused', async (t) => {
  const { ask } = await openTestBench(t)
  for (const json of [
    {},
    { rate: -1 },
    { rate: 200_001 },
    { rate: 'many' },
    { rate: 1, seconds: -1 },
    { rate: 1, execution_id: 'a b' },
    { rate: 1, more: 1 },
  ]) {
    isRefusal(t, await ask('POST', '/api/sim/load', { json }), 400)
  }
  isRefusal(t, await ask('POST', '/api/sim/load', { json: { rate: 1 }, key: 'read' }), 403)
})

test('where one device is real there is no load, and no event put in by hand', async (t) => {
  const real = { device_id: 'shaker-9', driver: 'bioshake', transport: { kind: 'serial', path: '/dev/serial/by-id/none' } }
  const simulated = { device_id: 'shaker-1', driver: 'bioshake', transport: { kind: 'simulated' } }
  const { ask, bench } = await openTestBench(t, { devices: [simulated, real] })
  isRefusal(t, await ask('POST', '/api/sim/load', { json: { rate: 1000 } }), 404)
  isRefusal(t, await ask('POST', '/api/sim/events', { json: { event_name: 'A.B' } }), 404)
  t.notOk((await bench.hub.getEventsSince()).some(({ entity_type }) => entity_type === 'SIM' || entity_type === 'A'))
})
