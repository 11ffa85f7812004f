// Code that forgets to wait for what it calls.

import { test } from 'tap'
import { byHand, oneArm, workflowOf } from '../../../testing/documents.ts'
import { begin, run, testRuntime, threadIn, trace } from '../../../testing/workflow.ts'

const topology = oneArm({ pads: ['pad_1'], nests: { nest: 'mixer' }, operations: { mixer: { mix: 60 } } })
type Ctx = {
  device: { perform(name: string): Promise<unknown> }
  waitFor(name: string, options: { timeout: number }): Promise<unknown>
  emit(name: string, value?: unknown): PromiseLike<void>
  variable(name: string): unknown
}
const coded = (body: (ctx: Ctx) => Promise<void>) =>
  workflowOf(
    'coded',
    { plate: { ...byHand('pad_1'), steps: [{ method: 'look' }] } },
    { methods: { look: [{ name: 'look', on: 'mixer', body }] } },
  )

test('an action is not done while a call of its code is still at the device', async (t) => {
  const { runtime } = testRuntime([
    topology,
    coded(async (ctx) => {
      void ctx.device.perform('mix')
    }),
  ])
  const execution = await run(runtime, { workflow: 'coded' })
  const [look] = execution.timeline.rows().filter(({ kind }) => kind === 'action')
  t.equal(look!.ended! - look!.started!, 60)
  t.equal(execution.phase.current, 'completed')
})

test('a call that nobody waits for and that fails is the failure of its action', async (t) => {
  const { runtime, told } = testRuntime([
    topology,
    coded(async (ctx) => {
      void ctx.waitFor('never', { timeout: 5 })
    }),
  ])
  const execution = await begin(runtime, { workflow: 'coded' })
  const thread = await threadIn(execution, 'plate', 'PAUSED')
  t.equal(thread.control.pausedAt, 'ACTION_BODY')
  t.match(thread.last_error, /never was not emitted within 5 s/)
  thread.control.recover('CONTINUE')
  await runtime.over(execution)
  t.ok(trace(told).includes('EXECUTION COMPLETED'))
})

test('a value that is no text, and a variable that is not there, are refused', async (t) => {
  for (const [work, words] of [
    [(ctx: Ctx) => ctx.emit('bad', 5), /a text or null, not number/],
    [async (ctx: Ctx) => void ctx.variable('nope'), /has no variable nope/],
  ] as const) {
    const { runtime } = testRuntime([topology, coded(async (ctx) => void (await work(ctx)))])
    const execution = await begin(runtime, { workflow: 'coded' })
    const thread = await threadIn(execution, 'plate', 'PAUSED')
    t.match(thread.last_error, words)
    thread.control.recover('ABORT_THREAD')
    await runtime.over(execution)
  }
})

test('nothing is emitted after the end', async (t) => {
  const { runtime, told } = testRuntime([topology, coded(async () => {})])
  const execution = await run(runtime, { workflow: 'coded' })
  execution.events.emitCustom('zombie', { value: null, data: {} }, null)
  t.equal(trace(told).at(-1), 'EXECUTION COMPLETED')
})
