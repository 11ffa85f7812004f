import { test } from 'tap'
import { counted, emitMany, onBench, upTo } from '../testing/events.ts'
import type { RuntimeEvent } from './event.ts'
import { InProcessEvents } from './in_process.ts'

test('a sink is registered and unregistered by either name, with either name of its method, and receives every event in order', async (t) => {
  const { hub } = await onBench(t.testdir())
  const runtime = new InProcessEvents(hub)
  const heard: string[] = []
  const camel = { onEvent: ({ event_name }: RuntimeEvent) => void heard.push(`camel ${event_name}`) }
  class Snake {
    readonly prefix = 'snake'
    on_event({ event_name }: RuntimeEvent) {
      heard.push(`${this.prefix} ${event_name}`)
    }
  }
  const snake = new Snake()
  runtime.register_sink(camel)
  runtime.registerSink(snake)
  runtime.register_sink(snake)
  hub.emit('A.B', {})
  t.same(heard, ['camel A.B', 'snake A.B'], 'before emit returns')
  runtime.unregisterSink(camel)
  hub.emit('C.D', {})
  runtime.unregister_sink(snake)
  hub.emit('E.F', {})
  t.same(heard, ['camel A.B', 'snake A.B', 'snake C.D'])
  for (const wrong of [{}, null, { onEvent: 1 }] as never[])
    t.throws(() => runtime.registerSink(wrong), {
      code: 'invalid',
      message: /a sink must be an object with a method onEvent\(event\) or on_event\(event\)/,
    })
  await hub.close()
})

test('a sink by the name of the specification that throws is an incident after three times, and is called on after its acknowledgement', async (t) => {
  const { hub, words } = await onBench(t.testdir())
  const runtime = new InProcessEvents(hub)
  let calls = 0
  runtime.register_sink({
    name: 'bad',
    on_event({ entity_type }: RuntimeEvent) {
      if (entity_type !== 'INCIDENT') calls++
      throw new RangeError('no')
    },
  })
  emitMany(hub, 3)
  t.match(words, [/the sink bad failed: no/, /the sink bad failed: no/])
  const [incident] = hub.incidents.list()
  t.match(incident, { category: 'PLUGIN_HANDLER_EXCEPTION', detail: { sink: 'bad', exception_type: 'RangeError' } })
  await hub.incidents.acknowledge(incident!.incident_id, { by: 'a person' })
  emitMany(hub, 2)
  t.equal(calls, 5)
  await hub.close()
})

test('the lists have every event of the log, or those of one execution, by either name', async (t) => {
  const { hub } = await onBench(t.testdir())
  const runtime = new InProcessEvents(hub)
  emitMany(hub, 5, 'run-1')
  emitMany(hub, 3, 'run-2', 5)
  for (const list of [() => runtime.getEventsSince(), () => runtime.get_events_since(null), () => runtime.get_events_since()])
    t.same(counted(await list()), upTo(8))
  const [, , third] = await runtime.get_events_since()
  t.same(counted(await runtime.get_events_since(third!.timestamp)), upTo(6, 2))
  t.same(counted(await runtime.getEventsForExecution('run-2')), upTo(3, 5))
  t.same(counted(await runtime.get_events_for_execution('run-1')), upTo(5))
  await hub.close()
})
