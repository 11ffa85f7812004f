// The assay of two days in LIVE: its drivers and simulators go through all of the two days, on a clock that does not wait.

import { test } from 'tap'
import { checkPassing, checkRests, openIncubatorBench } from '../testing/incubator.ts'
import { hasAllTrials } from '../testing/trials.ts'
import { storedPlates } from './incubator.ts'

const day_s = 86_400
const minute_ms = 60_000

test('eight plates complete the assay of two days in LIVE, on virtual time', {
  timeout: 0,
  skip: hasAllTrials ? false : 'BENCHD_TRIALS is not "all"',
}, async (t) => {
  const { ask, bench, clock } = await openIncubatorBench(t)
  const barcodes = storedPlates.map(({ labware }) => labware!.barcode)
  const groups = barcodes.map((barcode, i) => ({ group_id: `g${i + 1}`, members: { plate: { barcode } } }))
  const { status, body } = await ask('POST', '/api/submissions', { json: { workflow: 'two-day-assay', run_mode: 'LIVE', groups } })
  t.equal(status, 202, JSON.stringify(body))
  const execution = bench.runs.runtime.runs.get((body as { execution_id: string }).execution_id)!
  for (let minutes = 0; minutes < 50 * 60 && !execution.isOver; minutes++) await clock.advance(minute_ms)
  const [first] = checkRests(t, execution, day_s)
  checkPassing(t, execution, first!)
  t.same(
    bench.hub.incidents.list().map(({ message }) => message),
    [],
    'and every window is kept',
  )
  const { stored } = bench.runs.inventories.of('incubator-1')
  t.same(stored.map(({ barcode }) => barcode).toSorted(), barcodes)
  t.comment(`${execution.timeline.now() / 3600} h`)
})
