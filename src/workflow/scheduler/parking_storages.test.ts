// A storage that much labware comes out of and goes back to, where there is little room or none to put anything aside.

import { test } from 'tap'
import { oneArm, stored, workflowOf } from '../../testing/documents.ts'
import { begin, run, testRuntime, threadIn } from '../../testing/workflow.ts'
import { whereaboutsOf } from '../whereabouts.ts'

type Bench = { pads: number; devices: number; groups: number; tips: boolean }

function documents({ pads, devices, tips }: Bench) {
  const parking = Array.from({ length: pads }, (_, i) => `pad_${i}`)
  const ids = Array.from({ length: devices }, (_, i) => `d${i}`)
  const ofEach = <Value>(value: Value) => Object.fromEntries(ids.map((id) => [id, value]))
  return [
    oneArm({
      ...{ storages: ['store'], parking, nests: Object.fromEntries(ids.map((id) => [`in_${id}`, id])) },
      ...{ sites: ofEach(tips ? 2 : 1), operations: ofEach({ work: 60 }) },
    }),
    workflowOf(
      'work',
      {
        plate: { ...stored('store'), steps: [{ method: 'all' }] },
        ...(tips && { tips: { ...stored('store'), steps: [{ join: ['all'] }] } }),
      },
      {
        methods: { all: ids.map((id) => ({ do: 'work', on: id, name: `at_${id}`, labware: ['plate', ...(tips ? ['tips'] : [])] })) },
        start: ['plate'],
      },
    ),
  ]
}

async function all(bench: Bench) {
  const { runtime, incidents } = testRuntime(documents(bench))
  const groups = Array.from({ length: bench.groups }, (_, i) => ({ group_id: `g${i}`, members: {} }))
  const execution = await run(runtime, { workflow: 'work', groups })
  const rows = execution.timeline.rows()
  return {
    incidents,
    phase: execution.phase.current,
    moves: execution.timeline.moves,
    seconds: Math.max(...rows.map(({ ended }) => ended!)),
  }
}

for (const pads of [0, 1])
  for (const devices of [1, 2])
    for (const tips of [false, true])
      test(`${devices} devices, ${pads} pads, ${tips ? 'with' : 'without'} tips: all come home, however many there are`, async (t) => {
        for (const groups of [2, 3, 8]) {
          const { incidents, phase, moves } = await all({ pads, devices, groups, tips })
          t.equal(phase, 'completed', `${groups} groups`)
          t.same(incidents, [])
          if (pads === 0) t.equal(moves, groups * (devices + 1) * (tips ? 2 : 1), 'nothing is moved in vain')
        }
      })

test('without other labware they follow each other from device to device, though there is nowhere to put one aside', async (t) => {
  const { seconds } = await all({ pads: 0, devices: 2, groups: 8, tips: false })
  t.equal(seconds, 744)
})

test('one that waits for an event does not keep back who is to emit it', async (t) => {
  // With tips, which nobody fetches here, it is looked at less closely who gets past whom.
  const [topology, work] = documents({ pads: 0, devices: 2, groups: 1, tips: true }) as [object, { threads: Record<string, object> }]
  const { plate, tips } = work.threads
  const at = (on: string) => ({ action: { do: 'work', on } })
  const threads = {
    waits: { ...plate, steps: [at('d1'), { action: { wait_for: 'go' } }, at('d0')] },
    emits: { ...plate, labware: 'other', steps: [{ action: { emit: 'go' } }, at('d1')] },
    tips,
    unused: { ...plate, labware: 'third' },
  }
  const labware = { plate: { type: '96-well' }, other: { type: '96-well' }, third: { type: '96-well' }, tips: { type: '96-tips' } }
  const methods = { all: [{ do: 'work', on: 'd0', labware: ['third', 'tips'] }] }
  const { runtime, incidents } = testRuntime([topology, { ...work, labware, methods, threads, start: ['waits', 'emits'] }])
  const execution = await run(runtime, { workflow: 'work' })
  t.equal(execution.phase.current, 'completed')
  t.same(incidents, [])
})

test('labware that the storage has not given yet is not said to be lost', async (t) => {
  const { runtime } = testRuntime(documents({ pads: 0, devices: 1, groups: 3, tips: false }))
  const execution = await begin(runtime, { workflow: 'work', groups: ['g1', 'g2', 'g3'].map((group_id) => ({ group_id, members: {} })) })
  await threadIn(execution, 'plate', 'MOVING')
  const places = runtime.labware().map((labware) => whereaboutsOf(labware).place)
  t.same(places, ['at store', 'not there yet: it begins at store', 'not there yet: it begins at store'])
  await runtime.over(execution)
})
