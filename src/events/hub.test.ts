import { test } from 'tap'
import { counted, emitMany, onBench, upTo } from '../testing/events.ts'
import type { RuntimeEvent } from './event.ts'

test('every sink hears of every event, at the emission, in the order of emission', async (t) => {
  const { hub } = await onBench(t.testdir())
  const heard: [string, string][] = []
  hub.registerSink({ name: 'a', onEvent: ({ event_name }) => void heard.push(['a', event_name]) })
  const b = { name: 'b', onEvent: ({ event_name }: RuntimeEvent) => void heard.push(['b', event_name]) }
  hub.registerSink(b)
  hub.emit('A.B', {})
  t.same(heard, [
    ['a', 'A.B'],
    ['b', 'A.B'],
  ])
  hub.unregisterSink(b)
  hub.emit('C.D', {})
  t.same(heard.slice(2), [['a', 'C.D']])
  await hub.close()
})

test('what a sink emits is told after what it heard, to all in one order', async (t) => {
  const { hub } = await onBench(t.testdir())
  const heard: string[] = []
  hub.registerSink({ onEvent: ({ status }) => void (status === 'B' && hub.emit('A.C', {})) })
  hub.registerSink({ onEvent: ({ status }) => void heard.push(status) })
  hub.emit('A.B', {})
  t.same(heard, ['B', 'C'])
  t.same(
    (await hub.getEventsSince()).map(({ status }) => status),
    ['B', 'C'],
  )
  await hub.close()
})

test('a sink that throws hides nothing from the others, and three times running is one incident a streak', async (t) => {
  const { hub } = await onBench(t.testdir())
  const heard: string[] = []
  let broken = true
  const bad = {
    name: 'bad',
    onEvent() {
      if (broken) throw new Error('no')
    },
  }
  hub.registerSink(bad)
  hub.registerSink({ onEvent: ({ event_name }) => void heard.push(event_name) })
  const incidents = () => heard.filter((name) => name.endsWith('.PLUGIN_HANDLER_EXCEPTION')).length
  emitMany(hub, 2)
  t.equal(incidents(), 0)
  emitMany(hub, 8)
  t.equal(incidents(), 1)
  t.equal(heard.length, 11)
  broken = false
  emitMany(hub, 1)
  broken = true
  emitMany(hub, 3)
  t.equal(incidents(), 2)
  t.match(hub.incidents.list()[0], {
    category: 'PLUGIN_HANDLER_EXCEPTION',
    severity: 'WARNING',
    recovery_action: 'PLUGIN_DISABLE',
    detail: { sink: 'bad' },
  })
  await hub.close()
})

test('a sink without a prototype that throws things without one hinders no event', async (t) => {
  const { hub, words } = await onBench(t.testdir())
  const odd = Object.assign(Object.create(null), {
    onEvent() {
      throw Object.create(null)
    },
  })
  hub.registerSink(odd)
  emitMany(hub, 3)
  t.match(words[0], /^the sink without a name failed: /)
  t.match(hub.incidents.list()[0], { category: 'PLUGIN_HANDLER_EXCEPTION', detail: { sink: 'without a name', exception_type: 'object' } })
  await hub.close()
})

test('a sink whose promise rejects counts as one that throws', async (t) => {
  const { hub } = await onBench(t.testdir())
  hub.registerSink({ name: 'late', onEvent: () => Promise.reject(new Error('no')) })
  for (let i = 0; i < 4; i++) {
    emitMany(hub, 1)
    await new Promise(setImmediate)
  }
  t.equal(hub.incidents.list().length, 1)
  await hub.close()
})

test('that a sink holds everything up is warned of at once, and from then on with its name, once a minute', async (t) => {
  const { hub, clock, words } = await onBench(t.testdir())
  class Sluggish {
    onEvent() {
      void clock.advance(0)
      slow()
    }
  }
  const real = clock.now.bind(clock)
  let added = 0
  const slow = () => {
    added += 50
  }
  clock.now = () => real() + added
  hub.registerSink({ name: 'quick', onEvent() {} })
  hub.registerSink(new Sluggish())
  emitMany(hub, 5)
  t.same(words, [
    'one of 2 sinks held everything up for 50 ms at CUSTOM.n.EMITTED; each is timed from now on',
    'the sink Sluggish held everything up for 50 ms at CUSTOM.n.EMITTED',
  ])
  added += 60_000
  emitMany(hub, 1)
  t.equal(words.length, 3)
  await hub.close()
})

test('each sink is timed until none was slow for ten minutes', async (t) => {
  const { hub, clock, words } = await onBench(t.testdir())
  let now = 0
  let looks = 0
  let took = 0
  clock.now = () => {
    looks++
    return now
  }
  const onEvent = () => {
    now += took
  }
  for (const name of ['a', 'b', 'c']) hub.registerSink({ name, onEvent })
  const looksAt = (slow_ms: number) => {
    took = slow_ms
    looks = 0
    hub.emit('A.B', {})
    return looks
  }
  const usual = looksAt(0)
  looksAt(30)
  t.equal(looksAt(30), usual + 2)
  now += 599_000
  t.equal(looksAt(0), usual + 2)
  now += 2000
  t.equal(looksAt(0), usual)
  t.equal(words.length, 4)
  await hub.close()
})

test('the lists have everything that was emitted before the call, frozen, in order', async (t) => {
  const { hub } = await onBench(t.testdir())
  emitMany(hub, 1500, 'run-1')
  emitMany(hub, 2, 'run-2', 1500)
  const all = await hub.getEventsSince()
  t.same(counted(all), upTo(1502))
  t.ok(Object.isFrozen(all[7]) && Object.isFrozen(all[7]!.context))
  t.same(counted(await hub.getEventsForExecution('run-2')), [1500, 1501])
  t.same(counted(await hub.getEventsSince(all[1400]!.timestamp)), upTo(102, 1400))
  t.same(await hub.getEventsForExecution('no such run'), [])
  const some: number[] = []
  for await (const { context } of hub.events({ execution_id: 'run-1' })) some.push(context.n as number)
  t.same(some, upTo(1500))
  await hub.close()
})

test('a caller that makes the name may hand over its parts', async (t) => {
  const { hub } = await onBench(t.testdir())
  const parts = { entity_type: 'THREAD', entity_id: 'a', status: 'MOVING' }
  const event = hub.emit('THREAD.a.MOVING', {}, 'run-1', parts)
  t.same(event, { event_name: 'THREAD.a.MOVING', execution_id: 'run-1', timestamp: event.timestamp, ...parts, context: {} })
  t.same(await hub.getEventsSince(), [event])
  t.equal(hub.counts.get('THREAD')?.events, 1)
  await hub.close()
})

test('an event of no execution bears the system id', async (t) => {
  const { hub } = await onBench(t.testdir())
  t.equal(hub.emit('DEVICE.s.FAULTED', {}).execution_id, 'system')
  await hub.close()
})

test('a context that JSON cannot hold is refused whole: nobody hears of it', async (t) => {
  const { hub } = await onBench(t.testdir())
  hub.registerSink({ onEvent: () => void t.fail('it was told') })
  t.throws(() => hub.emit('A.B', { data: Number.NaN }), { code: 'invalid' })
  t.same(await hub.getEventsSince(), [])
  await hub.close()
})
