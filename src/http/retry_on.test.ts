// RETRY with `on`: an action that an error holds is done at another device of its pool.

import { type Test, test } from 'tap'
import { isRefusal } from '../testing/http.ts'
import { beginRun, plateRun } from '../testing/http_runs.ts'

const shake = { do: 'shake', on: 'shakers', with: { speed: 500, duration: 60 } }
const two = plateRun([{ method: 'shake_it' }], { methods: { shake_it: [shake] } })
const cups = plateRun([{ method: 'shake_it' }], {
  labware: { plate: { type: '96-well' }, cup: { type: '96-well' } },
  methods: { shake_it: [shake] },
  threads: {
    plate: { labware: 'plate', start: { at: 'pad_1', mode: 'REUSE_EXISTING' }, end: { at: ['pad_1'] }, steps: [{ method: 'shake_it' }] },
    cup: { labware: 'cup', start: { at: 'pad_2', mode: 'REUSE_EXISTING' }, end: { at: ['pad_2'] }, steps: [{ method: 'shake_it' }] },
  },
  start: ['plate', 'cup'],
})

const begin = (t: Test, workflow: object = two) => beginRun(t, { workflow, has_second_shaker: true })
type Run = Awaited<ReturnType<typeof begin>>

/** The shake at shaker-1 is held by its failure. */
async function held(run: Run): Promise<string> {
  await run.does('shaker-1', 'shake')
  await run.breaks('shaker-1', 'jam')
  return (await run.heldAgain('plate', 'DEVICE_OP')).thread_id
}

const devicesOf = async (run: Run) => {
  const { rows } = await run.get<{ rows: { kind: string; device: string; status: string }[] }>(
    `/api/executions/${run.execution_id}/timeline`,
  )
  return rows.filter(({ kind }) => kind === 'action').map(({ device, status }) => `${device} ${status}`)
}

test('an action that failed is done again at the other device of its pool, and all who look are told', async (t) => {
  const run = await begin(t)
  const thread_id = await held(run)
  const [shown] = (await run.snapshot()).threads
  t.same(shown!.retry_on, ['shaker-2'])
  t.match((await run.blockers()).find(({ kind }) => kind === 'error')!.remedy, /or have it done at shaker-2: RETRY with "on"/)
  const [failed] = await run.incidents()
  t.same(failed!.detail.retry_on, ['shaker-2'])
  const answer = await run.recover(thread_id, 'RETRY', 'shaker-2')
  t.match(answer, { status: 200, body: { message: 'the decision about plate is RETRY at shaker-2' } })
  t.match(await run.heldAgain('plate', 'MOVE'), { last_error: /shaker-1 has a fault.*initialize/ }, 'it lets no arm fetch the plate')
  await run.mends('shaker-1')
  await run.recover(thread_id, 'RETRY')
  await run.does('shaker-2', 'shake')
  t.match(await run.labware(), [{ position: 'shaker_2_in', held_by: null }])
  t.equal(await run.over(), 'COMPLETED')
  t.same(await devicesOf(run), ['shaker-1 ERRORED', 'shaker-2 COMPLETED'])
  const told = (await run.incidents()).find(({ category }) => category === 'ACTION_REDIRECTED')!
  t.match(told, { severity: 'INFO', message: 'an operator has shake of plate done at shaker-2 instead of shaker-1' })
  t.equal((await run.events()).filter(({ event_name }) => event_name.endsWith('.ACTION_REDIRECTED')).length, 1)
})

