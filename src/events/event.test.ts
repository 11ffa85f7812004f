import { test } from 'tap'
import * as v from 'valibot'
import { eventNameRule, isSyncedFirst, parseEventName, RuntimeEvent, runtimeEvent } from './event.ts'

test('a name is taken apart by its dots', async (t) => {
  t.same(parseEventName('THREAD.t-1.MOVING'), { entity_type: 'THREAD', entity_id: 't-1', status: 'MOVING' })
  t.same(parseEventName('TIP_RACK.EMPTY'), { entity_type: 'TIP_RACK', entity_id: '', status: 'EMPTY' })
  t.same(parseEventName('plain'), { entity_type: 'plain', entity_id: '', status: '' })
  t.same(parseEventName('a.b.c.d'), { entity_type: 'a.b.c.d', entity_id: '', status: '' })
})

test('an event cannot be changed, however deep', async (t) => {
  const event = runtimeEvent('CUSTOM.a.EMITTED', 'run-1', 1, { data: { list: [{ x: 1 }] } })
  t.ok(Object.isFrozen(event))
  const { list } = event.context.data as { list: { x: number }[] }
  t.throws(() => {
    list[0]!.x = 2
  }, TypeError)
})

test('an event has its seven members and no other', async (t) => {
  const event = runtimeEvent('A.B', 'system', 1, {})
  t.same(Object.keys(event), ['event_name', 'execution_id', 'timestamp', 'entity_type', 'entity_id', 'status', 'context'])
  t.ok(v.is(RuntimeEvent, event))
  t.notOk(v.is(RuntimeEvent, { ...event, seq: 1 }))
})

test('a context that JSON cannot hold is refused, with a sentence that names the event', async (t) => {
  const circle: Record<string, unknown> = {}
  circle.self = circle
  for (const data of [Number.NaN, Number.POSITIVE_INFINITY, 1n, () => 1, Symbol('s'), new Date(0), new Map(), circle]) {
    t.throws(() => runtimeEvent('CUSTOM.a.EMITTED', 'run-1', 1, { data }), { code: 'invalid', message: /CUSTOM\.a\.EMITTED/ })
  }
})

test('a client may make names of two or three parts, but no internal one', async (t) => {
  for (const name of ['A.B', 'A.b.C', 'CUSTOM.ü.EMITTED']) t.ok(v.is(eventNameRule, name), name)
  for (const name of ['A', 'A.', '.B', 'A..C', 'A.B.C.D', 'A.b\n.C', 'OPERATOR.CONFIRM.x', '']) t.notOk(v.is(eventNameRule, name), name)
})

test('what an operator must not miss is synced before it is shown', async (t) => {
  const is = (name: string) => isSyncedFirst(runtimeEvent(name, 'x', 1, {}))
  const first = ['DEVICE.s.FAULTED', 'DEVICE.s.FAULT_CLEARED', 'INCIDENT.1.STORAGE', 'OPERATOR.INSTRUCTION']
  for (const type of ['EXECUTION', 'SUBMISSION']) for (const end of ['COMPLETED', 'FAILED', 'ABORTED']) first.push(`${type}.x.${end}`)
  for (const name of first) t.ok(is(name), name)
  for (const name of ['THREAD.t.COMPLETED', 'SUBMISSION.s.ACCEPTED', 'DEVICE_OP.shake.FAILED']) t.notOk(is(name), name)
})
