// Custom events in runs with several groups.

import { test } from 'tap'
import { byHand, oneArm, workflowOf } from '../../testing/documents.ts'
import { begin, Kept, run, takeUp, testRuntime, threadIn, until } from '../../testing/workflow.ts'
import type { Doing } from '../plans/author.ts'
import type { Execution } from '../runs/execution.ts'
import { blockers, why } from '../runs/explanation.ts'
import { checkpointOf } from '../state/run.ts'

const pads = ['pad_1', 'pad_2', 'pad_3', 'pad_4', 'pad_5', 'pad_6']
const bench = oneArm({ pads, nests: { nest_1: 'mixer' }, operations: { mixer: { mix: 600 } } })
const groups = (...ids: string[]) =>
  ids.map((group_id, i) => ({ group_id, members: { a: { location: pads[2 * i]! }, b: { location: pads[2 * i + 1]! } } }))
const mix = { do: 'mix', on: 'mixer' }
const a = { ...byHand('pad_1', 'pad_1'), end: { at: pads } }
const b = { ...byHand('pad_2', 'pad_2'), end: { at: pads } }
const values = (execution: Execution, event: string) =>
  [...execution.threads.values()].filter((thread) => thread.seen(event) > 0).map(({ name }) => name)

test('a plate goes on when the plate of its own group is done, not when another one is', async (t) => {
  const document = workflowOf('work', {
    a: { ...a, steps: [{ action: mix }, { action: { emit: 'mixed' } }] },
    b: { ...b, steps: [{ wait_for: 'mixed' }, { action: { emit: 'went.on' } }] },
  })
  const { runtime, told } = testRuntime([bench, document])
  const execution = await run(runtime, { workflow: 'work', groups: groups('g1', 'g2', 'g3') })
  t.equal(execution.phase.current, 'completed')
  const events = told
    .filter(({ entity_type }) => entity_type === 'CUSTOM')
    .map(({ context }) => `${context.event_name} ${context.group_id}`)
  const mixed = events.filter((event) => event.startsWith('mixed'))
  t.equal(mixed.length, 3)
  for (const event of mixed) {
    const after = `went.on ${event.split(' ')[1]}`
    t.ok(events.indexOf(after) > events.indexOf(event), `${after} comes after ${event}`)
    const others = mixed.filter((other) => events.indexOf(other) > events.indexOf(event))
    for (const other of others) t.ok(events.indexOf(after) < events.indexOf(other), `${after} comes before ${other}`)
  }
})

test('each plate is judged by the result of its own group, in JSON and in code', async (t) => {
  const results: Record<string, string> = { g1: 'good', g2: 'bad', g3: 'good' }
  const judged: string[] = []
  const groupOf = ({ thread_id }: Doing) => execution.threads.get(thread_id)!.origin.group_id!
  const judge = async (ctx: Doing) => ctx.emit('qc.done', results[groupOf(ctx)]!)
  const hear = async (ctx: Doing) => void judged.push(`${groupOf(ctx)} ${(await ctx.waitFor('qc.done')).value}`)
  const document = workflowOf('work', {
    a: { ...a, steps: [{ action: mix }, { action: { name: 'judge', body: judge } }] },
    b: {
      ...b,
      steps: [
        { action: { name: 'hear', body: hear } },
        { branch: 'qc.done', cases: { good: [{ action: { emit: 'kept' } }], bad: [{ action: { emit: 'thrown.away' } }] } },
      ],
    },
  })
  const { runtime, told } = testRuntime([bench, document])
  const execution = await begin(runtime, { workflow: 'work', groups: groups('g1', 'g2', 'g3') })
  await runtime.over(execution)
  t.same(judged.sort(), ['g1 good', 'g2 bad', 'g3 good'])
  const outcome = told
    .filter(({ entity_type, context }) => entity_type === 'CUSTOM' && context.event_name !== 'qc.done')
    .map(({ context }) => `${context.group_id} ${context.event_name}`)
  t.same(outcome.sort(), ['g1 kept', 'g2 thrown.away', 'g3 kept'])
})

