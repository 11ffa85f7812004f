// A device call that takes too long, as an operator deals with it over the API: on a shaker whose own time goes too slowly.

import { type Test, test } from 'tap'
import { isRefusal } from '../testing/http.ts'
import { beginRun, ended, plateRun, type Scripted, seal, shake } from '../testing/http_runs.ts'
import type { ShownThread } from '../workflow/snapshot.ts'

/** Takes 250 s, and has 200 s and the margin of 30 s. */
const methods = { shake_it: [{ ...shake, with: { speed: 500, duration: 200 } }], seal_it: [seal] }
const workflow = plateRun([{ method: 'shake_it' }, { method: 'seal_it' }], { methods })

type Late = { run: Scripted; thread: ShownThread; path: string }

async function late(t: Test, run_mode: 'LIVE' | 'DEVICE_SIM' = 'LIVE'): Promise<Late> {
  const run = await beginRun(t, { workflow, run_mode, time_scale: 0.8 })
  const thread = await run.thread('plate', 'PAUSED')
  return { run, thread, path: await pathOf(run) }
}

async function pathOf(run: Scripted): Promise<string> {
  const incident = (await run.incidents()).at(-1)!
  if (incident.category !== 'RECOVERABLE_TIMEOUT') throw new Error(`the last incident is ${incident.category}`)
  return `/api/incidents/${incident.incident_id}`
}

const shaker = (run: Scripted) => run.get('/api/devices/shaker-1')

test('a late call goes on while somebody is asked about it', async (t) => {
  const { run, path } = await late(t)
  t.match(await shaker(run), { state: 'busy', fault: null, operation: { name: 'shake' } })
  t.match(await run.get(path), {
    severity: 'ERROR',
    message: /has not ended within 230 s, and goes on; extend it, abort it, or say that it is complete/,
    detail: { device: 'shaker-1', operation: 'shake', thread: 'plate', allowed_s: 230 },
  })
})

test('extended, it ends within the time that it was given, and nobody is asked again', async (t) => {
  const { run, path } = await late(t)
  t.match(await run.post(`${path}/extend`, { seconds: 60 }), { message: 'shake of shaker-1 for plate has 60 s more' })
  t.equal((await run.thread('plate', 'EXECUTING_ACTION')).last_error, null)
  t.equal(await run.over(), 'COMPLETED')
  t.equal((await run.incidents()).length, 1)
  t.equal((await run.named('DEVICE.shaker-1.FAULTED')).length, 0)
})

test('extended by too little, it is late once more, under another incident', async (t) => {
  const { run, path } = await late(t)
  await run.post(`${path}/extend`, { seconds: 5 })
  await run.until('the second incident', async () => (await run.incidents()).length === 2)
  const second = await pathOf(run)
  isRefusal(t, await run.ask('POST', `${path}/complete`), 409, 'conflict')
  t.match(await run.get(second), { message: /within 235 s/ })
  await run.post(`${second}/extend`, { seconds: 60 })
  t.equal(await run.over(), 'COMPLETED')
})

test('aborted, the call has failed and the device is stopped until it is initialized; a decision before that is asked for again', async (t) => {
  const { run, thread, path } = await late(t)
  t.match(await run.post(`${path}/abort`), {
    message: 'shake of shaker-1 for plate is cut off; initialize the device, then recover the thread',
  })
  t.match(await run.heldAgain('plate', 'DEVICE_OP'), {
    last_error: /shake of shaker-1 for plate was cut off: it had not ended within 230 s/,
  })
  t.match(await shaker(run), { state: 'stopped', fault: { error_type: 'Stopped', outcome: 'unknown', command: 'shake' }, lock: null })
  t.match(await run.blockers(), [
    { kind: 'device_fault', remedy: 'see that it is safe, then initialize shaker-1' },
    { kind: 'error', thread_name: 'plate' },
  ])
  t.equal((await run.named('DEVICE_OP.shake.FAILED')).length, 1)
  await run.recover(thread.thread_id, 'RETRY_OP')
  await run.until('the second failure', async () => (await run.named('DEVICE_OP.shake.FAILED')).length === 2)
  t.match(await run.heldAgain('plate', 'DEVICE_OP'), {
    last_error: 'shaker-1 was stopped; see that it is safe, then POST /api/devices/shaker-1/initialize',
  })
  await run.post('/api/devices/shaker-1/initialize')
  await run.recover(thread.thread_id, 'ABORT_METHOD')
  t.equal(await run.over(), 'COMPLETED')
  t.match(ended(await run.events()), ['ACTION shake ERRORED', 'METHOD shake_it PARTIAL_COMPLETE', 'ACTION seal COMPLETED'])
  t.equal((await run.named('DEVICE.shaker-1.FAULTED')).length, 1)
})

test('completed, the action is done; the plate is fetched when the device is initialized', async (t) => {
  const { run, thread, path } = await late(t)
  t.match(await run.post(`${path}/complete`), { message: /counts as done, and is cut off; initialize the device before it is used again/ })
  t.match(await run.heldAgain('plate', 'MOVE'), { last_error: /shaker-1 was stopped; .*initialize/ })
  t.match(await run.blockers(), [{ kind: 'device_fault', device_id: 'shaker-1' }, { kind: 'error' }])
  t.equal((await run.named('DEVICE_OP.shake.FAILED')).length, 0)
  t.match(
    (await run.incidents()).map(({ category }) => category),
    ['RECOVERABLE_TIMEOUT', 'ACTION_CONTINUED', 'MOVE_FAILED'],
  )
  await run.post('/api/devices/shaker-1/initialize')
  await run.recover(thread.thread_id, 'RETRY')
  t.equal(await run.over(), 'COMPLETED')
  t.match(ended(await run.events()), ['ACTION shake COMPLETED', 'METHOD shake_it COMPLETED', 'ACTION seal COMPLETED'])
})

test('in a rehearsal what was completed goes on by itself', async (t) => {
  const { run, path } = await late(t, 'DEVICE_SIM')
  await run.post(`${path}/complete`)
  t.equal(await run.over(), 'COMPLETED')
})

test('one that ends by itself while it is asked about goes on, says so, and takes no decision any more', async (t) => {
  const { run, path } = await late(t)
  t.equal(await run.over(), 'COMPLETED')
  t.match((await run.incidents()).at(-1), { category: 'RECOVERABLE_TIMEOUT', severity: 'INFO', message: /has ended after all/ })
  for (const [verb, json] of [['extend', { seconds: 5 }], ['abort'], ['complete']] as const) {
    const reply = await run.ask('POST', `${path}/${verb}`, json)
    isRefusal(t, reply, 409, 'conflict')
    t.match(reply.body, { detail: /somebody has decided, or it has ended/ })
  }
})

test('of those who decide at once exactly one is heard', async (t) => {
  const { run, thread, path } = await late(t)
  const asked = [run.ask('POST', `${path}/complete`), run.ask('POST', `${path}/abort`), run.recover(thread.thread_id, 'ABORT_THREAD')]
  const statuses = (await Promise.all(asked)).map(({ status }) => status)
  t.same(statuses.sort(), [200, 409, 409])
})
