// The assay of two days on the bench with an incubator.

import { test } from 'tap'
import { until } from '../testing/http_runs.ts'
import { checkPassing, checkRests, openIncubatorBench } from '../testing/incubator.ts'
import { begin, testRuntime } from '../testing/workflow.ts'
import type { Bench } from '../workflow/plans/bench.ts'
import { compileLibrary } from '../workflow/plans/library.ts'
import { refusalFor } from '../workflow/plans/refusal.ts'
import type { Problem } from '../workflow/schedule/problem.ts'
import { defaultBudget, findSchedule } from '../workflow/schedule/search.ts'
import { runModes } from '../workflow/state/modes.ts'
import { prepareDemo } from './demo.ts'
import { incubatorTopology, shortRests, storedPlates, twoDayAssay } from './incubator.ts'

const day_s = 86_400
const documents = [incubatorTopology, twoDayAssay, shortRests]

function libraryOn(bench: Bench) {
  const { faults, ...library } = compileLibrary(
    documents.map((input) => ({ origin: input.name, form: 'json', input })),
    bench,
  )
  if (faults[0]) throw new Error(faults[0].reason)
  return { faults, ...library }
}

const groups = (count: number) => Array.from({ length: count }, (_, i) => ({ group_id: `g${i + 1}`, members: {} }))

for (const isPlanned of [true, false])
  test(`eight plates complete the assay of two days in PURE_SIM, ${isPlanned ? 'with a plan' : 'by dispatch alone'}`, async (t) => {
    const { setup } = await openIncubatorBench(t)
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
  const { bench, setup } = await openIncubatorBench(t)
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
  const tested = await openIncubatorBench(t)
  const { ask, bench } = tested
  const barcodes = ['P-0005', 'P-0002']
  const order = {
    workflow: 'short-rests',
    run_mode: 'LIVE',
    groups: barcodes.map((barcode, i) => ({ group_id: `g${i}`, members: { plate: { barcode } } })),
  }
  const { status, body } = await ask('POST', '/api/submissions', { json: order })
  t.equal(status, 202, JSON.stringify(body))
  const { execution_id } = body as { execution_id: string }
  await until(tested, `/api/executions/${execution_id}`, ({ status }) => status !== 'IN_PROGRESS' && status !== 'CREATED')
  const execution = bench.runs.runtime.runs.get(execution_id)!
  checkRests(t, execution, 20)
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