test('across_groups widens an emission and a wait; an event of nobody reaches all', async (t) => {
  const wide = { wait_for: 'any', across_groups: true }
  const document = workflowOf('work', {
    a: { ...a, steps: [{ wait_for: 'begin' }, { action: { emit: 'any' } }, { action: { emit: 'to.all', across_groups: true } }] },
    b: { ...b, steps: [{ action: wide }, { wait_for: 'to.all' }, { wait_for: 'end' }] },
  })
  const { runtime, told } = testRuntime([bench, document])
  const execution = await begin(runtime, { workflow: 'work', groups: groups('g1', 'g2') })
  await until(() => execution.live().filter(({ status }) => status.current === 'AWAITING_EVENT').length >= 2)
  execution.events.emitCustom('begin', { value: null, data: {} }, null, execution.groups.find('g1'))
  await until(() => values(execution, 'to.all').length === 2, 'both hear to.all')
  t.same(values(execution, 'begin'), ['a'], 'the other group has not begun')
  t.same(values(execution, 'any').sort(), ['b', 'b-2'])
  execution.events.emitCustom('begin', { value: null, data: {} }, null)
  execution.events.emitCustom('end', { value: null, data: {} }, null)
  await runtime.over(execution)
  t.equal(execution.phase.current, 'completed')
  const scopes = told
    .filter(({ entity_type }) => entity_type === 'CUSTOM')
    .map(({ context }) => `${context.event_name} ${context.group_id}`)
  t.same(scopes.slice(0, 3), ['begin g1', 'any g1', 'to.all null'])
})

test('joined submissions may have groups of the same name, whose events do not meet', async (t) => {
  const document = workflowOf('work', { a: { ...a, steps: [{ wait_for: 'go' }] } })
  const { runtime } = testRuntime([bench, document])
  const one = (at: string) => [{ group_id: 'g1', members: { a: { location: at } } }]
  const asked = { workflow: 'work', batch_mode: 'JOIN_EXISTING' } as const
  const execution = await begin(runtime, { ...asked, groups: one('pad_1') })
  await begin(runtime, { ...asked, groups: one('pad_2') })
  await threadIn(execution, 'a', 'AWAITING_EVENT')
  await threadIn(execution, 'a-2', 'AWAITING_EVENT')
  t.throws(() => execution.groups.find('g1'), { code: 'conflict', message: /several submissions .* have a group g1; name one/ })
  t.throws(() => execution.groups.find('g7'), { code: 'not_found', message: /no group g7 in this run; it has g1/ })
  const [first] = execution.submissions
  execution.events.emitCustom('go', { value: null, data: {} }, null, execution.groups.find('g1', first!.submission_id))
  await threadIn(execution, 'a', 'COMPLETED')
  t.equal((await threadIn(execution, 'a-2', 'AWAITING_EVENT')).isOver, false)
  execution.events.emitCustom('go', { value: null, data: {} }, null)
  await runtime.over(execution)
})

test('the explanation of a wait names the group that emitted the event to itself alone', async (t) => {
  const document = workflowOf('work', { a: { ...a, steps: [{ wait_for: 'go' }] } })
  const { runtime } = testRuntime([bench, document])
  const two = ['pad_1', 'pad_2'].map((location, i) => ({ group_id: `g${i + 1}`, members: { a: { location } } }))
  const execution = await begin(runtime, { workflow: 'work', groups: two })
  await threadIn(execution, 'a-2', 'AWAITING_EVENT')
  t.match(why(execution)[1], { thread_name: 'a-2', waits_for: 'custom event go of g2', because: [] })
  execution.events.emitCustom('go', { value: null, data: {} }, null, execution.groups.find('g1'))
  await threadIn(execution, 'a', 'COMPLETED')
  const note = /^g1 emitted it \d+ s ago, which reaches g1 alone; "across_groups": true hears all groups$/
  t.match(why(execution)[0], { thread_name: 'a-2', because: [note] })
  t.match(blockers(execution)[0], { kind: 'event', message: /^waits for custom event go of g2; g1 emitted it/ })
  execution.events.emitCustom('go', { value: null, data: {} }, null)
  await runtime.over(execution)
})

