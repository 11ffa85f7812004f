// One thread is held, and nobody comes: the others go on all the same.

import { test } from 'tap'
import { oneArm, workflowOf } from '../../testing/documents.ts'
import { begin, testRuntime, until } from '../../testing/workflow.ts'
import type { Execution } from './execution.ts'
import { blockers } from './explanation.ts'
import { Stall } from './stall.ts'

const bench = {
  ...{ pads: ['pad_1', 'pad_2', 'pad_3'], nests: { shaker_1_in: 'shaker-1', shaker_2_in: 'shaker-2', centrifuge_in: 'centrifuge' } },
  operations: { 'shaker-1': { mix: 60 }, 'shaker-2': { mix: 60 }, centrifuge: { work: 60 } },
  pools: { shakers: ['shaker-1', 'shaker-2'] },
}
const topology = oneArm({ ...bench, parking: ['pad_4'] })
const workflow = workflowOf(
  'contend',
  {
    plate: {
      start: { at: 'pad_1' },
      end: { at: ['pad_1', 'pad_2', 'pad_3'] },
      steps: [{ method: 'shake_first' }, { method: 'spin' }, { method: 'shake_last' }],
    },
  },
  {
    methods: {
      shake_first: [{ do: 'mix', on: 'shakers' }],
      spin: [{ do: 'work', on: 'centrifuge' }],
      shake_last: [{ do: 'mix', on: 'shakers' }],
    },
  },
)
const groups = ['pad_1', 'pad_2', 'pad_3'].map((location, i) => ({ group_id: `g${i}`, members: { plate: { location } } }))

async function othersEnd(execution: Execution): Promise<void> {
  await until(
    () => [...execution.threads.values()].filter(({ status }) => status.current === 'COMPLETED').length === 2,
    `two ended (${[...execution.threads.values()].map(({ name, status, control: { waiting } }) => `${name} ${status.current} ${waiting?.what}`)})`,
  )
}

test('a device of a pool fails: whoever is not at it goes on with the other, and one of them is parked meanwhile', async (t) => {
  const faults = [{ operation: 'mix', device_id: 'shaker-1', call: 1, does: 'fail' }] as const
  const { runtime, incidents } = testRuntime([topology, workflow], { faults })
  const execution = await begin(runtime, { workflow: 'contend', groups })
  await othersEnd(execution)
  t.same(
    execution.live().map(({ control: { pausedAt } }) => pausedAt),
    ['DEVICE_OP'],
  )
  t.notOk(incidents.some(({ category }) => /DEADLOCK|STALL/.test(category)))
  execution.live()[0]!.control.recover('RETRY')
  await runtime.over(execution)
  t.equal(execution.phase.current, 'completed')
})

test('so it is where a person has paused the one', async (t) => {
  let isPaused = false
  const { runtime } = testRuntime([topology, workflow], {
    onTold({ entity_type, status }) {
      if (entity_type === 'ACTION' && status === 'EXECUTING_ACTION' && !isPaused)
        isPaused = [...runtime.runs.all()[0]!.threads.values()][0]!.control.pause('manual')
    },
  })
  const execution = await begin(runtime, { workflow: 'contend', groups })
  await othersEnd(execution)
  for (const thread of execution.live()) thread.control.resume()
  await runtime.over(execution)
  t.equal(execution.phase.current, 'completed')
})

test('without a place to park, whoever waits behind the held one is told to see to that one', async (t) => {
  const faults = [{ operation: 'mix', device_id: 'shaker-1', call: 1, does: 'fail' }] as const
  const short = {
    ...workflow,
    methods: { spin: workflow.methods.spin, mix_it: [{ do: 'mix', on: 'shaker-1' }] },
    threads: { plate: { ...workflow.threads.plate, immovable: true, steps: [{ method: 'spin' }, { method: 'mix_it' }] } },
  }
  const { runtime } = testRuntime([oneArm(bench), short], { faults })
  const execution = await begin(runtime, { workflow: 'contend', groups })
  const waiting = () => blockers(execution).filter(({ kind }) => kind === 'waiting')
  const isWaiting = () => execution.live().filter(({ status }) => status.current === 'AWAITING_ACTION_RESERVATION').length === 2
  await until(() => waiting().length === 2 && isWaiting() && execution.live().some(({ control: { pausedAt } }) => pausedAt === 'DEVICE_OP'))
  t.same(
    waiting()
      .map(({ remedy }) => remedy)
      .sort(),
    [
      'see to plate, which is PAUSED and holds what this thread waits for',
      'see to plate, which is PAUSED: the threads that this thread waits for wait for it',
    ],
  )
  execution.abort('that was all')
  await runtime.over(execution)
})

test('labware that waits for its time in the plan is no stall; without a plan in force it is one', (t) => {
  for (const isInForce of [true, false]) {
    const incidents: string[] = []
    const obstacle = { reason: 'early', wanted: 'shaker-1', thread_id: null, labware_id: null }
    const waiting = { kind: 'reservation', what: 'shaker-1', obstacles: () => [obstacle] }
    const environment = {
      planner: { isDue: false },
      labware: { inTransfer: new Map(), get: () => undefined },
      scheduler: { advice: { isInForce }, whereIs: () => undefined },
      steps: { push: (look: () => void) => look() },
    }
    const run = {
      ...{ environment, isOver: false, paused: null, liveCount: 1, execution_id: 'a' },
      live: () => [{ name: 'plate', control: { waiting } }],
      beside: () => [],
      operations: { leaveStuck: () => false },
      events: { incident: (category: string) => incidents.push(category) },
      pause: () => {},
    }
    new Stall(run as unknown as ConstructorParameters<typeof Stall>[0]).blocked(1)
    t.same(incidents, isInForce ? [] : ['SYSTEM_STALL'])
  }
  t.end()
})
