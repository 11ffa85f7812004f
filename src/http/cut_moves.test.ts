// Moves that are cut off between the pick and the place: nobody knows where the labware is until a person has said it.

import { type Test, test } from 'tap'
import { threadRows } from '../cli/runs/shown.ts'
import { isRefusal } from '../testing/http.ts'
import { beginRun, plateRun } from '../testing/http_runs.ts'

type Run = Awaited<ReturnType<typeof beginRun>>

const isIn = (run: Run, step: string) =>
  run.until(step, async () => (await run.snapshot()).moves.some(({ status }) => status === step), 100)

async function stop(run: Run): Promise<void> {
  await run.post(`/api/executions/${run.execution_id}/stop`)
  await run.post(`/api/executions/${run.execution_id}/stop`, { confirm: true })
  await run.over()
}

/** The state of the run's only thread. */
const threadOnTheCard = async (run: Run) => {
  const threads = [...(await run.state())].filter(([key]) => /^(thread|progress) /.test(key))
  return JSON.stringify(threads)
}

const cases = [
  { step: 'PICKING', place: 'at pad_1 or held by arm-1', kept: ['pad_1'] },
  { step: 'PLACING', place: 'at pad_1 or held by arm-1 or at shaker_in', kept: ['pad_1', 'shaker_in'] },
]

for (const { step, place, kept } of cases) {
  test(`after a stop at ${step} the labware is ${place}, and each place is kept until somebody says where it is`, async (t) => {
    const run = await beginRun(t, { workflow: plateRun([{ method: 'shake_it' }]) })
    await isIn(run, step)
    await stop(run)
    const [left] = await run.labware()
    t.match(left, { position: 'pad_1', held_by: 'arm-1', place })
    t.match(threadRows(await run.snapshot())[0]![3], 'pad_1 or in arm-1')
    const incidents = (await run.incidents()).filter(({ category }) => category === 'LEDGER_CONTRADICTED')
    t.match(incidents, [{ message: new RegExp(`it is ${place}; look, and say where it is .PUT /api/labware/`) }])
    await run.post(`/api/incidents/${incidents[0]!.incident_id}/acknowledge`, {})
    const takenNow = async () =>
      (await run.get<{ positions: { name: string; labware: object | null; reserved_for: string | null }[] }>('/api/topology')).positions
        .filter(({ labware, reserved_for }) => labware !== null || reserved_for !== null)
        .map(({ name }) => name)
    t.same(await takenNow(), kept)
    isRefusal(t, await run.ask('POST', '/api/submissions', { workflow: 'work', run_mode: 'LIVE' }), 409, 'conflict')

    const again = await run.afterPowerCut()
    t.match(await again.labware(), [{ position: 'pad_1', held_by: 'arm-1', place }], 'the next start knows it too')
    const put = await again.ask('PUT', `/api/labware/${left!.labware_id}/location`, { position: kept.at(-1)! })
    t.equal(put.status, 200)
    t.match(await again.labware(), [{ position: kept.at(-1)!, held_by: null, place: `at ${kept.at(-1)}` }])
  })
}

test('labware that a run left where its move was cut off is named with the command that clears it, also by the answer to a submission', async (t) => {
  const other = {
    labware: 'other',
    start: { at: 'pad_2' },
    end: { at: ['pad_1'], mode: 'LEAVE_IN_PLACE' },
    steps: [{ method: 'shake_it' }],
  }
  const besides = plateRun([], { name: 'besides', labware: { other: { type: '96-well' } }, threads: { other }, start: ['other'] })
  const run = await beginRun(t, { workflow: plateRun([{ method: 'shake_it' }]), besides })
  await isIn(run, 'PLACING')
  const [moving] = await run.labware()
  t.match(moving, { left_by: null, remedy: null })
  await stop(run)
  const { labware_id } = moving!
  const look = `look, and say where it is: PUT /api/labware/${labware_id}/location`
  t.match(await run.labware(), [{ left_by: run.execution_id, remedy: look }])
  const { in_the_way } = await run.post<{ in_the_way: object[] }>('/api/submissions', { workflow: 'besides', run_mode: 'LIVE' })
  const where = 'which is at pad_1 or held by arm-1 or at shaker_in'
  t.match(in_the_way, [
    { position: 'shaker_in', labware_id, execution_id: run.execution_id, message: `shaker_in is kept for plate, ${where}; ${look}` },
    { position: 'pad_1', labware_id, execution_id: run.execution_id, message: `pad_1 is kept for plate, ${where}; ${look}` },
  ])
  await run.carries('plate', 'pad_1')
  const take = `take it away, and say so: PUT /api/labware/${labware_id}/location {"position": null}`
  const left = (await run.labware()).filter(({ name }) => name === 'plate')
  t.match(left, [{ left_by: run.execution_id, remedy: take }])
})

