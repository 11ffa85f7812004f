// What people do with their hands in a run, told over the API: steps they confirm, labware they bring, carry and take away.

import { type Test, test } from 'tap'
import { isRefusal } from '../testing/http.ts'
import { atPad1, beginRun, plateRun, type Scripted, seal, shake } from '../testing/http_runs.ts'
import type { ShownThread } from '../workflow/snapshot.ts'
import type { Whereabouts } from '../workflow/whereabouts.ts'

type Steps = { steps: { step_id: string; instruction: string }[] }

const steps = (run: Scripted) => run.until('a step', async () => (await run.get<Steps>('/api/operator/steps')).steps[0])
const asking = (timeout: number) => plateRun([{ method: 'ask' }], { methods: { ask: [{ instruct: 'look at the plate', timeout }] } })

test('of two who confirm a step at once exactly one is taken', async (t) => {
  const run = await beginRun(t, { workflow: asking(0) })
  const { step_id } = await steps(run)
  const path = `/api/operator/steps/${step_id}/confirm`
  const replies = await Promise.all([run.ask('POST', path), run.ask('POST', path)])
  t.same(replies.map(({ status }) => status).sort(), [200, 404])
  t.match(replies.find(({ status }) => status === 404)!.body, { detail: /it was confirmed, or it timed out/ })
  t.equal(await run.over(), 'COMPLETED')
  t.same(await run.get('/api/operator/steps'), { steps: [] })
})

test('a step that nobody confirms in time holds the thread; RETRY asks anew, under another id', async (t) => {
  const run = await beginRun(t, { workflow: asking(60) })
  const { step_id } = await steps(run)
  const { thread_id, last_error, decisions } = await run.thread('plate', 'PAUSED')
  t.equal(last_error, 'nobody confirmed within 60 s: look at the plate')
  t.same(decisions, ['RETRY', 'CONTINUE', 'ABORT_ACTION', 'ABORT_METHOD', 'ABORT_THREAD'])
  t.same(await run.get('/api/operator/steps'), { steps: [] })
  isRefusal(t, await run.ask('POST', `/api/operator/steps/${step_id}/confirm`), 404, 'not_found')
  await run.recover(thread_id, 'RETRY')
  const again = await steps(run)
  t.not(again.step_id, step_id)
  await run.post(`/api/operator/steps/${again.step_id}/confirm`)
  t.equal(await run.over(), 'COMPLETED')
  t.equal((await run.named('OPERATOR.INSTRUCTION')).length, 2)
})

test('a GET on the address of an answer, as previews of messages send it, answers nothing', async (t) => {
  const run = await beginRun(t, { workflow: asking(0) })
  const { step_id } = await steps(run)
  const path = `/api/operator/steps/${step_id}/confirm`
  for (const method of ['GET', 'HEAD', 'OPTIONS']) t.equal((await run.ask(method, path)).status, 405, method)
  t.match(await run.get('/api/operator/steps'), { steps: [{ step_id }] })
})

const byHand = plateRun([], { threads: { plate: { labware: 'plate', start: { at: 'pad_1' }, end: { at: ['pad_1'] }, steps: [] } } })
const named = { submission: { groups: [{ group_id: 'g1', members: { plate: { barcode: 'P-1' } } }] } }

