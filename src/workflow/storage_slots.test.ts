// Storages with slots in runs: labware leaves its slot when its device is about to be free, and stored labware blocks nobody.

import { test } from 'tap'
import { workflowOf } from '../testing/documents.ts'
import { begin, testRuntime } from '../testing/workflow.ts'
import type { Problem } from './schedule/problem.ts'
import { defaultBudget, findSchedule } from './schedule/search.ts'

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
  await runtime.over(execution)
  t.equal(execution.phase.current, 'completed')
  t.same(
    [...execution.threads.values()].map(({ state }) => state.starts_at),
    ['slots/slot-1', 'slots/slot-2', 'slots/slot-3', 'slots/slot-4'],
  )
  const seats = [...execution.threads.values()].map(({ labware }) => execution.environment.scheduler.whereIs(labware.labware_id))
  t.equal(new Set(seats).size, 4)
  for (const seat of seats) t.match(seat, /^slots\/slot-\d$/)
})

/** The actions of a run that takes plates out of a storage, works on each at one of two devices, and puts them back. */
const inAndOut = (plates: number, mode: string) => {
  const names = Array.from({ length: plates }, (_, i) => `plate-${i + 1}`)
  const thread = (labware: string) => ({
    ...{ labware, start: { at: 'slots', mode }, end: { at: ['slots'], mode: 'LEAVE_IN_PLACE' } },
    steps: [{ action: { do: 'wash', on: 'any' } }],
  })
  const labware = Object.fromEntries(names.map((name) => [name, { type: '96-well' }]))
  return workflowOf('assay', Object.fromEntries(names.map((name) => [name, thread(name)])), { labware })
}

const devices = { s1: { operations: { wash: { seconds: 200 } } }, s2: { operations: { wash: { seconds: 200 } } } }
const nests = { s1: { device: 's1' }, s2: { device: 's2' } }

/**
 * The least seconds for 16 plates at two devices, by hand: the work of eight plates at the second device, and what passes before, between and after. An arm
 * needs 12 s for a hop, a storage with slots 20 s.
 */
const bounds = {
  // Without numbers: the second plate comes 12 s after the first; a plate goes out and the next one comes in between.
  'a storage without numbers': {
    mode: 'DISPENSE',
    positions: { slots: { storage: true } },
    arm: ['slots'],
    least_s: 12 + 8 * (12 + 200 + 12),
  },
  // At its only door the plate that comes out must be stored before the next one is retrieved.
  'slots behind one door': {
    mode: 'REUSE_EXISTING',
    positions: { door: {}, slots: { slots: 24 } },
    arm: ['door'],
    least_s: 32 + 8 * (20 + 12 + 200 + 12 + 20),
  },
  // The next plate waits near the devices, so that it comes in as soon as the other is out.
  'slots, and a place to wait': {
    ...{ mode: 'REUSE_EXISTING', positions: { door: {}, pad: { parking: true }, slots: { slots: 24 } }, arm: ['door', 'pad'] },
    least_s: 2 * (20 + 12) + 8 * 200 + 7 * (12 + 12) + (12 + 20),
  },
} as const

for (const [what, { mode, positions, arm, least_s }] of Object.entries(bounds))
  test(`a storage that is source and target costs no more than three in a hundred: ${what}`, async (t) => {
    const bench = {
      ...{ format: 1, name: 'bench', positions: { ...positions, ...nests }, pools: { any: ['s1', 's2'] }, devices },
      transporters: {
        arm: { positions: [...arm, 's1', 's2'] },
        ...('door' in positions && { incubator: { positions: ['door', 'slots'], seconds: { pick: 0, move: 0, place: 20 } } }),
      },
    }
    const search = async (problem: Problem) => findSchedule(problem, { states: defaultBudget(problem) })
    const { runtime } = testRuntime([bench, inAndOut(16, mode)], { search })
    const execution = await begin(runtime, { workflow: 'assay' })
    await runtime.over(execution)
    t.equal(execution.phase.current, 'completed')
    const took_s = execution.environment.clock.now() / 1000
    t.ok(took_s >= least_s && took_s <= 1.03 * least_s, `${took_s} s, at least ${least_s} s`)
  })
