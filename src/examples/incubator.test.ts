// The assay of two days on the bench with an incubator.

import { type Test, test } from 'tap'
import { openTestBench } from '../testing/http.ts'
import { until } from '../testing/http_runs.ts'
import { begin, testRuntime } from '../testing/workflow.ts'
import { type Bench, benchOf } from '../workflow/plans/bench.ts'
import { compileLibrary } from '../workflow/plans/library.ts'
import { refusalFor } from '../workflow/plans/refusal.ts'
import type { Execution } from '../workflow/runs/execution.ts'
import type { Problem } from '../workflow/schedule/problem.ts'
import { defaultBudget, findSchedule } from '../workflow/schedule/search.ts'
import { runModes } from '../workflow/state/modes.ts'
import { slotOf } from '../workflow/state/slots.ts'
import { prepareDemo } from './demo.ts'
import { incubatorBench, incubatorTeachpoints, incubatorTopology, oneMinuteRests, storedPlates, twoDayAssay } from './incubator.ts'

const day_s = 86_400
const documents = [incubatorTopology, twoDayAssay, oneMinuteRests]

function libraryOn(bench: Bench) {
  const { faults, ...library } = compileLibrary(
    documents.map((input) => ({ origin: input.name, form: 'json', input })),
    bench,
  )
  if (faults[0]) throw new Error(faults[0].reason)
  return { faults, ...library }
}

async function demoBench(t: Test) {
  const tested = await openTestBench(t, incubatorBench)
  // A test bench has keys already, so that the demo takes its folder for an old one.
  await tested.bench.teachpoints.importAll(incubatorTeachpoints, { overwrite: false })
  await prepareDemo(tested.bench, 'incubator')
  return { ...tested, setup: benchOf(tested.bench.registry.all(), tested.bench.teachpoints) }
}

type Stay = { plate: string; slot: string; from: number; to: number; isFirst: boolean }

/** Returns the times that each plate was in a slot, in seconds since the run began. */
function staysIn({ timeline, threads }: Execution): Stay[] {
  const rows = timeline.rows().filter(({ kind, status }) => kind === 'move' && status === 'COMPLETED')
  return [...threads.values()].flatMap(({ name, thread_id, state }) => {
    const moves = rows.filter((row) => row.thread_id === thread_id && (isSlot(row.from) || isSlot(row.to)))
    const began = { to: state.starts_at, ended: 0 }
    return [began, ...moves.filter(({ to }) => isSlot(to))].map(({ to: slot, ended }, i): Stay => {
      const out = moves.find(({ from, started }) => from === slot && started! >= ended!)
      return { plate: name, slot: slot!, from: ended!, to: out?.started ?? timeline.now(), isFirst: i === 0 }
    })
  })
}

function isSlot(position: string | null): boolean {
  return slotOf(position ?? undefined) !== null
}

/** Checks a run that has ended: each plate has rested twice, and no slot had two plates. Returns the rests. */
function checkRests(t: Test, execution: Execution, rest_s: number): Stay[] {
  t.equal(execution.phase.current, 'completed')
  const plates = [...execution.threads.values()]
  t.ok(plates.every(({ status }) => status.current === 'COMPLETED'))
  const stays = staysIn(execution)
  const rests = stays.filter(({ from, to, isFirst }) => !isFirst && to - from >= rest_s)
  for (const { name } of plates) t.equal(rests.filter(({ plate }) => plate === name).length, 2, `${name} has rested twice`)
  const meet = (one: Stay, other: Stay) => one.slot === other.slot && one.from < other.to && other.from < one.to
  t.same(
    stays.filter((one) => stays.some((other) => one !== other && meet(one, other))),
    [],
    'no slot has two plates',
  )
  return rests.toSorted((one, other) => one.from - other.from)
}

/** Checks that a plate in the storage blocks nobody. */
function checkPassing(t: Test, { timeline, threads }: Execution, { plate, from, to }: Stay): void {
  const passing = timeline.rows().filter((row) => row.name === 'seal' && row.ended! > from && row.ended! < to)
  const others = new Set(passing.map(({ thread_name }) => thread_name))
  t.equal(others.size, threads.size - 1, `all others are sealed while ${plate} rests`)
}

const groups = (count: number) => Array.from({ length: count }, (_, i) => ({ group_id: `g${i + 1}`, members: {} }))

for (const isPlanned of [true, false])
  test(`eight plates complete the assay of two days in PURE_SIM, ${isPlanned ? 'with a plan' : 'by dispatch alone'}`, async (t) => {
    const { setup } = await demoBench(t)
    const search = async (problem: Problem) => findSchedule(problem, { states: defaultBudget(problem) })
    const { runtime, incidents } = testRuntime([], { library: libraryOn(setup), bench: setup, ...(isPlanned && { search }) })
    const execution = await begin(runtime, { workflow: 'two-day-assay', groups: groups(8) })
    await runtime.over(execution)
    const [first] = checkRests(t, execution, day_s)
    checkPassing(t, execution, first!)
    t.same(incidents, [], 'and every window is kept')
    const hours = execution.environment.clock.now() / 3_600_000
    t.ok(hours > 48 && hours < 49, `${hours} h`)
  })

test('the demo begins with plates in the incubator, once', async (t) => {
  const { bench, setup } = await demoBench(t)
  const { inventories } = bench.runs
  const stored = () => inventories.of('incubator-1').stored.map(({ slot, barcode }) => ({ slot, barcode }))
  t.same(
    stored(),
    storedPlates.map(({ slot, labware }) => ({ slot, barcode: labware!.barcode })),
  )
  const { workflows } = libraryOn(setup)
  for (const workflow of workflows.values()) for (const mode of runModes) t.equal(refusalFor(workflow, mode, setup), undefined, mode)
  await inventories.correct(
    'incubator-1',
    storedPlates.map(({ slot }) => ({ slot, labware: null })),
  )
  await prepareDemo(bench, 'incubator')
  t.same(stored(), [], 'a later start does not put the plates there again')
})

test('a LIVE run on simulators takes the plates with these barcodes out, scans them at the door, and stores them again', async (t) => {
  const tested = await demoBench(t)
  const { ask, bench } = tested
  const barcodes = ['P-0005', 'P-0002']
  const order = {
    workflow: 'one-minute-rests',
    run_mode: 'LIVE',
    groups: barcodes.map((barcode, i) => ({ group_id: `g${i}`, members: { plate: { barcode } } })),
  }
  const { status, body } = await ask('POST', '/api/submissions', { json: order })
  t.equal(status, 202, JSON.stringify(body))
  const { execution_id } = body as { execution_id: string }
  await until(tested, `/api/executions/${execution_id}`, ({ status }) => status !== 'IN_PROGRESS' && status !== 'CREATED')
  const execution = bench.runs.runtime.runs.get(execution_id)!
  checkRests(t, execution, 60)
  t.same(
    bench.hub.incidents.list().map(({ message }) => message),
    [],
  )
  const { stored } = bench.runs.inventories.of('incubator-1')
  t.same(
    stored.map(({ barcode }) => barcode).toSorted(),
    storedPlates.map(({ labware }) => labware!.barcode),
  )
  const scans = execution.timeline.rows().filter(({ name }) => name === 'scan')
  t.equal(scans.length, 2 * 4, 'each plate is scanned each time that it comes to the door')
})
