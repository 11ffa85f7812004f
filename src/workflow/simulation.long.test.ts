// Hundreds of random runs, with an operator who does all that can be done, and restarts. A seed that fails is printed; BENCHD_SEED=<seed> runs
// that one alone, BENCHD_SEEDS=10 ten times as many.

import { type Test, test } from 'tap'
import type { Scene } from '../testing/simulation/scene.ts'
import { simulate } from '../testing/simulation/simulation.ts'
import { leaveAlone } from '../testing/simulation/unattended.ts'
import { statusesTold } from '../testing/simulation/watch.ts'

const given = process.env.BENCHD_SEED

function seedsOf(first: number, few: number): number[] {
  const count = few * Number(process.env.BENCHD_SEEDS ?? 1)
  return given === undefined ? Array.from({ length: count }, (_, i) => first + i) : [Number(given)]
}

type With = { hasPeople?: boolean; hasScanners?: boolean }

async function holds(t: Test, mode: Scene['mode'], seeds: readonly number[], more: With = {}): Promise<Map<string, number>> {
  const { hasPeople = false, hasScanners = false } = more
  const counts = new Map<string, number>()
  const count = (what: string, more = 1) => counts.set(what, (counts.get(what) ?? 0) + more)
  for (const seed of seeds) {
    const { faults, trace, refused, stuck, restarts, people, plans } = await simulate(seed, mode, hasPeople, hasScanners)
    if (refused) count('refused')
    if (stuck !== null) count('stuck')
    count('restarts', restarts)
    count('plans', plans)
    for (const [what, many] of Object.entries(people)) count(`people: ${what}`, many)
    for (const status of statusesTold(trace)) count(status)
    if (faults.length > 0) {
      t.fail(
        `seed ${seed}, ${mode}${hasPeople ? ' with people' : ''}${hasScanners ? ' with scanners' : ''}: ${faults.slice(0, 3).join('; ')}`,
        {
          replay: `BENCHD_SEED=${seed} node --enable-source-maps dist/src/workflow/simulation.long.test.js`,
        },
      )
      break
    }
  }
  t.comment([...counts].map(([what, many]) => `${what} ${many}`).join(', '))
  return counts
}

test('whatever happens in simulated runs, what is told is legal, nothing is in two places or done twice, nothing is kept for the dead, and all ends', async (t) => {
  const seeds = seedsOf(1, 320)
  const counts = await holds(t, 'PURE_SIM', seeds)
  if (given !== undefined) return
  t.ok((counts.get('refused') ?? 0) < seeds.length / 10, 'nearly all documents are good')
  t.ok((counts.get('stuck') ?? 0) < seeds.length / 10, 'nearly all runs come to their end by themselves')
  const ofEach = [
    ...['AWAITING_ACTION_RESERVATION', 'PAUSED', 'COMPLETED', 'STOPPED', 'ABORTED', 'FAILED', 'AWAITING_EVENT'].map(
      (one) => `THREAD.${one}`,
    ),
    ...['OVERFLOW', 'REJECTED', 'AWAITING_DECISION', 'ORPHANED', 'ABANDONED'].map((one) => `SLOT.${one}`),
    ...['COMPLETED', 'ERRORED', 'ABORTED', 'SKIPPED'].map((one) => `ACTION.${one}`),
    ...['COMPLETED', 'PARTIAL_COMPLETE', 'SKIPPED'].map((one) => `METHOD.${one}`),
    ...['COMPLETED', 'FAILED', 'ABORTED'].map((one) => `EXECUTION.${one}`),
    ...['RECOVERABLE_TIMEOUT', 'UNRESOLVED_ANCHOR_INSERT', 'ORPHANED_BACKLOG', 'SYSTEM_STALL'].map((one) => `INCIDENT.${one}`),
    ...['restarts', 'plans', 'TIP_RACK.LOW', 'TIP_RACK.EMPTY', 'GROUP.COMPLETED', 'CUSTOM.EMITTED', 'DEVICE_OP.FAILED'],
  ]
  t.same(
    ofEach.filter((status) => !counts.has(status)),
    [],
    'all of this has happened',
  )
})