test('another barcode than was submitted is refused and recorded, and the right one is still waited for', async (t) => {
  const run = await beginRun(t, { workflow: byHand, ...named })
  const { thread_id } = await run.thread('plate', 'AWAITING_MANUAL_PLACE')
  t.match(await run.blockers(), [
    { kind: 'manual_place', message: 'waits for an operator to put plate at pad_1', remedy: /say that it is placed/ },
  ])
  const reply = await run.ask('POST', `/api/threads/${thread_id}/placed`, { barcode: 'P-2' })
  isRefusal(t, reply, 409, 'conflict')
  t.match(reply.body, { detail: 'plate wants the plate with the barcode P-1, and P-2 was read at pad_1; put the right one there' })
  t.match(await run.incidents(), [
    { category: 'BARCODE_MISMATCH', severity: 'WARNING', detail: { wanted: 'P-1', read: 'P-2', position: 'pad_1' } },
  ])
  t.equal((await run.thread('plate', 'AWAITING_MANUAL_PLACE')).labware!.barcode, 'P-1')
  t.match(await run.get('/api/topology'), { positions: [{ name: 'pad_1', labware: null }] })
  isRefusal(t, await run.ask('POST', `/api/threads/${thread_id}/removed`), 409, 'conflict')
  await run.post(`/api/threads/${thread_id}/placed`, { barcode: 'P-1' })
  await run.thread('plate', 'AWAITING_MANUAL_REMOVE')
  t.match(await run.blockers(), [{ kind: 'manual_remove', message: 'waits for an operator to take plate away' }])
  isRefusal(t, await run.ask('POST', `/api/threads/${thread_id}/placed`, { barcode: 'P-1' }), 409, 'conflict')
  await run.post(`/api/threads/${thread_id}/removed`)
  t.equal(await run.over(), 'COMPLETED')
})

test('white space and control characters at the ends belong to no barcode, whichever door it comes through', async (t) => {
  for (const [asked, read] of [
    ['00123', '00123\r\n'],
    [' 00124', '00124'],
    ['e\u0301-1', '\u00e9-1'],
  ]) {
    const run = await beginRun(t, {
      workflow: byHand,
      submission: { groups: [{ group_id: 'g1', members: { plate: { barcode: asked } } }] },
    })
    const { thread_id } = await run.thread('plate', 'AWAITING_MANUAL_PLACE')
    await run.post(`/api/threads/${thread_id}/placed`, { barcode: read })
    t.equal((await run.thread('plate', 'AWAITING_MANUAL_REMOVE')).labware!.barcode, read!.trim())
    await run.post(`/api/threads/${thread_id}/removed`)
    t.equal(await run.over(), 'COMPLETED')
  }
  const run = await beginRun(t, { workflow: byHand })
  const { thread_id } = await run.thread('plate', 'AWAITING_MANUAL_PLACE')
  isRefusal(t, await run.ask('POST', `/api/threads/${thread_id}/placed`, { barcode: '\r\n' }), 400, 'invalid')
})

test('where nobody has the right labware the thread is stopped instead; nothing was put on the bench', async (t) => {
  const run = await beginRun(t, { workflow: byHand, ...named })
  const { thread_id } = await run.thread('plate', 'AWAITING_MANUAL_PLACE')
  await run.ask('POST', `/api/threads/${thread_id}/placed`, { barcode: 'P-2' })
  await run.post(`/api/threads/${thread_id}/stop`)
  t.equal(await run.over(), 'COMPLETED')
  t.match(await run.snapshot(), { threads: [{ status: 'STOPPED', position: null }] })
  t.same(await run.get('/api/labware'), { labware: [] })
})

test('what is read where no barcode was asked for is kept', async (t) => {
  const run = await beginRun(t, { workflow: byHand })
  const { thread_id } = await run.thread('plate', 'AWAITING_MANUAL_PLACE')
  await run.post(`/api/threads/${thread_id}/placed`, { barcode: 'P-9' })
  t.match(await run.thread('plate', 'AWAITING_MANUAL_REMOVE'), { labware: { barcode: 'P-9' }, position: 'pad_1' })
})

/** Two plates: one is shaken, the other waits. */
const pair = plateRun([{ method: 'shake_it' }], {
  labware: { plate: { type: '96-well' }, other: { type: '96-well' } },
  methods: { shake_it: [shake], seal_it: [seal] },
  threads: {
    plate: { labware: 'plate', ...atPad1, steps: [{ wait_for: 'go' }, { method: 'shake_it' }] },
    other: {
      labware: 'other',
      start: { at: 'pad_2', mode: 'REUSE_EXISTING' },
      end: { at: ['pad_2'], mode: 'LEAVE_IN_PLACE' },
      steps: [{ wait_for: 'on' }],
    },
  },
  start: ['plate', 'other'],
})

