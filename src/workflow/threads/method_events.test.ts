// The custom events that a method emits itself.

import { test } from 'tap'
import { byHand, oneArm, workflowOf } from '../../testing/documents.ts'
import { begin, run, testRuntime, threadIn, type trace, until } from '../../testing/workflow.ts'
import type { Doing, MethodDoing } from '../plans/author.ts'
import type { Execution } from '../runs/execution.ts'

const topology = oneArm({ pads: ['pad_1'], nests: { nest: 'mixer' }, operations: { mixer: { mix: 60 } } })
const mix = { do: 'mix', on: 'mixer' }
const plate = { labware: 'plate', ...byHand('pad_1') }
const work = (threads: Record<string, object>, methods: object) => workflowOf('work', threads, { methods, start: ['plate'] })

const go = (execution: Execution) => execution.events.emitCustom('go', { value: null, data: {} }, null)
const named = (execution: Execution, name: string) => [...execution.threads.values()].find((thread) => thread.name === name)!

/** What was told of the method and of its events, in order. */
const ofMethod = (told: Parameters<typeof trace>[0]) =>
  told.flatMap(({ entity_type, status, context }) =>
    entity_type === 'METHOD' ? status : entity_type === 'CUSTOM' ? `${context.event_name} ${context.value}` : [],
  )

test('code is told the run mode, and a custom event names the thread that owns its method, also where others take part', async (t) => {
  const modes: string[] = []
  const methods = {
    mix_it: {
      actions: [
        {
          name: 'look',
          labware: ['plate', 'lid'],
          on: 'mixer',
          async body({ mode, emit }: Doing) {
            modes.push(mode)
            await emit('seen')
          },
        },
      ],
      async on_end({ mode, emit }: MethodDoing) {
        modes.push(mode)
        await emit('mix.done')
      },
    },
  }
  const bench = oneArm({ pads: ['pad_1', 'pad_2'], nests: { nest: 'mixer' }, sites: { mixer: 2 }, operations: { mixer: { mix: 60 } } })
  const lid = { ...byHand('pad_2'), steps: [{ join: ['mix_it'] }] }
  const document = workflowOf('work', { plate: { ...plate, steps: [{ method: 'mix_it' }] }, lid }, { methods })
  const { runtime, told } = testRuntime([bench, document])
  const execution = await run(runtime, { workflow: 'work', groups: [{ group_id: 'g1', members: {} }] })
  t.equal(execution.phase.current, 'completed')
  t.same(modes, ['PURE_SIM', 'PURE_SIM'])
  const events = told.filter(({ entity_type }) => entity_type === 'CUSTOM')
  const owner = [...execution.threads.values()].find(({ plan }) => plan.name === 'plate')!
  t.same(
    events.map(({ context }) => [context.event_name, context.thread_id]),
    [
      ['seen', owner.thread_id],
      ['mix.done', owner.thread_id],
    ],
  )
  t.match(told.find(({ entity_type }) => entity_type === 'GROUP')!.context, { group_id: 'g1', ended: { COMPLETED: 2 } })
})

for (const [form, emits] of Object.entries({
  JSON: { on_start: [{ emit: 'mix.begun' }], on_end: [{ emit: 'mix.done', value: 'ok', data: { n: 1 } }] },
  code: {
    async on_start(ctx: MethodDoing) {
      await ctx.emit('mix.begun')
      // Without an await nothing is emitted.
      ctx.emit('never')
    },
    async on_end(ctx: MethodDoing) {
      await ctx.emit('mix.done', 'ok', { n: 1 })
    },
  },
})) {
  test(`a method emits when it starts and when it is done, in ${form}, and releases who waits for that`, async (t) => {
    const document = work(
      { plate: { ...plate, steps: [{ method: 'mix_it' }, { branch: 'mix.done', cases: { ok: [{ action: { emit: 'seen' } }] } }] } },
      { mix_it: { actions: [mix], ...emits } },
    )
    const { runtime, told } = testRuntime([topology, document])
    const execution = await run(runtime, { workflow: 'work' })
    t.same(ofMethod(told), ['CREATED', 'IN_PROGRESS', 'mix.begun null', 'mix.done ok', 'COMPLETED', 'seen null'])
    const { context } = told.find(({ context }) => context.event_name === 'mix.done')!
    t.match(context, { data: { n: 1 }, thread_id: named(execution, 'plate').thread_id })
    t.equal(execution.phase.current, 'completed')
  })
}

test('a method of which an action was skipped emits no end', async (t) => {
  const document = work(
    { plate: { ...plate, steps: [{ wait_for: 'go' }, { method: 'mix_it' }] } },
    {
      mix_it: { actions: [mix, { ...mix, name: 'again' }], on_start: [{ emit: 'begun' }], on_end: [{ emit: 'done' }] },
    },
  )
  const { runtime, told } = testRuntime([topology, document])
  const execution = await begin(runtime, { workflow: 'work' })
  await until(() => named(execution, 'plate')?.control.waiting?.kind === 'event')
  execution.skip('again')
  go(execution)
  await runtime.over(execution)
  t.same(ofMethod(told), ['go null', 'CREATED', 'IN_PROGRESS', 'begun null', 'PARTIAL_COMPLETE'])
})

test('code of a method that throws holds its thread, and RETRY runs it again', async (t) => {
  let calls = 0
  const on_end = async (ctx: MethodDoing) => {
    if (++calls === 1) throw new Error('not yet')
    await ctx.emit('done')
  }
  const document = work({ plate: { ...plate, steps: [{ method: 'mix_it' }] } }, { mix_it: { actions: [mix], on_end } })
  const { runtime, told } = testRuntime([topology, document])
  const execution = await begin(runtime, { workflow: 'work' })
  const thread = await threadIn(execution, 'plate', 'PAUSED')
  t.match(thread, { control: { pausedAt: 'THREAD_STEP' }, last_error: 'not yet' })
  thread.control.recover('RETRY')
  await runtime.over(execution)
  t.same(ofMethod(told), ['CREATED', 'IN_PROGRESS', 'done null', 'COMPLETED'])
})

test('what a method may not emit, or is none, is said with its place', (t) => {
  const refused = (method: unknown, message: RegExp) => {
    const document = work({ plate: { ...plate, steps: [{ method: 'mix_it' }] } }, { mix_it: method as object[] })
    t.throws(() => testRuntime([topology, document]), { message })
  }
  refused({ actions: [mix], on_end: [{ emit: 'OPERATOR.x' }] }, /methods\.mix_it\.on_end\[0\]\.emit: names that begin with OPERATOR/)
  refused({ actions: [mix], on_end: [{ emit: 3 }] }, /methods\.mix_it\.on_end/)
  refused({ on_end: [] }, /methods\.mix_it.*actions/)
  refused('mix', /methods\.mix_it must be a list of actions, or an object with actions/)
  t.end()
})
