// What a run that goes on for days, or one run after the other, must not fill the memory with.

import { test } from 'tap'
import { byHand, oneArm, workflowOf } from '../../testing/documents.ts'
import { begin, run, testRuntime } from '../../testing/workflow.ts'
import { LateCalls } from '../threads/action/late_calls.ts'

const topology = oneArm({ storages: ['hotel', 'waste'], nests: { nest: 'mixer' }, operations: { mixer: { mix: 60 } } })
const workflow = (name: string, steps: readonly object[]) =>
  workflowOf(
    name,
    { plate: { ...byHand('hotel', 'waste'), steps } },
    { methods: { mix_it: [{ do: 'mix', on: 'mixer', labware: ['plate'] }] } },
  )
const waiting = workflow('waiting', [{ wait_for: 'go' }])
const mixing = workflow('mixing', [{ method: 'mix_it' }])

const groups = (...ids: string[]) => ids.map((group_id) => ({ group_id, members: {} }))

test('a run that is open takes a thousand submissions, and is to be closed then', async (t) => {
  const { runtime } = testRuntime([topology, waiting])
  const asked = (n: number) => ({ workflow: 'waiting', batch_mode: 'JOIN_EXISTING', groups: groups(`g${n}`) }) as const
  const execution = await begin(runtime, asked(0))
  for (let n = 1; n < 1000; n++) await begin(runtime, asked(n))
  t.equal(execution.threads.size, 1000)
  await t.rejects(begin(runtime, asked(1000)), { code: 'conflict', message: /has had 1000 threads; close it/ })
  t.equal((await begin(runtime, { workflow: 'waiting', groups: groups('alone') })).threads.size, 1)
})

test('a run has had five thousand threads, and takes no more', async (t) => {
  const { runtime } = testRuntime([topology, waiting])
  const many = Array.from({ length: 4999 }, (_, n) => `g${n}`)
  const execution = await begin(runtime, { workflow: 'waiting', groups: groups(...many) })
  execution.spawnNow('plate')
  t.throws(() => execution.spawnNow('plate'), { code: 'conflict', message: /has had 5000 threads, which is the limit/ })
  t.equal(execution.threads.size, 5000)
})

test('a run knows a thousand custom events by their names, and goes on with those', async (t) => {
  const { runtime } = testRuntime([topology, waiting])
  const execution = await begin(runtime, { workflow: 'waiting' })
  const emit = (name: string) => execution.events.emitCustom(name, { value: null, data: {} }, null)
  for (let n = 0; n < 1000; n++) emit(n === 7 ? 'another' : `n${n}`)
  t.throws(() => emit('one too many'), { code: 'conflict' })
  emit('n999')
  t.equal(execution.channels.count('n999'), 2)
})

test('the latest values of the custom events of a run are a million characters together', async (t) => {
  const { runtime } = testRuntime([topology, waiting])
  const execution = await begin(runtime, { workflow: 'waiting' })
  const emit = (name: string, length: number) =>
    execution.events.emitCustom(name, { value: null, data: { text: 'x'.repeat(length) } }, null)
  for (let n = 0; n < 10; n++) emit('a', 1_000_000)
  t.throws(() => emit('b', 100_000), { code: 'conflict', message: /would be \d+ characters with b/ })
  emit('a', 10)
  emit('b', 1_000_000)
  t.throws(() => emit('a', 100_000), { code: 'conflict' })
  t.equal(execution.channels.count('a'), 11)
})

test('of runs that have ended twenty are known to their depth, fewer where they were long, and the last in any case', async (t) => {
  const { runtime } = testRuntime([topology, mixing])
  const ids: string[] = []
  for (let n = 0; n < 25; n++) ids.push((await run(runtime, { workflow: 'mixing' })).execution_id)
  const known = () => runtime.runs.all().map(({ execution_id }) => execution_id)
  t.same(known(), ids.slice(-20))
  t.equal(runtime.runs.all().flatMap(({ submissions }) => submissions).length, 20)

  const many = Array.from({ length: 700 }, (_, n) => `g${n}`)
  const long = await run(runtime, { workflow: 'mixing', groups: groups(...many) })
  t.ok(long.threads.size + long.timeline.size > 2500)
  t.equal(known().at(-1), long.execution_id)
  const longer = await run(runtime, { workflow: 'mixing', groups: groups(...many, ...many.map((id) => `${id}x`)) })
  t.ok(longer.threads.size + longer.timeline.size > 5000)
  t.same(known(), [longer.execution_id])
})

test('an operator puts five hundred items into a run', async (t) => {
  const { runtime } = testRuntime([topology, waiting])
  const execution = await begin(runtime, { workflow: 'waiting' })
  execution.pause('manual')
  // Each is compiled with all that were put in before it: what is restored is not.
  const item = { action: { emit: 'now' } }
  const saved = Array.from({ length: 500 }, (_, number) => ({
    number,
    anchor: 'go',
    where: 'after' as const,
    item,
    is_done: true,
    lanes: [],
  }))
  execution.inserts.restore(saved)
  t.throws(() => execution.inserts.put({ after: 'go', item }), { code: 'conflict', message: /500 inserts/ })
})

test('of late calls that are over the newest hundred are known, and every one that is not', (t) => {
  const calls = new LateCalls()
  const open = (id: string) => calls.open(id, { what: id, thread_id: id }, () => {})
  open('goes on')
  for (let n = 0; n < 150; n++) open(`over ${n}`).close()
  open('another')
  t.ok(calls.has('goes on'))
  t.ok(calls.has('over 149'))
  t.notOk(calls.has('over 40'))
  t.throws(() => calls.decide('over 149', 'abort'), { code: 'conflict' })
  t.throws(() => calls.decide('over 40', 'abort'), { code: 'not_found' })
  t.end()
})
