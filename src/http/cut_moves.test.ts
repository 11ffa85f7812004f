// Moves that are cut off between the pick and the place: nobody knows where the labware is until a person has said it.

import { test } from 'tap'
import { threadRows } from '../cli/runs/shown.ts'
import { beginRun, plateRun } from './run_testing.ts'
import { isRefusal } from './testing.ts'

type Run = Awaited<ReturnType<typeof beginRun>>

const isIn = (run: Run, step: string) =>
  run.until(step, async () => (await run.snapshot()).moves.some(({ status }) => status === step), 100)

async function stop(run: Run): Promise<void> {
  await run.post(`/api/executions/${run.execution_id}/stop`)
  await run.post(`/api/executions/${run.execution_id}/stop`, { confirm: true })
  await run.over()
}

const cases = [
  { step: 'PICKING', place: 'at pad_1 or in the gripper of arm-1', kept: ['pad_1'] },
  { step: 'PLACING', place: 'at pad_1 or in the gripper of arm-1 or at shaker_in', kept: ['pad_1', 'shaker_in'] },
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
    t.match(incidents, [{ message: new RegExp(`it is ${place}; look, and say where it is .benchd labware put`) }])
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

test('after a power cut while it is picked up nothing moves before somebody has said where the labware is', async (t) => {
  const before = await beginRun(t, { workflow: plateRun([{ method: 'shake_it' }]) })
  await isIn(before, 'PICKING')
  await before.until('it on the card', async () => before.isOnTheCard('"picking":true'), 100)
  const run = await before.afterPowerCut()
  const { thread_id } = await run.thread('plate', 'PAUSED')
  const place = 'at pad_1 or in the gripper of arm-1'
  t.match(await run.labware(), [{ position: 'pad_1', held_by: 'arm-1', place }])
  await run.post(`/api/executions/${run.execution_id}/resume`)
  t.match(await run.heldAgain('plate', 'MOVE'), { last_error: /while arm-1 picked plate up; look, and say where it is/ })
  t.match(await run.incidents(), [{ category: 'LEDGER_CONTRADICTED', message: new RegExp(place) }])
  t.match((await run.recover(thread_id, 'RETRY')).body, { detail: /nobody has said where plate is/ })
  await run.carries('plate', 'pad_1')
  await run.recover(thread_id, 'RETRY')
  t.equal(await run.over(), 'COMPLETED')
})