const onTheCard = {
  PICKING: '"status":"PICKING"',
  PLACING: '"is_placing":true',
}

for (const { step, place, kept } of cases) {
  test(`after a power cut at ${step} the run is not resumed before somebody has said where the labware is, and one sentence says so`, async (t) => {
    const before = await beginRun(t, { workflow: plateRun([{ method: 'shake_it' }]) })
    await isIn(before, step)
    await before.until('it on the card', async () => before.isOnTheCard(onTheCard[step as keyof typeof onTheCard]), 100)
    const run = await before.afterPowerCut()
    const { thread_id } = await run.thread('plate', 'PAUSED')
    const [plate] = await run.labware()
    const sentence =
      `the service ended while arm-1 moved plate: it is ${place}; look, and say where it is ` +
      `(PUT /api/labware/${plate!.labware_id}/location, once it is in no gripper), before the run is resumed`
    t.match(plate, { position: 'pad_1', held_by: 'arm-1', place, remedy: sentence })
    t.match(threadRows(await run.snapshot())[0]![3], 'pad_1 or in arm-1')
    const incidents = await run.incidents()
    t.match(incidents, [{ category: 'LEDGER_CONTRADICTED', message: sentence }], 'as soon as the service is up')
    const [blocker] = await run.blockers()
    t.match(blocker, { message: sentence, remedy: /^say where plate is .PUT \/api\/labware\/[0-9a-f-]+\/location.; then resume the run$/ })
    const refuses = async (path: string, body?: object) => {
      const reply = await run.ask('POST', path, body)
      isRefusal(t, reply, 409, 'conflict')
      t.match(reply.body, { detail: sentence }, path)
    }
    await refuses(`/api/executions/${run.execution_id}/resume`)
    await refuses(`/api/threads/${thread_id}/resume`)
    await run.mends('arm-1')
    await refuses(`/api/executions/${run.execution_id}/resume`)
    for (const decision of ['RETRY', 'CONTINUE', 'ABORT_ACTION', 'ABORT_METHOD'])
      await refuses(`/api/threads/${thread_id}/recover`, { decision })
    t.match(await run.labware(), [{ place }], 'nothing has moved')
    await run.carries('plate', kept.at(-1)!)
    t.match(await run.labware(), [{ place: `at ${kept.at(-1)}`, remedy: null }])
    t.notMatch((await run.snapshot()).threads[0]!.waiting!.what, 'the service ended')
    await run.post(`/api/executions/${run.execution_id}/resume`)
    t.equal(await run.over(), 'COMPLETED')
  })

  test(`after a power cut at ${step} the thread can be ended before anybody has said where its labware is`, async (t) => {
    const before = await beginRun(t, { workflow: plateRun([{ method: 'shake_it' }]) })
    await isIn(before, step)
    await before.until('it on the card', async () => before.isOnTheCard(onTheCard[step as keyof typeof onTheCard]), 100)
    const run = await before.afterPowerCut()
    const { thread_id } = await run.thread('plate', 'PAUSED')
    t.equal((await run.recover(thread_id, 'ABORT_THREAD')).status, 200)
    await run.over()
    t.match(await run.labware(), [{ held_by: 'arm-1', place }])
  })

  test(`a power cut at ${step} is reported once, however often the service starts before somebody looks`, async (t) => {
    const before = await beginRun(t, { workflow: plateRun([{ method: 'shake_it' }]) })
    await isIn(before, step)
    await before.until('it on the card', async () => (await threadOnTheCard(before)).includes(`"status":"${step}"`), 100)
    let run = await before.afterPowerCut()
    for (let start = 2; start <= 3; start++) {
      const restored = run
      await run.until('the run on the card anew', async () => (await threadOnTheCard(restored)).includes('"move":null'), 100)
      run = await run.afterPowerCut()
      const incidents = await run.incidents()
      t.equal(incidents.length, 1, `start ${start}`)
      t.match(incidents, [{ category: 'LEDGER_CONTRADICTED', message: new RegExp(`it is ${place}; look`) }])
      t.match(await run.labware(), [{ position: 'pad_1', held_by: 'arm-1', place }], `start ${start}`)
      isRefusal(t, await run.ask('POST', `/api/executions/${run.execution_id}/resume`), 409, 'conflict')
    }
  })
}

