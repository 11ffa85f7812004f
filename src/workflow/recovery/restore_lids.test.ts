// The service ends after any transaction of a run whose plates have lids: no lid is lost or doubled, and the run comes to its end.

import { test } from 'tap'
import type { RuntimeEvent } from '../../events/event.ts'
import { oneArm, standing, stored, workflowOf } from '../../testing/documents.ts'
import { begin, instantBench, KeptBeside, liveRuntime, takeUp, testRuntime, until } from '../../testing/workflow.ts'
import type { Execution } from '../runs/execution.ts'
import { lidCarrierOf } from '../threads/lid_carrier.ts'

const topology = oneArm({
  ...{
    pads: ['pad_1', 'pad_2', 'pad_3'],
    parking: ['park_1', 'park_2'],
    storages: ['store'],
    nests: { read_in: 'reader', mix_in: 'mixer' },
  },
  operations: { reader: { read: 40 }, mixer: { mix: 30 } },
})

const lidded = (ends: object) =>
  workflowOf(
    'lidded',
    { plate: { ...ends, steps: [{ method: 'work' }] } },
    {
      labware: { plate: { type: '96-well' }, lid: { type: '96-well lid', kind: 'lid', on: 'plate' } },
      methods: {
        work: [
          { do: 'mix', on: 'mixer', lid: 'on' },
          { remove_lid: 'lid', to: ['pad_3', 'pad_2'] },
          { do: 'read', on: 'reader', lid: 'off' },
          { put_lid: 'lid' },
          { name: 'again', do: 'mix', on: 'mixer', lid: 'on' },
        ],
      },
    },
  )

/** Returns what is wrong with the labware of a bench: lids that are lost, doubled, or where something else is. */
function faultsOf({ environment, threads }: Execution): string[] {
  const { scheduler, labware } = environment
  const faults: string[] = []
  const lids = [...labware.values()].filter(({ kind }) => kind === 'lid')
  for (const thread of threads.values()) {
    const lid = lidCarrierOf(thread)
    if (thread.isOver || !lid || scheduler.whereIs(thread.labware.labware_id) === undefined) continue
    if (lids.filter(({ labware_id }) => labware_id === lid.labware.labware_id).length !== 1) faults.push(`${lid.labware.name} is lost`)
    if (lid.isOn !== (lid.labware.on !== undefined)) faults.push(`${lid.labware.name} is on and off`)
    if (lid.isOn !== scheduler.lids.isOn(lid.labware.labware_id)) faults.push(`${lid.labware.name} is elsewhere in the scheduler`)
  }
  return faults
}

test('after whatever transaction the service ends, each plate gets its lid back, and the run comes to its end', async (t) => {
  const groups = ['a', 'b', 'c'].map((group_id) => ({ group_id, members: {} }))
  const told: RuntimeEvent[] = []
  const kept = new KeptBeside(told)
  const document = lidded(stored('store'))
  const { runtime } = testRuntime([topology, document], { keep: () => kept, onTold: (event) => told.push(event) })
  await runtime.over(await begin(runtime, { workflow: 'lidded', groups }))
  let off = 0
  for (const { at, keys, saved } of kept.saves) {
    if (told[at - 1]!.entity_type === 'EXECUTION') continue
    off += saved.threads.filter(({ lid }) => lid && !lid.is_on).length
    const made = testRuntime([topology, document], { ids: 1_000_000 })
    const execution = await takeUp(made.runtime, keys)
    await until(() => execution.isOver || execution.live().every(({ status }) => status.current === 'PAUSED'), 'all PAUSED')
    const before = faultsOf(execution)
    execution.resume()
    await until(() => execution.isOver || made.incidents.length > 0, 'the end of the run')
    const ended = execution.phase.current
    const left = [...execution.environment.labware.values()].map(({ name }) => name)
    const faults = [...before, ...made.incidents.map(({ message }) => message), ...(ended === 'completed' ? [] : [ended]), ...left]
    if (faults.length > 0) return t.same(faults, [], `cut after ${told[at - 1]!.event_name}`)
  }
  t.ok(kept.saves.length > 60, `${kept.saves.length} transactions`)
  t.ok(off > 20, `${off} lids were off`)
})

test('after a power cut in any motion in LIVE, a person says where the plate or the lid is, and nothing is carried on top of labware', async (t) => {
  const told: RuntimeEvent[] = []
  const kept = new KeptBeside(told)
  const document = lidded(standing('pad_1'))
  const made = liveRuntime(topology, [document], { keep: () => kept, onTold: (event) => told.push(event) })
  await made.runtime.over(await begin(made.runtime, { workflow: 'lidded', run_mode: 'LIVE' }))
  let lost = 0
  for (const { at, keys, saved } of kept.saves) {
    if (told[at - 1]!.entity_type === 'EXECUTION' || !keys.has('execution')) continue
    const [thread] = saved.threads
    if (!thread || thread.status === 'COMPLETED') continue
    // The labware is where it was picked, in the gripper, or at its target: each must be taken as it is said.
    const cut = thread.lid?.labware.held_by ? thread.lid : thread
    const places = [cut.seat, cut.placing].filter((place) => place !== null)
    for (const place of places.length > 0 && cut.labware.held_by !== null ? places : [null]) {
      const faults = await goesOn({ keys, place, labware_id: cut.labware.labware_id, name: cut.labware.name })
      if (place !== null && cut === thread.lid) lost++
      if (faults.length > 0) return t.same(faults, [], `cut after ${told[at - 1]!.event_name}, ${cut.labware.name} at ${place}`)
    }
  }
  t.ok(lost > 4, `${lost} lids were cut off`)

  async function goesOn(cut: { keys: ReadonlyMap<string, unknown>; place: string | null; labware_id: string; name: string }) {
    const again = liveRuntime(topology, [document], { ids: 1_000_000, live: instantBench() })
    const execution = await takeUp(again.runtime, cut.keys)
    await until(() => execution.isOver || execution.live().every(({ status }) => status.current === 'PAUSED'), 'all PAUSED')
    if (execution.live().some(({ control }) => control.isLost) && cut.place !== null)
      again.runtime.relocate(cut.labware_id, { position: cut.place })
    const before = faultsOf(execution)
    execution.resume()
    await until(() => execution.isOver || again.incidents.some(({ category }) => category === 'MOVE_FAILED'), 'the end of the run')
    const left = [...execution.environment.labware.values()].map(
      ({ name, labware_id }) => `${name} ${execution.environment.scheduler.whereIs(labware_id)}`,
    )
    const expected = ['lid pad_1', 'plate pad_1']
    return [
      ...before,
      ...(execution.phase.current === 'completed' ? [] : [execution.phase.current]),
      ...(left.sort().join() === expected.join() ? [] : left),
    ]
  }
})