async function pairOf(t: Test) {
  const run = await beginRun(t, { workflow: pair })
  await run.thread('plate', 'AWAITING_EVENT')
  await run.thread('other', 'AWAITING_EVENT')
  const piece = async (name: string) =>
    (await run.get<{ labware: Whereabouts[] }>('/api/labware')).labware.find((one) => one.name === name)!
  const plate = await piece('plate')
  const put = (position: string | null, { labware_id } = plate) => run.ask('PUT', `/api/labware/${labware_id}/location`, { position })
  const refused = async (position: string | null, status: number, detail: RegExp, of = plate) => {
    const reply = await put(position, of)
    isRefusal(t, reply, status)
    t.match(reply.body, { detail })
  }
  return { run, piece, put, refused }
}

test('labware is said to be elsewhere only where it can be: each refusal says why, and changes nothing', async (t) => {
  const { run, piece, refused } = await pairOf(t)
  await refused('pad_9', 404, /no place pad_9; did you mean "pad_1"/)
  await refused('pad_2', 409, /plate cannot be at pad_2: other stands there/)
  await refused(null, 409, /thread plate still has plate; stop it before its labware is taken away/)
  await run.emits('go')
  await run.until('moving', async () => (await run.snapshot()).moves.length > 0, 100)
  await refused(
    'pad_3',
    409,
    /plate is under way: arm-1 brings it from pad_1 to shaker_in; pause thread plate, and try again when it stands/,
  )
  await refused(
    'shaker_in',
    409,
    /other cannot be at shaker_in: (it is reserved for thread|thread [0-9a-f-]+ holds shaker-1)/,
    await piece('other'),
  )
  await run.does('shaker-1', 'shake')
  await refused('pad_3', 409, /plate is under way: shaker-1 works on it/)
  const { position } = await piece('plate')
  t.equal(position, 'shaker_in')
})

test('labware that is yet to come is nowhere, and cannot be said to be anywhere', async (t) => {
  const run = await beginRun(t, { workflow: byHand })
  await run.thread('plate', 'AWAITING_MANUAL_PLACE')
  const { labware } = await run.get<{ labware: Whereabouts[] }>('/api/labware')
  t.match(labware, [{ name: 'plate', position: null }])
  const reply = await run.ask('PUT', `/api/labware/${labware[0]!.labware_id}/location`, { position: 'pad_3' })
  isRefusal(t, reply, 409, 'conflict')
  t.match(reply.body, { detail: /plate is not on the bench: thread plate is AWAITING_MANUAL_PLACE/ })
})

test('labware under a call that takes too long is not moved on paper', async (t) => {
  const slow = plateRun([{ method: 'shake_it' }], { methods: { shake_it: [{ ...shake, with: { speed: 500, duration: 200 } }] } })
  const run = await beginRun(t, { workflow: slow, time_scale: 0.8 })
  await run.thread('plate', 'PAUSED')
  const { labware } = await run.get<{ labware: Whereabouts[] }>('/api/labware')
  const reply = await run.ask('PUT', `/api/labware/${labware[0]!.labware_id}/location`, { position: 'pad_3' })
  isRefusal(t, reply, 409, 'conflict')
  t.match(reply.body, { detail: /shaker-1 may still work on it/ })
})