test('labware whose place failed before a power cut may stand where it was being put down', async (t) => {
  const before = await beginRun(t, { workflow: plateRun([{ method: 'shake_it' }]) })
  await before.does('arm-1', 'place')
  await before.breaks('arm-1', 'jam')
  await before.heldAgain('plate', 'MOVE')
  await before.until('the failed move on the card', async () => (await threadOnTheCard(before)).includes('"status":"ERRORED"'), 100)
  const run = await before.afterPowerCut()
  await run.thread('plate', 'PAUSED')
  t.match(await run.labware(), [{ held_by: 'arm-1', place: 'at pad_1 or held by arm-1 or at shaker_in' }])
  isRefusal(t, await run.ask('POST', `/api/executions/${run.execution_id}/resume`), 409, 'conflict')
})

test('a topology that is unloaded by force while labware is picked up leaves it where it may be', async (t) => {
  const run = await beginRun(t, { workflow: plateRun([{ method: 'shake_it' }]) })
  await isIn(run, 'PICKING')
  await run.post('/api/topology/unload', { force: true })
  await run.over()
  const place = 'at pad_1 or held by arm-1'
  t.match(await run.incidents(), [{ category: 'LEDGER_CONTRADICTED', message: new RegExp(`it is ${place}; look`) }])
  t.match(await run.labware(), [{ position: 'pad_1', held_by: 'arm-1', place }], 'while none is loaded')
  await run.post('/api/topology/load', { name: 'island' })
  t.match(await run.labware(), [{ position: 'pad_1', held_by: 'arm-1', place }])
  isRefusal(t, await run.ask('POST', '/api/submissions', { workflow: 'work', run_mode: 'LIVE' }), 409, 'conflict')
  await run.carries('plate', 'pad_2')
  t.match(await run.labware(), [{ position: 'pad_2', held_by: null, place: 'at pad_2' }])
})

test('what stands on a topology that is unloaded is kept whatever else happens in that moment', async (t) => {
  const run = await beginRun(t, { workflow: plateRun([{ method: 'shake_it' }]) })
  await isIn(run, 'PICKING')
  const { catalog } = run.bench.bench.runs
  await run.bench.clock.run(Promise.all([catalog.unload({ force: true }), catalog.runtime.standing.persisted()]))
  await run.over()
  t.match(await run.labware(), [{ position: 'pad_1', held_by: 'arm-1' }])
  await run.bench.clock.run(catalog.load('island'))
  await run.bench.clock.run(Promise.all([catalog.unload(), catalog.load('island')]))
  t.match(await run.labware(), [{ position: 'pad_1', held_by: 'arm-1' }])
})

/** The pick of the plate fails in the midst of it. */
async function failedPick(t: Test): Promise<{ run: Run; thread_id: string }> {
  const run = await beginRun(t, { workflow: plateRun([{ method: 'shake_it' }]) })
  await run.does('arm-1', 'pick')
  await run.breaks('arm-1', 'jam')
  return { run, thread_id: (await run.heldAgain('plate', 'MOVE')).thread_id }
}

