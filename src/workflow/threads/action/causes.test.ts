// What is said of the cause when an action cannot be done: a variable, labware that does not come.

import { test } from 'tap'
import { byHand, oneArm, workflowOf } from '../../../testing/documents.ts'
import { begin, testRuntime, threadIn, until } from '../../../testing/workflow.ts'

const bench = { nests: { nest: 'shaker' }, sites: { shaker: 2 }, operations: { shaker: { shake: 60, set_temperature: null } } }
const topology = oneArm({ pads: ['pad_1', 'pad_2'], ...bench })

type Ctx = { variable(name: string): unknown; device: { set_temperature(params: object): Promise<unknown> } }

/** With a lid that comes when somebody emits `go`, where an action wants one. */
function workflow(actions: { labware?: string[]; on: string }[]) {
  const lid = { ...byHand('pad_2'), steps: [{ wait_for: 'go' }, { join: ['mix'] }] }
  const plate = { ...byHand('pad_1'), steps: [{ method: 'mix' }] }
  return workflowOf(
    'work',
    { plate, ...(actions.some(({ labware }) => labware?.includes('lid')) && { lid }) },
    {
      labware: { plate: { type: '96-well' }, lid: { type: 'lid' } },
      variables: { speed: { default: 500 }, time: {} },
      methods: { mix: actions },
      start: ['plate'],
    },
  )
}

const shake = { do: 'shake', on: 'shaker', with: { speed: 500, duration: 60 } }

test('code that asks for a variable which is not there is held because of that', async (t) => {
  const look = { name: 'look', on: 'shaker', body: async (ctx: Ctx) => void ctx.variable('sped') }
  const { runtime, incidents } = testRuntime([topology, workflow([look])])
  const execution = await begin(runtime, { workflow: 'work' })
  const thread = await threadIn(execution, 'plate', 'PAUSED')
  t.equal(thread.control.pausedAt, 'ACTION_BODY')
  t.match(incidents, [{ category: 'VARIABLE_RESOLUTION', message: /has no variable sped/ }])
  execution.abort('that was all')
  await runtime.over(execution)
})

test('code switches nothing off with a variable that has no value, unless that is declared nullable', async (t) => {
  for (const nullable of [false, true]) {
    const cool = {
      name: 'cool',
      on: 'shaker',
      body: async (ctx: Ctx) => void (await ctx.device.set_temperature({ temperature: ctx.variable('time') })),
    }
    const { runtime, incidents } = testRuntime([topology, { ...workflow([cool]), variables: { speed: {}, time: { nullable } } }])
    const execution = await begin(runtime, { workflow: 'work' })
    if (!nullable) {
      const thread = await threadIn(execution, 'plate', 'PAUSED')
      t.match(incidents, [
        { category: 'VARIABLE_VALIDATION', message: /set_temperature of shaker: temperature: the variable time is null/ },
      ])
      thread.control.recover('ABORT_ACTION')
    }
    await runtime.over(execution)
    t.equal(execution.phase.current, 'completed')
    t.equal(incidents.length, nullable ? 0 : 1)
  }
})

test('an action that was put in is held where nobody has given its variable a value, or one that its device does not take', async (t) => {
  for (const [given, category, words] of [
    [{}, 'VARIABLE_RESOLUTION', /shake-2 wants a value for time/],
    [{ time: 'long' }, 'VARIABLE_VALIDATION', /duration must be a number, not "long"/],
    [{ time: -1 }, 'VARIABLE_VALIDATION', /duration must not be negative/],
  ] as const) {
    const { runtime, incidents } = testRuntime([topology, workflow([shake])])
    const execution = await begin(runtime, { workflow: 'work', variables: { ...given } })
    const item = { action: { do: 'shake', on: 'shaker', with: { speed: { variable: 'speed' }, duration: { variable: 'time' } } } }
    execution.inserts.put({ after: 'plate/mix/shake', item })
    const thread = await threadIn(execution, 'plate', 'PAUSED')
    t.equal(thread.control.pausedAt, 'ACTION_BODY')
    t.match(incidents, [{ category, message: words }])
    thread.control.recover('ABORT_ACTION')
    await runtime.over(execution)
    t.equal(execution.phase.current, 'completed')
  }
})

test('labware that does not come within the time that the action allows holds it, and RETRY waits for it anew', async (t) => {
  const both = { ...shake, labware: ['plate', 'lid'], labware_timeout: 100 }
  const { runtime, incidents, told } = testRuntime([topology, workflow([both])])
  const execution = await begin(runtime, { workflow: 'work' })
  const thread = await threadIn(execution, 'plate', 'PAUSED')
  t.equal(thread.control.pausedAt, 'ACTION_BODY')
  t.match(incidents, [
    {
      category: 'CO_LABWARE_TIMEOUT',
      message: /lid did not come to shaker within 100 s for shake: lid waits for custom event go/,
      thread_id: thread.thread_id,
    },
  ])
  thread.control.recover('RETRY')
  await until(() => thread.status.current === 'AWAITING_CO_THREADS', 'it waits again')
  execution.events.emitCustom('go', { value: null, data: {} }, null)
  await runtime.over(execution)
  t.equal(execution.phase.current, 'completed')
  t.equal(incidents.length, 1)
  t.ok(told.some(({ event_name }) => event_name.endsWith('.CO_LABWARE_TIMEOUT')))
})

test('labware that comes in time, or for which nobody has set one, is waited for', async (t) => {
  for (const labware_timeout of [undefined, 0, 100]) {
    const both = { ...shake, labware: ['plate', 'lid'], ...(labware_timeout !== undefined && { labware_timeout }) }
    const emits = {
      name: 'late',
      body: async (ctx: { sleep(s: number): Promise<void>; emit(name: string): PromiseLike<void> }) => {
        await ctx.sleep(labware_timeout === 100 ? 10 : 1_000_000)
        await ctx.emit('go')
      },
    }
    const other = { labware: 'other', ...byHand('pad_3'), steps: [{ action: emits }] }
    const base = workflow([both])
    const { runtime, incidents } = testRuntime([
      oneArm({ pads: ['pad_1', 'pad_2', 'pad_3'], ...bench }),
      { ...base, labware: { ...base.labware, other: { type: 'any' } }, threads: { ...base.threads, other }, start: ['plate', 'other'] },
    ])
    const execution = await begin(runtime, { workflow: 'work' })
    await runtime.over(execution)
    t.equal(execution.phase.current, 'completed')
    t.same(incidents, [])
  }
})