test('a device that does not do the action, or cannot be had, is refused, with what to do', async (t) => {
  const run = await begin(t)
  const thread_id = await held(run)
  const refused = async (on: string, status: number, code: string, why: RegExp, decision = 'RETRY') => {
    const reply = await run.recover(thread_id, decision, on)
    isRefusal(t, reply, status, code)
    t.match(reply.text, why)
  }
  await refused('shaker-3', 404, 'not_found', /there is no device shaker-3.*shake can be done at shaker-1 or shaker-2/)
  await refused('sealer-1', 400, 'invalid', /sealer-1, which is not in its pool; shake can be done at shaker-1 or shaker-2/)
  await refused('shaker-2', 400, 'invalid', /leave ..on.. out, or decide RETRY/, 'CONTINUE')
  await run.post('/api/devices/shaker-2/initialize')
  await run.post('/api/devices/shaker-2/lock_plate')
  const shaking = run.ask('POST', '/api/devices/shaker-2/shake', { speed: 500, duration: 20 })
  await run.does('shaker-2', 'shake')
  await refused('shaker-2', 409, 'busy', /shaker-2 is running shake, about \d+ s left; wait for that, or stop it/)
  await run.post('/api/devices/shaker-2/stop')
  await run.bench.clock.run(shaking)
  await refused('shaker-2', 409, 'stopped', /shaker-2 was stopped.*initialize/)
  await run.post('/api/devices/shaker-2/initialize')
  const lease = '/api/devices/shaker-2/lock'
  t.equal((await run.ask('PUT', lease, { owner: 'Anna', ttl_s: 600 })).status, 200)
  await refused('shaker-2', 423, 'locked', /shaker-2 is leased by Anna/)
  t.equal((await run.ask('DELETE', lease)).status, 200)
  t.match((await run.snapshot()).threads[0], { status: 'PAUSED', decisions: Array })
})

test('a device that another thread holds, or where labware stands, is refused', async (t) => {
  const run = await begin(t, cups)
  await run.does('shaker-2', 'shake')
  const thread_id = await held(run)
  const reply = await run.recover(thread_id, 'RETRY', 'shaker-2')
  isRefusal(t, reply, 409, 'conflict')
  t.match(reply.text, /shaker-2 is not available now: .*cup.*; wait until it is free, or RETRY without/)
})

test('what is no action is not done at another device', async (t) => {
  const run = await begin(t, plateRun([{ wait_for: 'go', timeout: 5 }]))
  const { thread_id } = await run.thread('plate', 'PAUSED')
  const reply = await run.recover(thread_id, 'RETRY', 'shaker-2')
  isRefusal(t, reply, 409, 'conflict')
  t.match(reply.text, /plate is not held by an action.*RETRY, ABORT_THREAD/)
})

test('a device that cannot take the labware is left for another, unless the labware may be in a gripper', async (t) => {
  const run = await begin(t)
  await run.does('arm-1', 'pick')
  await run.breaks('arm-1', 'jam')
  const { thread_id } = await run.heldAgain('plate', 'MOVE')
  await run.mends('arm-1')
  t.equal((await run.recover(thread_id, 'RETRY', 'shaker-2')).status, 200)
  await run.does('arm-1', 'place')
  await run.breaks('arm-1', 'jam')
  await run.heldAgain('plate', 'MOVE')
  await run.mends('arm-1')
  const reply = await run.recover(thread_id, 'RETRY', 'shaker-1')
  isRefusal(t, reply, 409, 'conflict')
  t.match(reply.text, /plate may be held by arm-1: take it out, say where it is \(PUT \/api\/labware\//)
  await run.carries('plate', 'pad_2')
  t.equal((await run.recover(thread_id, 'RETRY', 'shaker-1')).status, 200)
  t.equal(await run.over(), 'COMPLETED')
  t.same(await devicesOf(run), ['shaker-1 ERRORED', 'shaker-2 ERRORED', 'shaker-1 COMPLETED'])
})

test('the choice outlasts the service, and one can choose after a restart too', async (t) => {
  const run = await begin(t)
  const held_id = await held(run)
  await run.carries('plate', 'pad_2')
  await run.recover(held_id, 'RETRY', 'shaker-2')
  await run.does('shaker-2', 'shake')
  await run.until('the choice on the card', async () => run.isOnTheCard('"retry_on":{'), 100)
  const again = await run.afterPowerCut()
  await again.thread('plate', 'PAUSED')
  await again.post(`/api/executions/${run.execution_id}/resume`)
  await again.does('shaker-2', 'shake')
  const third = await again.afterPowerCut()
  const { thread_id } = await third.thread('plate', 'PAUSED')
  t.match((await third.recover(thread_id, 'RETRY', 'shaker-1')).text, /shaker-1 has a fault.*initialize/)
  await third.mends('shaker-1')
  const chosen = await third.recover(thread_id, 'RETRY', 'shaker-1')
  t.match(chosen.text, /the decision about plate is RETRY at shaker-1/)
  await third.post(`/api/executions/${run.execution_id}/resume`)
  await third.does('shaker-1', 'shake')
  t.equal(await third.over(), 'COMPLETED')
})