test('labware whose pick failed is where it stood or in the gripper when its thread is given up', async (t) => {
  const { run, thread_id } = await failedPick(t)
  const place = 'at pad_1 or held by arm-1'
  t.match(await run.labware(), [{ position: 'pad_1', held_by: null, place }], 'while its thread is held')
  t.ok((await run.incidents()).some(({ category, message }) => category === 'MOVE_FAILED' && message.endsWith(`it is ${place}`)))
  await run.recover(thread_id, 'ABORT_THREAD')
  await run.over()
  const [left] = await run.labware()
  t.match(left, { position: 'pad_1', held_by: 'arm-1', place })
  t.ok((await run.incidents()).some(({ category, message }) => category === 'LEDGER_CONTRADICTED' && message.includes(place)))
  isRefusal(t, await run.ask('POST', '/api/submissions', { workflow: 'work', run_mode: 'LIVE' }), 409, 'conflict')
  await run.carries('plate', 'pad_1')
  t.match(await run.labware(), [{ position: 'pad_1', held_by: null, place: 'at pad_1' }])
})

test('labware that an arm was picking when somebody stopped the arm is where it stood or in the gripper', async (t) => {
  const run = await beginRun(t, { workflow: plateRun([{ method: 'shake_it' }]) })
  await run.does('arm-1', 'pick')
  await run.post('/api/devices/arm-1/stop')
  const { thread_id } = await run.heldAgain('plate', 'MOVE')
  const place = 'at pad_1 or held by arm-1'
  t.match(await run.labware(), [{ position: 'pad_1', held_by: null, place }])
  t.ok(
    (await run.incidents()).some(({ message }) => message.includes('arm-1 was stopped during pick') && message.endsWith(`it is ${place}`)),
  )
  await run.recover(thread_id, 'ABORT_THREAD')
  await run.over()
  t.match(await run.labware(), [{ position: 'pad_1', held_by: 'arm-1', place }])
})

for (const [verb, place] of [
  ['pick', 'at pad_1 or held by arm-1'],
  ['place', 'at pad_1 or held by arm-1 or at shaker_in'],
] as const)
  test(`after a ${verb} that failed, a RETRY that is refused before anything moves does not settle where the labware is`, async (t) => {
    const run = await beginRun(t, { workflow: plateRun([{ method: 'shake_it' }]) })
    await run.does('arm-1', verb)
    await run.breaks('arm-1', 'jam')
    const { thread_id } = await run.heldAgain('plate', 'MOVE')
    t.match(await run.labware(), [{ place }])
    await run.recover(thread_id, 'RETRY')
    const refusals = async () => (await run.incidents()).filter(({ message }) => message.startsWith('plate was not brought'))
    await run.until('the second refusal', async () => (await refusals()).length === 2, 100)
    await run.heldAgain('plate', 'MOVE')
    t.match((await refusals()).map(({ message }) => message).join(), /arm-1 has a fault/)
    t.match(await run.labware(), [{ place }])
    await run.recover(thread_id, 'ABORT_THREAD')
    await run.over()
    t.match(await run.labware(), [{ held_by: 'arm-1', place }])
  })

test('labware about which somebody has said where it is since its pick failed is there', async (t) => {
  const { run, thread_id } = await failedPick(t)
  await run.carries('plate', 'pad_1')
  await run.recover(thread_id, 'ABORT_THREAD')
  await run.over()
  t.match(await run.labware(), [{ position: 'pad_1', held_by: null, place: 'at pad_1' }])
  t.notOk((await run.incidents()).some(({ category }) => category === 'LEDGER_CONTRADICTED'))
})

test('labware whose pick failed before a power cut is where it stood or in the gripper, until somebody says where it is', async (t) => {
  const { run: before } = await failedPick(t)
  await before.until('the failed move on the card', async () => (await threadOnTheCard(before)).includes('"status":"ERRORED"'), 100)
  const run = await before.afterPowerCut()
  const place = 'at pad_1 or held by arm-1'
  t.match(await run.labware(), [{ position: 'pad_1', held_by: 'arm-1', place }])
  await run.thread('plate', 'PAUSED')
  await run.mends('arm-1')
  isRefusal(t, await run.ask('POST', `/api/executions/${run.execution_id}/resume`), 409, 'conflict')
  await run.carries('plate', 'pad_1')
  await run.post(`/api/executions/${run.execution_id}/resume`)
  t.equal(await run.over(), 'COMPLETED')
})
