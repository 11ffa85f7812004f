// Two arms that reach the same positions. A hop takes 12 s.

import { test } from 'tap'
import { severalArms, standing, workflowOf } from '../../../testing/documents.ts'
import { graphOn } from '../../../testing/scheduler.ts'
import { begin, run, testRuntime, threadIn, until } from '../../../testing/workflow.ts'
import type { Equipment } from '../../equipment/equipment.ts'
import type { Execution } from '../../runs/execution.ts'
import type { LabwareThread } from '../thread.ts'
import { alikeOf, takeFreeArm } from './free_arm.ts'

const devices = ['d1', 'd2', 'd3']
const pads = ['in1', 'in2', 'in3']
const all = [...pads, ...devices]
const bench = severalArms(
  { left: all, right: all },
  { nests: devices, operations: Object.fromEntries(devices.map((device) => [device, { work: 100 }])) },
)
const work = workflowOf(
  'work',
  Object.fromEntries(
    devices.map((device, i) => [`plate${i + 1}`, { ...standing(`in${i + 1}`), steps: [{ action: { do: 'work', on: device } }] }]),
  ),
)

function hops(execution: Execution): unknown[] {
  const rows = execution.timeline.rows().filter(({ kind }) => kind === 'move')
  return rows.map(({ thread_name, transporter, started, ended }) => [thread_name, transporter, started, ended])
}
const holders = ({ environment: { scheduler } }: Execution) => ['left', 'right'].map((arm) => scheduler.transporters.holder(arm))
const after = (execution: Execution, seconds: number, call: () => void) => execution.environment.clock.after(seconds * 1000, call)

test('while one arm is busy the other one makes the next hop, and the third hop goes to the arm that is free first', async (t) => {
  const { runtime } = testRuntime([bench, work])
  const execution = await run(runtime, { workflow: 'work' })
  t.same(hops(execution), [
    ['plate1', 'left', 0, 12],
    ['plate2', 'right', 0, 12],
    ['plate3', 'left', 12, 24],
    ['plate1', 'left', 112, 124],
    ['plate2', 'right', 112, 124],
    ['plate3', 'left', 124, 136],
  ])
})

test('a thread that is aborted while it waits for an arm leaves both queues', async (t) => {
  const { runtime } = testRuntime([bench, work])
  const execution = await begin(runtime, { workflow: 'work' })
  let waiting: unknown
  after(execution, 5, () => {
    const third = execution.live().find(({ name }) => name === 'plate3')!
    waiting = [third.control.waiting?.what, third.control.waiting?.obstacles().map(({ wanted, reason }) => `${wanted} ${reason}`)]
    third.control.cutOff('it is not needed')
  })
  await runtime.over(execution)
  t.same(waiting, ['transporter left or right', ['left held', 'right held']])
  t.same(
    hops(execution).filter((hop) => (hop as string[])[0] === 'plate3'),
    [],
  )
  t.same(holders(execution), [undefined, undefined])
  t.equal(hops(execution).length, 4, 'the others come to their end')
})

test('a thread that is paused while it waits for an arm makes its hop, and waits after it', async (t) => {
  const { runtime } = testRuntime([bench, work])
  const execution = await begin(runtime, { workflow: 'work' })
  after(execution, 5, () =>
    execution
      .live()
      .find(({ name }) => name === 'plate3')!
      .control.pause('manual'),
  )
  const third = await threadIn(execution, 'plate3', 'PAUSED')
  await until(() => execution.live().length === 1)
  t.same(holders(execution), [undefined, undefined], 'it keeps no arm')
  third.control.resume()
  await runtime.over(execution)
  t.equal(execution.phase.current, 'completed')
})

test('labware in the gripper of an arm stays with that arm', async (t) => {
  const { runtime } = testRuntime([bench, work], { faults: [{ operation: 'place', call: 2, does: 'fail' }] })
  const execution = await begin(runtime, { workflow: 'work' })
  const second = await threadIn(execution, 'plate2', 'PAUSED')
  t.equal(second.labware.held_by, 'right')
  await until(() => execution.live().length === 1)
  t.same(holders(execution), [undefined, second.thread_id])
  second.control.recover('RETRY')
  await runtime.over(execution)
  t.equal(execution.phase.current, 'completed')
  t.same(
    hops(execution)
      .filter((hop) => (hop as string[])[0] === 'plate2')
      .map((hop) => (hop as string[])[1])
      .slice(0, 2),
    ['right', 'right'],
  )
})

test('where only one arm reaches both positions, labware waits for that one', async (t) => {
  const halves = severalArms(
    { left: ['in1', 'in2', 'd1', 'd2'], right: ['in3', 'd3'] },
    { nests: devices, operations: Object.fromEntries(devices.map((device) => [device, { work: 100 }])) },
  )
  const { runtime } = testRuntime([halves, work])
  const execution = await run(runtime, { workflow: 'work' })
  t.same(hops(execution).slice(0, 3), [
    ['plate1', 'left', 0, 12],
    ['plate2', 'left', 12, 24],
    ['plate3', 'right', 0, 12],
  ])
})

test('an arm with a fault gets no hop while another one can make it, but keeps the labware in its gripper', async (t) => {
  const { runtime } = testRuntime([bench, work])
  const execution = await begin(runtime, { workflow: 'work' })
  execution.environment.equipment.faults = () => [{ device_id: 'left' } as ReturnType<NonNullable<Equipment['faults']>>[number]]
  await runtime.over(execution)
  t.same(new Set(hops(execution).map((hop) => (hop as string[])[1])), new Set(['right']))
  const held = { environment: execution.environment, labware: { held_by: 'left' } } as unknown as LabwareThread
  t.equal(takeFreeArm(held, { from: 'in1', to: 'd1', transporter: 'left' }), undefined)
})

test('machines share hops with machines, and people with people', (t) => {
  const graph = graphOn(severalArms({ arm: all, hands: all, lift: all, other_hands: all }, { nests: devices }))
  const equipment: Pick<Equipment, 'person'> = {
    person: (id) => (id.endsWith('hands') ? ({} as ReturnType<NonNullable<Equipment['person']>>) : undefined),
  }
  const alike = (transporter: string) => alikeOf({ from: 'in1', to: 'd1', transporter }, graph, equipment)
  t.same(alike('arm'), ['arm', 'lift'])
  t.same(alike('hands'), ['hands', 'other_hands'])
  t.end()
})

test('labware that a person moves while it waits for an arm is not picked where it stood, and the arm is free again', async (t) => {
  const { runtime } = testRuntime([
    severalArms(
      { left: [...all, 'far'], right: [...all, 'far'] },
      { nests: devices, operations: Object.fromEntries(devices.map((device) => [device, { work: 100 }])) },
    ),
    work,
  ])
  const execution = await begin(runtime, { workflow: 'work' })
  after(execution, 5, () => execution.environment.scheduler.put('x', 'far', null))
  after(execution, 6, () => {
    const { labware } = execution.live().find(({ name }) => name === 'plate3')!
    execution.environment.scheduler.remove('x')
    execution.environment.scheduler.put(labware.labware_id, 'far', execution.live().find(({ name }) => name === 'plate3')!.thread_id)
  })
  await runtime.over(execution)
  const third = execution.timeline.rows().filter(({ kind, thread_name }) => kind === 'move' && thread_name === 'plate3')
  t.equal(third[0]?.from, 'far')
  t.same(holders(execution), [undefined, undefined])
})
