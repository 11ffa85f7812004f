// People beside an arm: no arm is initialized near an open task, and a person makes the move of an arm that is stopped or has a fault.

import { type Test, test } from 'tap'
import { isRefusal } from '../testing/http.ts'
import { besideArm, carriedOn, pathOf, place, task } from '../testing/http_tasks.ts'

const initialize = '/api/devices/arm-1/initialize'

test('an arm is not initialized while a task is open within its reach', async (t) => {
  const run = await besideArm(t)
  const step = await task(run)
  t.match(step.move, { from: 'shaker_in', to: 'sealer_in', transporter: 'hands' })
  const refused = await run.ask('POST', initialize)
  isRefusal(t, refused, 409, 'interlock')
  t.match(refused.text, /arm-1 reaches shaker_in, where hands has a task: answer it/)
  t.equal((await run.ask('POST', '/api/devices/arm-1/stop')).status, 200, 'a stop is never refused')
  await run.post(pathOf(step), { answer: 'done' })
  await run.post(initialize)
  await carriedOn(t, run)
})

/** A run whose plate the arm could not pick. */
async function jammed(t: Test) {
  const run = await besideArm(t)
  await run.does('arm-1', 'pick')
  await run.breaks('arm-1', 'jam')
  return { run, held: await run.heldAgain('plate', 'MOVE') }
}

const recover = (thread_id: string) => `/api/threads/${thread_id}/recover`

test('a person makes the move of an arm that has a fault, which stays as it is until the task is answered', async (t) => {
  const { run, held } = await jammed(t)
  t.same(held.retry_by, ['hands'])
  t.match(await run.post(recover(held.thread_id), { decision: 'RETRY', by: 'hands' }), {
    message: 'the decision about plate is RETRY by hands',
  })
  const step = await task(run)
  t.match(step, {
    instruction: /out of the gripper of arm-1, and put it down at shaker_in; it may stand at pad_1 or shaker_in already$/,
    move: { transporter: 'hands' },
  })
  isRefusal(t, await run.ask('POST', initialize), 409, 'interlock')
  await run.post(pathOf(step), { answer: 'done' })
  await run.does('shaker-1', 'shake')
  t.equal(await place(run), 'at shaker_in')
  t.match(await run.get('/api/devices/arm-1'), { state: 'faulted' })
  await run.mends('arm-1')
  await carriedOn(t, run)
})

test('a person who cannot make the move is not named, and refused with who can', async (t) => {
  const { run, held } = await jammed(t)
  for (const [body, status, code, words] of [
    [{ decision: 'RETRY', by: 'arm-1' }, 409, 'conflict', /possible are hands/],
    [{ decision: 'CONTINUE', by: 'hands' }, 400, 'invalid', /with RETRY alone/],
    [{ decision: 'RETRY', by: 'hands', on: 'shaker-1' }, 400, 'invalid', /without/],
  ] as const) {
    const reply = await run.ask('POST', recover(held.thread_id), body)
    isRefusal(t, reply, status, code)
    t.match(reply.text, words)
  }
  await run.mends('arm-1')
  t.same((await run.heldAgain('plate', 'MOVE')).retry_by, [], 'the arm can do it itself')
  const reply = await run.ask('POST', recover(held.thread_id), { decision: 'RETRY', by: 'hands' })
  isRefusal(t, reply, 409, 'conflict')
  t.match(reply.text, /only the move of an arm that is stopped or has a fault/)
})