test('a value without a case holds the thread until somebody emits another one and retries', async (t) => {
  const branch = { name: 'fork', branch: 'way', cases: { left: [{ action: { emit: 'went.left' } }] } }
  const { runtime, incidents } = testRuntime([bench, workflowOf('work', { a: { ...a, steps: [branch] } })])
  const execution = await begin(runtime, { workflow: 'work' })
  const thread = await threadIn(execution, 'a', 'AWAITING_EVENT')
  execution.events.emitCustom('way', { value: 'up', data: {} }, null)
  await threadIn(execution, 'a', 'PAUSED')
  t.match(incidents.at(-1)?.message, /way was emitted with the value "up", for which the branch has no case \(left\) and no else/)
  execution.events.emitCustom('way', { value: 'left', data: {} }, null)
  thread.control.recover('RETRY')
  await runtime.over(execution)
  t.equal(execution.phase.current, 'completed')
  t.equal(execution.channels.count('went.left'), 1)
})

test('a branch without a case for the value can be skipped', async (t) => {
  const branch = { name: 'fork', branch: 'way', cases: { left: [{ action: { emit: 'went.left' } }] } }
  const { runtime } = testRuntime([bench, workflowOf('work', { a: { ...a, steps: [branch, { action: { emit: 'went.on' } }] } })])
  const execution = await begin(runtime, { workflow: 'work' })
  const thread = await threadIn(execution, 'a', 'AWAITING_EVENT')
  execution.events.emitCustom('way', { value: null, data: {} }, null)
  await threadIn(execution, 'a', 'PAUSED')
  t.match(thread.last_error, /way was emitted without a value, for which the branch has no case/)
  execution.skip('a/fork')
  thread.control.recover('RETRY')
  await runtime.over(execution)
  t.same([execution.channels.count('went.left'), execution.channels.count('went.on')], [0, 1])
})

test('the events of groups survive a restart, and a run that an earlier version began keeps its rule', async (t) => {
  const document = workflowOf('work', {
    a: { ...a, steps: [{ action: { emit: 'mixed', value: 'yes' } }, { wait_for: 'end' }] },
    b: { ...b, steps: [{ wait_for: 'begin' }, { wait_for: 'mixed' }, { wait_for: 'end' }] },
  })
  const kept = new Kept()
  const { runtime } = testRuntime([bench, document], { keep: () => kept })
  const execution = await begin(runtime, { workflow: 'work', groups: groups('g1', 'g2') })
  await until(() => execution.live().every(({ status }) => status.current === 'AWAITING_EVENT') && execution.channels.count('mixed') === 2)
  await kept.persist()
  const saved = checkpointOf(kept.all.at(-1)!)!
  t.same(saved.channels.map(({ group_id, value }) => `${group_id} ${value}`).sort(), ['g1 yes', 'g2 yes'])
  const { events_of_groups: _, ...before } = saved.execution
  const [latest] = saved.channels
    .filter(({ count }) => count === 2)
    .map(({ submission_id: _, group_id: __, at: ___, ...channel }) => channel)
  const earlier = new Map<string, unknown>([...kept.all.at(-1)!].filter(([key]) => !key.startsWith('channel ')))
  earlier.set('execution', before).set('channel mixed', latest)
  for (const keys of [kept.all.at(-1)!, earlier]) {
    const again = testRuntime([bench, document], { ids: 1_000_000 })
    const restored = await takeUp(again.runtime, keys, checkpointOf(keys)!)
    restored.resume()
    await until(() => restored.live().every(({ status }) => status.current === 'AWAITING_EVENT'))
    restored.events.emitCustom('begin', { value: null, data: {} }, null)
    await until(() => values(restored, 'mixed').length === 2)
    const seen = [...restored.threads.values()].map((thread) => thread.seen('mixed')).filter(Boolean)
    t.same(seen.sort(), keys === earlier ? [2, 2] : [1, 2])
    restored.events.emitCustom('end', { value: null, data: {} }, null)
    await again.runtime.over(restored)
  }
})