test('labware that a thread left in a gripper is said to be elsewhere by hand before the arm is used again', async (t) => {
  const other = {
    labware: 'plate',
    start: { at: 'pad_2', mode: 'REUSE_EXISTING' },
    end: { at: ['pad_2'], mode: 'LEAVE_IN_PLACE' },
    steps: [{ method: 'shake_it' }],
  }
  const { threads, ...rest } = plateRun([{ method: 'shake_it' }])
  const run = await beginRun(t, { workflow: { ...rest, threads }, besides: { ...rest, name: 'besides', threads: { plate: other } } })
  await run.until('placing', async () => (await run.snapshot()).moves.some(({ status }) => status === 'PLACING'), 100)
  await run.breaks('arm-1', 'jam')
  const first: ShownThread = await run.thread('plate', 'PAUSED')
  await run.recover(first.thread_id, 'ABORT_THREAD')
  t.equal(await run.over(), 'COMPLETED')
  await run.mends('arm-1')
  const left = (await run.get<{ labware: Whereabouts[] }>('/api/labware')).labware
  t.match(left, [{ name: 'plate', held_by: 'arm-1', thread_id: null }])
  const { execution_id } = await run.post<{ execution_id: string }>('/api/submissions', { workflow: 'besides', run_mode: 'LIVE' })
  const next = run.of(execution_id)
  await next.thread('plate', 'PAUSED')
  const why = JSON.stringify(await next.blockers())
  t.match(why, /shaker_in is kept for plate, which is at pad_1 or held by arm-1 or at shaker_in; look, and say where it is/)
  t.equal((await run.ask('PUT', `/api/labware/${left[0]!.labware_id}/location`, { position: 'pad_1' })).status, 200)
  await next.post(`/api/executions/${next.execution_id}/resume`)
  t.equal(await next.over(), 'COMPLETED')
})

test('an arm that lost its power while it placed gets no place again; the plate is put somewhere, and the run goes on from there', async (t) => {
  const before = await beginRun(t, { workflow: plateRun([{ method: 'shake_it' }]) })
  await before.until('placing', async () => (await before.snapshot()).moves.some(({ status }) => status === 'PLACING'), 100)
  await before.until('the gripper on the card', async () => before.isOnTheCard('"held_by":"arm-1"'), 100)
  const run = await before.afterPowerCut()
  await run.thread('plate', 'PAUSED')
  t.equal((await run.ask('POST', `/api/executions/${run.execution_id}/resume`)).status, 409)
  const blocker = (await run.blockers()).find(({ thread_id }) => thread_id !== null)
  t.match(blocker, { kind: 'paused', remedy: /^say where plate is \(PUT \/api\/labware\// })
  await run.carries('plate', 'pad_1')
  await run.post(`/api/executions/${run.execution_id}/resume`)
  t.equal(await run.over(), 'COMPLETED')
  t.match(await run.snapshot(), { threads: [{ position: 'pad_1', held_by: null }] })
})

test('a thread that an operator pauses says so, and one that a stop holds says when that is over', async (t) => {
  const run = await beginRun(t, { workflow: plateRun([{ method: 'shake_it' }, { wait_for: 'go' }]) })
  await run.does('shaker-1', 'shake')
  await run.post('/api/devices/shaker-1/stop')
  const held = await run.heldAgain('plate', 'DEVICE_OP')
  t.match(held.waiting!.what, /shaker-1 was stopped/)
  t.notMatch(held.waiting!.what, /initialized since/)
  await run.post('/api/devices/shaker-1/initialize')
  const over = /shaker-1 was stopped.*, and shaker-1 was initialized since; possible decisions: /
  t.match((await run.thread('plate', 'PAUSED')).waiting!.what, over)
  t.match(await run.blockers(), [{ kind: 'error', message: over }])
  await run.recover(held.thread_id, 'CONTINUE')
  await run.thread('plate', 'AWAITING_EVENT')
  await run.post(`/api/threads/${held.thread_id}/pause`)
  t.match(await run.thread('plate', 'PAUSED'), { pause_reason: 'manual', last_error: 'an operator paused it' })
  t.match((await run.named(`THREAD.${held.thread_id}.PAUSED`)).at(-1)?.context, { last_error: 'an operator paused it' })
  await run.post(`/api/threads/${held.thread_id}/resume`)
  t.match(await run.thread('plate', 'AWAITING_EVENT'), { last_error: null })
  await run.post(`/api/threads/${held.thread_id}/pause`)
  await run.thread('plate', 'PAUSED')
  await run.post(`/api/threads/${held.thread_id}/stop`)
  await run.over()
  t.match(await run.snapshot(), { threads: [{ last_error: null }] })
})
