// Tasks of people who carry, over the API: each answer and each refusal, and what comes between: stops, leases, faults, a topology that is unloaded.

import { test } from 'tap'
import { isRefusal } from '../testing/http.ts'
import { carriedOn, carrying, maybe, pathOf, place, task, tasks } from '../testing/http_tasks.ts'

test('the run that ships is carried by a person alone, task after task', async (t) => {
  const { run, step } = await carrying(t)
  t.match(step, {
    instruction: 'Take plate (barcode P-17) from pad_1 to shaker_in',
    move: { transporter: 'hands', barcode: 'P-17', from: 'pad_1', to: 'shaker_in', is_again: false },
  })
  t.match(
    (await run.blockers()).map(({ message }) => message),
    /hands: Take plate/,
  )
  await carriedOn(t, run)
  t.equal((await run.named('OPERATOR.INSTRUCTION')).length, 3)
  await run.post('/api/sim/events', { event_name: 'CUSTOM.seen.EMITTED' })
})

test('each answer that cannot be is refused, and the task stays; an empty body says done', async (t) => {
  const { run, path } = await carrying(t, { confirm: 'twice' })
  const before = await tasks(run)
  for (const [body, status, code] of [
    [{ answer: 'maybe' }, 400, 'invalid'],
    [{ anwser: 'done' }, 400, 'invalid'],
    [{ answer: 'elsewhere' }, 400, 'invalid'],
    [{ answer: 'elsewhere', position: '' }, 400, 'invalid'],
    [{ answer: 'done', position: 'pad_2' }, 400, 'invalid'],
    [{ answer: 'done', reason: 'because' }, 400, 'invalid'],
    [{ answer: 'cannot', reason: 'x'.repeat(301) }, 400, 'invalid'],
    [{ barcode: '\r\n' }, 400, 'invalid'],
    [[], 400, 'invalid'],
    [{ answer: 'elsewhere', position: 'pad_9' }, 404, 'not_found'],
    [{ answer: 'done', barcode: 'P-18' }, 409, 'conflict'],
  ] as const) {
    isRefusal(t, await run.ask('POST', path, body), status, code)
    t.same(await tasks(run), before, JSON.stringify(body))
  }
  const { ask } = run.bench
  isRefusal(t, await ask('POST', path, { key: 'read' }), 403)
  isRefusal(t, await ask('POST', path, { key: null }), 401)
  isRefusal(t, await run.ask('POST', '/api/operator/steps/manual_step-none/confirm'), 404, 'not_found')
  t.same(await tasks(run), before)
  await run.post(path, { answer: 'taken' })
  isRefusal(t, await run.ask('POST', path, { answer: 'taken' }), 409, 'conflict')
  t.equal((await ask('POST', path, { key: 'operate' })).status, 200)
  isRefusal(t, await run.ask('POST', path), 404, 'not_found')
  t.equal(await place(run), 'at shaker_in')
  await carriedOn(t, run)
})

test('no GET answers a task, with whatever key and query', async (t) => {
  const { run, path } = await carrying(t)
  const before = await tasks(run)
  for (const method of ['GET', 'HEAD', 'OPTIONS', 'PUT', 'DELETE'])
    for (const address of [path, `${path}?answer=done`, path.replace('/confirm', ''), '/api/operator/steps', '/'])
      for (const key of ['admin', null] as const) await run.bench.ask(method, address, { key })
  t.same(await tasks(run), before)
  t.equal(await place(run), maybe)
  await carriedOn(t, run)
})

test('of three answers at once one is taken', async (t) => {
  const { run, path } = await carrying(t)
  const answers = [{ answer: 'done' }, { answer: 'elsewhere', position: 'pad_2' }, { answer: 'cannot' }]
  const replies = await Promise.all(answers.map((answer) => run.ask('POST', path, answer)))
  t.same(replies.map(({ status }) => status).sort(), [200, 404, 404])
  t.equal(await place(run), 'at shaker_in')
  await carriedOn(t, run)
})

test('STOP ALL withdraws the task, says that a person may still hold the labware, and nothing is asked before the person is initialized', async (t) => {
  const { run, path } = await carrying(t)
  const stopped = await run.ask('POST', '/api/stop')
  t.match(stopped.text, /hands: open tasks are withdrawn; a person may still hold labware/)
  t.same(await tasks(run), [])
  isRefusal(t, await run.ask('POST', path), 404, 'not_found')
  const { thread_id } = await run.heldAgain('plate', 'MOVE')
  t.equal(await place(run), maybe)
  await run.recover(thread_id, 'RETRY')
  const refused = async () => (await run.heldAgain('plate', 'MOVE')).last_error
  t.match(await run.until('the refusal', async () => /initialize/.test((await refused()) ?? '') && refused(), 100), /hands was stopped/)
  t.same(await tasks(run), [])
  for (const device of ['hands', 'shaker-1', 'sealer-1']) await run.post(`/api/devices/${device}/initialize`)
  await run.recover(thread_id, 'RETRY')
  t.match((await task(run)).instruction, /it may be there already$/)
  await carriedOn(t, run)
})

test('a person whom another key has leased is asked for nothing; while a task is open nobody else leases or moves what the person reaches', async (t) => {
  const { run } = await carrying(t)
  const { ask } = run.bench
  const lease = (device: string) => ask('PUT', `/api/devices/${device}/lock`, { key: 'operate', json: { owner: 'Anna', ttl_s: 600 } })
  for (const device of ['hands', 'shaker-1']) isRefusal(t, await lease(device), 423, 'locked')
  isRefusal(t, await ask('POST', '/api/devices/shaker-1/shake', { json: { speed: 500, duration: 5 } }), 423, 'locked')
  await run.post(pathOf(await task(run)), {})
  // The shaker is at work now, and the person has no task.
  const leased = await lease('hands')
  t.equal(leased.status, 200, leased.text)
  const { thread_id, last_error } = await run.heldAgain('plate', 'MOVE')
  t.match(last_error, /hands is leased by Anna/)
  t.same(await tasks(run), [])
  t.equal(await place(run), 'at shaker_in')
  await ask('DELETE', '/api/devices/hands/lock', { key: 'operate' })
  await run.recover(thread_id, 'RETRY')
  await carriedOn(t, run)
})

test('a fault of the device to which labware is carried leaves the task, and holds the run at the device', async (t) => {
  const { run, path } = await carrying(t)
  await run.breaks('shaker-1', 'no_reply')
  t.equal((await tasks(run)).length, 1)
  await run.post(path, {})
  t.equal(await place(run), 'at shaker_in')
  const { last_error } = await run.heldAgain('plate', 'DEVICE_OP')
  t.match(last_error, /shaker-1/)
  await run.mends('shaker-1')
})

test('a topology is not unloaded while a task is open, and by force it leaves the labware wherever it may be', async (t) => {
  const { run, path } = await carrying(t)
  isRefusal(t, await run.ask('POST', '/api/topology/unload'), 409, 'conflict')
  t.equal((await tasks(run)).length, 1)
  await run.post('/api/topology/unload', { force: true })
  await run.over()
  t.same(await tasks(run), [])
  isRefusal(t, await run.ask('POST', path), 404, 'not_found')
  t.equal(await place(run), maybe)
})
