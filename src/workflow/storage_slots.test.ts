// Storages with slots in runs: labware leaves its slot when its device is about to be free, and stored labware blocks nobody.

import { test } from 'tap'
import { workflowOf } from '../testing/documents.ts'
import { begin, testRuntime } from '../testing/workflow.ts'

/** A bench with an incubator of so many slots, two shakers of which a run takes one, and an arm. */
const incubatorBench = (slots = 6) => ({
  format: 1,
  name: 'bench',
  transporters: {
    arm: { positions: ['door', 'pad', 's1', 's2'] },
    incubator: { positions: ['door', 'slots'], seconds: { pick: 0, move: 0, place: 20 } },
  },
  positions: { door: {}, pad: {}, slots: { slots }, s1: { device: 's1' }, s2: { device: 's2' } },
  pools: { any: ['s1', 's2'] },
  devices: { s1: { operations: { wash: { seconds: 60 } } }, s2: { operations: { wash: { seconds: 60 } } } },
})

const assay = (plates: number, hours = 1) =>
  workflowOf(
    'assay',
    Object.fromEntries(
      Array.from({ length: plates }, (_, i) => [
        `plate-${i + 1}`,
        {
          labware: `plate-${i + 1}`,
          start: { at: 'slots', mode: 'REUSE_EXISTING' },
          end: { at: ['slots'], mode: 'LEAVE_IN_PLACE' },
          steps: [
            { action: { do: 'wash', on: 'any' } },
            { park: ['slots'] },
            { delay: hours * 3600 },
            { action: { do: 'wash', on: 'any' } },
          ],
        },
      ]),
    ),
    { labware: Object.fromEntries(Array.from({ length: plates }, (_, i) => [`plate-${i + 1}`, { type: '96-well' }])) },
  )

test('plates come out of their slots, are incubated in slots, and end in slots', async (t) => {
  const { runtime } = testRuntime([incubatorBench(), assay(4)])
  const execution = await begin(runtime, { workflow: 'assay' })
  for (let turns = 0; turns < 5000 && execution.phase.current !== 'completed'; turns++) await new Promise(setImmediate)
  t.equal(execution.phase.current, 'completed')
  t.same(
    [...execution.threads.values()].map(({ state }) => state.starts_at),
    ['slots/slot-1', 'slots/slot-2', 'slots/slot-3', 'slots/slot-4'],
  )
  const seats = [...execution.threads.values()].map(({ labware }) => execution.environment.scheduler.whereIs(labware.labware_id))
  t.equal(new Set(seats).size, 4)
  for (const seat of seats) t.match(seat, /^slots\/slot-\d$/)
})