test('the same holds where executions share a bench, and labware is brought and taken away by hand', async (t) => {
  const counts = await holds(t, 'LIVE', seedsOf(1, 25))
  if (given === undefined) t.ok(counts.has('INCIDENT.BARCODE_MISMATCH') && (counts.get('restarts') ?? 0) > 10, 'wrong barcodes, restarts')
  if (given === undefined) t.ok(counts.has('THREAD.AWAITING_MANUAL_PLACE') && counts.has('THREAD.AWAITING_MANUAL_REMOVE'), 'by hand, too')
})

test('the same holds where people carry beside arms, and answer late, wrongly, elsewhere, twice, or are stopped: no arm moves within their reach', async (t) => {
  const seeds = seedsOf(1, 60)
  const counts = await holds(t, 'LIVE', seeds, { hasPeople: true })
  if (given !== undefined) return
  t.ok((counts.get('stuck') ?? 0) < seeds.length / 10, 'nearly all runs come to their end by themselves')
  const acts = ['done', 'taken', 'really elsewhere', 'cannot', 'wrong', 'late', 'stopped', 'shown again', 'motions']
  t.same(
    acts.filter((act) => !counts.has(`people: ${act}`)),
    [],
    'all of this has happened',
  )
})

test('the same holds where labware is scanned at positions and in grippers, and every seventh scan reads another barcode, or none', async (t) => {
  const counts = await holds(t, 'LIVE', seedsOf(1, 60), { hasScanners: true })
  if (given === undefined) t.ok(counts.has('INCIDENT.BARCODE_MISMATCH') && (counts.get('restarts') ?? 0) > 10, 'wrong barcodes, restarts')
})

test('people who never answer keep nobody from the end that could come there without', async (t) => {
  const seeds = seedsOf(1, 80)
  const sum = { completed: 0, unanswered: 0, undecided: 0 }
  for (const seed of seeds) {
    const { missed, completed, unanswered, isUndecided } = await leaveAlone(seed, true)
    sum.completed += completed
    sum.unanswered += unanswered
    sum.undecided += Number(isUndecided)
    if (missed.length > 0) t.fail(`seed ${seed}: ${missed}`)
  }
  t.comment(JSON.stringify(sum))
  if (given === undefined) t.ok(sum.completed > seeds.length / 2 && sum.unanswered > 10 && sum.undecided < 10, JSON.stringify(sum))
})

test('whoever is paused, or fails, and is left alone keeps nobody from the end that could come there without', async (t) => {
  const seeds = seedsOf(1, 200)
  const sum = { held: 0, left: 0, completed: 0, undecided: 0 }
  for (const seed of seeds) {
    const { missed, held, left, completed, isUndecided } = await leaveAlone(seed)
    sum.held += held
    sum.left += left
    sum.completed += completed
    sum.undecided += Number(isUndecided)
    if (missed.length > 0) t.fail(`seed ${seed}: ${missed}`)
  }
  t.comment(JSON.stringify(sum))
  if (given === undefined) t.ok(sum.held > seeds.length && sum.completed > 0.8 * seeds.length && sum.undecided < 10, JSON.stringify(sum))
})

test('the same seed tells the same events in the same order', async (t) => {
  for (const mode of ['PURE_SIM', 'LIVE'] as const) {
    for (const seed of seedsOf(3000, 8)) {
      const [once, again] = [await simulate(seed, mode), await simulate(seed, mode)]
      t.same(again.trace, once.trace, `seed ${seed}`)
    }
  }
  for (const seed of seedsOf(3000, 4)) {
    const [once, again] = [await simulate(seed, 'LIVE', true), await simulate(seed, 'LIVE', true)]
    t.same([again.trace, again.people], [once.trace, once.people], `seed ${seed} with people`)
  }
})
