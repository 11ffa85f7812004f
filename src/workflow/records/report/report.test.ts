import { writeFileSync } from 'node:fs'
import { type Test, test } from 'tap'
import { began, executionOf, plateRows, recordText, rowsOfRun, submissionRow, troubleRows } from '../../../testing/records.ts'
import { piecesOf, reportPieces } from './report.ts'
import { type ReportOf, told } from './told.ts'

type Row = { kind: string; [name: string]: unknown }

/** Makes the report of a record with these rows or this text. */
async function reportOf(t: Test, record: string | Iterable<Row>, more: Partial<ReportOf> = {}): Promise<string> {
  const path = `${t.testdir({})}/record.jsonl`
  writeFileSync(path, typeof record === 'string' ? record : recordText(record))
  const pieces: Uint8Array[] = []
  for await (const piece of reportPieces({ path, execution: executionOf, threads: [], version: '9.9.9', made_at: began + 999, ...more }))
    pieces.push(piece)
  return Buffer.concat(pieces).toString()
}

/** Returns the texts of the cells of the first row that has this text. */
function rowWith(report: string, text: string): string[] {
  const row = report.split('<tr>').find((one) => one.includes(text))
  return [...(row ?? '').matchAll(/<td>(.*?)<\/td>/gs)].map(([, cell = '']) => cell.replace(/<[^>]*>/g, ''))
}

/** Returns the part of the report under a heading. */
function under(report: string, heading: string): string {
  return report.split('<h2>').find((part) => part.startsWith(heading)) ?? ''
}

test('a reader learns which plate was where when, at which temperature, what went wrong, and who decided what', async (t) => {
  const report = await reportOf(t, rowsOfRun(2))
  t.match(
    report,
    /The run ended COMPLETED<\/strong>, after 11:40 min: 2 labware, 7 steps, 2 values, 3 deviations, 1 decision by a person\./,
  )
  const head = report.slice(0, report.indexOf('<h2>'))
  for (const words of [
    'warm-and-shake',
    'On the bench',
    '2026-01-31 10:00:00',
    'Europe/Zurich, UTC+01:00',
    'lab key',
    'ann',
    'screen 7',
    'pilot',
  ])
    t.match(head, words)
  for (const words of ['first batch', '1.2.3', 'speed = 500', 'by benchd 9.9.9']) t.match(head, words)
  t.same(rowWith(under(report, 'Labware'), 'plate-2').slice(0, 6), ['plate-2', 'P2', 'g2', '–', 'pad_1', 'pad_2'])
  t.match(rowWith(report, 'SN-42'), ['2026-01-31 10:00:00', 'shaker-1', 'shaker', 'bioshake', 'no', 'Q1', 'SN-42', '1.8.03'])
  t.match(rowWith(report, 'x 200, y 100.5'), ['2026-01-31 10:00:00', 'arm', 'nest'])
  const steps = under(report, 'Steps of each labware').split('<caption>')
  t.match(steps[2], /^plate-2 \(P2\): group g2, thread plate-2</)
  const took = [...steps[2]!.matchAll(/<tr>(<td>.*?)<\/tr>/g)].map(([, row = '']) =>
    row.replace(/<.?span[^>]*>/g, '').replace(/<[^>]*>/g, '|'),
  )
  t.same(took, [
    '|2026-01-31 10:00:40||8 s||Move by arm||pad_1 → nest||36.9 to 37.1 °C (target 37), until 10:01:20||completed|',
    '|2026-01-31 10:00:50||20 s||shake: speed 500, duration 20||nest in shaker-1||36.9 to 37.1 °C (target 37)||completed|',
    '|2026-01-31 10:01:20||8 s||Move by arm||nest → pad_2||–||completed|',
  ])
  const deviations = under(report, 'Deviations and decisions')
  t.match(rowWith(deviations, 'error 12'), [
    '2026-01-31 10:01:05',
    'Action shake errored',
    'plate-1 (P1)',
    'shaker-1',
    '',
    'error 12 (motor blocked)',
  ])
  t.match(rowWith(deviations, 'Incident'), ['2026-01-31 10:01:06', 'Incident DEVICE_FAULT', 'plate-1 (P1)', '', '', 'motor blocked'])
  t.match(rowWith(deviations, 'Retried'), [
    '2026-01-31 10:02:00',
    'Decision',
    'plate-1 (P1)',
    '',
    'ann',
    'Retried shake of plate-1 on shaker-1',
  ])
  t.match(rowWith(deviations, 'Window missed').at(-1), 'Between shake and seal at most 60 s were allowed; it took 93.4 s.')
  t.match(rowWith(under(report, 'Values'), 'absorbance'), [
    '2026-01-31 10:00:50',
    'plate-1',
    'P1',
    'shake',
    'shaker-1',
    'absorbance',
    '[0.25,0.45]',
    'AU',
  ])
  t.match(rowWith(report, 'plate.csv').slice(1, 4), ['plate.csv', 'text/csv', '12'])
  t.match(rowWith(report, 'wrinkled'), ['2026-01-31 10:03:20', 'ben', 'Foil was wrinkled', 'foil'])
  for (const role of ['Performed by', 'Reviewed by', 'Approved by']) t.match(under(report, 'Signatures'), role)
})

test('the head says what was foretold, planned and made anew; a run without a plan has no such line', async (t) => {
  t.notMatch(await reportOf(t, rowsOfRun(1)), '<dt>Plan</dt>')
  const plan = (reason: string) => ({ kind: 'plan', at: began + 1, reason, makespan_s: 600, bound_s: 580, states: 40 })
  const report = await reportOf(t, [...rowsOfRun(1), plan('came'), plan('held')])
  t.match(
    report,
    /<dt>Plan<\/dt><dd>planned 10:00, cannot be under 9:40 \(bound\), made anew once \(labware was held or went on\), took 11:40<\/dd>/,
  )
  const path = `${t.testdir({ 'forecast.json': JSON.stringify({ made_at: began, makespan_s: 615 }) })}/record.jsonl`
  writeFileSync(path, recordText([...rowsOfRun(1), plan('came')]))
  const its = await told({ path, execution: executionOf, threads: [], version: '9.9.9', made_at: began })
  let text = ''
  for await (const piece of piecesOf(its)) text += Buffer.from(piece).toString()
  t.match(text, /<dt>Plan<\/dt><dd>foretold 10:15, planned 10:00,/)
})

test('the timeline and the temperatures are pictures with names, a legend and the target', async (t) => {
  const report = await reportOf(t, rowsOfRun(45))
  t.match(report, /aria-label="Timeline of labware 1 to 30 of 45"/)
  t.match(report, /aria-label="Timeline of labware 31 to 45 of 45"/)
  t.match(under(report, 'Timeline'), /1: shaker-1/)
  t.match(report, /<rect [^>]*stroke="#b00020"[^>]*><title>shake on shaker-1, 5 s<\/title>/)
  t.match(report, /aria-label="shaker-1: temperature in °C over time"/)
  t.match(report, /stroke-dasharray="5 3"\/><path d="M/)
  t.match(rowWith(under(report, 'Temperatures'), '<td>speed'), ['shaker-1', 'speed', 'rpm', '90', '500', '500', '–'])
})

test('nothing that somebody wrote becomes markup, runs, or turns the writing around', async (t) => {
  const evil = `<img src=x onerror=alert(1)>"'&\u202e`
  const rows = [...rowsOfRun(1)].map((row) =>
    JSON.parse(JSON.stringify(row), (_, value) => (typeof value === 'string' ? value + evil : value)),
  )
  const kinds = [...rowsOfRun(1)].map(({ kind }) => kind)
  const report = await reportOf(
    t,
    rows.map((row, i) => ({ ...row, kind: kinds[i]! })),
    {
      execution: { ...executionOf, workflow_name: evil, reason: evil },
      threads: [{ thread_id: 't-9', thread_name: evil, group_id: evil, status: evil }],
    },
  )
  t.notMatch(report, /<img|onerror=alert\(1\)>|\u202e/)
  t.match(report, '&lt;img src=x onerror=alert(1)&gt;&quot;&#39;&amp;\\u202e')
  t.notMatch(report, /<script|<link|<iframe|<[^>]*\b(on\w+|src|href)=|url\(/i)
  t.match(report, /<meta http-equiv="Content-Security-Policy" content="default-src &#39;none&#39;; style-src &#39;sha256-/)
})

test('a record of an older version, with rows of unknown kinds, and of a run that is open, has a report too', async (t) => {
  const { by: _, zone, benchd, project, tags, notes, ...old } = submissionRow()
  const rows = [
    { ...old, kind: 'submission' },
    ...plateRows(1, 0).filter(({ kind }) => kind !== 'readings'),
    { kind: 'news' },
    { kind: 'decision' },
  ]
  const threads = [{ thread_id: 't-2', thread_name: 'lid', group_id: null, status: 'WAITING' }]
  const report = await reportOf(t, rows, { execution: { ...executionOf, status: 'IN_PROGRESS', ended_at: null }, threads })
  t.match(report, /is still open/)
  t.match(report, /Devices used: arm, shaker-1\. The record has no serial numbers/)
  t.match(report, /No temperature was recorded/)
  t.match(report, /<strong>lid: thread lid, waiting<\/strong>: no step was recorded/)
  t.match(await reportOf(t, ''), /The record has no submission/)
  t.match(await reportOf(t, []), /None: no window was missed/)
})

test('a damaged record says so at its beginning', async (t) => {
  const report = await reportOf(t, recordText(rowsOfRun(2)).replace('"shake-2"', '"shake-3"'))
  t.match(report.slice(0, report.indexOf('<h2>')), /The record is not whole\.<\/strong> Damaged lines: 1\./)
})

test('a step that did not complete leaves its labware at either place', async (t) => {
  const [move, ...rest] = plateRows(1, 0)
  const report = await reportOf(t, [
    submissionRow(),
    { ...move, kind: 'move', outcome: 'ABORTED', error: 'stopped' },
    rest[3]!,
    ...troubleRows(),
  ])
  t.match(rowWith(under(report, 'Labware'), 'plate-1')[5], 'pad_1 or nest')
  t.match(report, /<strong>aborted<\/strong>: stopped/)
})

test('decisions of programs are counted and not listed, and many decisions of people push out no incident', async (t) => {
  function* rows() {
    yield submissionRow()
    for (let i = 0; i < 6_000; i++) yield { kind: 'decision', at: began + i / 100, by: 'script', decision: 'emit', text: 'Emitted tick' }
    for (let i = 0; i < 5_010; i++) yield { kind: 'decision', at: began + i / 100, by: 'ann', decision: 'pause', text: 'Paused' }
    yield* troubleRows()
  }
  const report = await reportOf(t, rows())
  t.match(report, /, 3 deviations, 5011 decisions by people\./)
  const deviations = under(report, 'Deviations and decisions')
  t.match(rowWith(deviations, 'Incident')[5], 'motor blocked')
  t.match(rowWith(deviations, 'Window missed')[1], 'Window missed')
  t.notMatch(deviations, /Emitted tick/)
  t.match(deviations, /11 more decisions are not listed here/)
  t.match(deviations, /Events emitted by people and programs: 6000\./)
})

test('what the record lacks is told with its true reason', async (t) => {
  const report = await reportOf(t, [
    { kind: 'rows_left_out', at: began, of: 'readings', why: 'disk' },
    { kind: 'rows_left_out', at: began, of: 'action', why: 'size' },
    { kind: 'rows_left_out', at: began },
    { kind: 'values_left_out', at: began },
  ])
  const deviations = under(report, 'Deviations and decisions')
  t.match(deviations, 'Rows of the kind readings are not in the record until the disk took rows again.')
  t.match(deviations, 'Rows of the kind action are not in the record from here on, because the record is too long.')
  t.match(deviations, 'Some rows are not in the record from here on.')
  t.match(deviations, 'Values are not in the record from here on, because the run has too many.')
})

test('an action that is shorter than the time between readings has the temperatures that were read for it', async (t) => {
  const action = { kind: 'action', action_id: 'a-1', name: 'seal', labware_id: 'l-1', labware: 'plate-1', device_id: 'sealer-1' }
  const reading = { kind: 'readings', device_id: 'sealer-1', targets: { temperature: 165 } }
  const report = await reportOf(t, [
    { ...reading, at: began + 9, values: { temperature: 164 }, why: 'start', action_id: 'a-1' },
    { ...action, operations: [{ operation: 'seal' }], started: began + 10, ended: began + 11, outcome: 'COMPLETED' },
    { ...reading, at: began + 12.5, values: { temperature: 166.5 }, why: 'end', action_id: 'a-1' },
    { ...reading, at: began + 13, values: { temperature: 170 }, why: 'interval' },
  ])
  t.equal(rowWith(under(report, 'Steps of each labware'), 'seal')[4], '164 to 166.5 °C (target 165)')
})

test('conditions and waits stand between the steps of their labware, and an incident at a device is marked on its curve', async (t) => {
  const report = await reportOf(t, [
    ...rowsOfRun(2),
    {
      kind: 'condition',
      at: began + 55,
      step: 'is_warm',
      thread_name: 'plate-2',
      labware: 'plate-2',
      barcode: 'P2',
      side: 'then',
      values: { od: 0.4 },
    },
    { kind: 'wait', at: began + 75, began: began + 71, ended: began + 75, outcome: 'signalled', what: 'event go', thread_id: 't-2' },
    { kind: 'condition', at: began + 56, labware: 'reservoir' },
    { kind: 'wait' },
    { kind: 'incident', at: began + 90, category: 'DEVICE_FAULT', message: 'too hot', device_id: 'shaker-1' },
  ])
  const steps = under(report, 'Steps of each labware').split('<caption>')
  t.same(rowWith(steps[2]!, 'is_warm'), ['2026-01-31 10:00:55', '–', 'Condition is_warm (od 0.4)', 'nest', '–', 'then'])
  t.same(rowWith(steps[2]!, 'event go'), ['2026-01-31 10:01:11', '4 s', 'Wait (event go)', 'nest', '–', 'signalled'])
  t.ok(steps[2]!.indexOf('is_warm') < steps[2]!.indexOf('event go'))
  t.match(steps.at(-1), /^reservoir/)
  t.match(under(report, 'Temperatures'), /<title>too hot<\/title>/)
  t.match(report, /3 labware, 7 steps/)
})

test('the event loop gets its turn before each piece and after each curve', async (t) => {
  let turns = 0
  let isOver = false
  const go = () => {
    turns++
    if (!isOver) setImmediate(go)
  }
  /** Returns the turns before each piece. Nothing but the report takes time meanwhile: it reads no values. */
  const turnsOf = async (rows: Iterable<Row>) => {
    const path = `${t.testdir({})}/record.jsonl`
    writeFileSync(path, recordText(rows))
    const facts = await told({ path, execution: executionOf, threads: [], version: '9.9.9', made_at: began })
    const before: number[] = []
    turns = 0
    for await (const _ of piecesOf(facts)) before.push(turns)
    return before
  }
  go()
  const plates = Array.from({ length: 3_000 }, (_, n) => ({ ...plateRows(n, n)[0]!, kind: 'move' }))
  const pieces = await turnsOf(plates)
  t.ok(pieces.length > 10, `${pieces.length} pieces`)
  for (const [i, count] of pieces.slice(0, -1).entries()) t.ok(count > (pieces[i - 1] ?? 0), `${count} turns before piece ${i}`)
  const curves = Array.from({ length: 24 }, (_, n) => ({ kind: 'readings', at: began, device_id: `d-${n}`, values: { temperature: n } }))
  t.ok((await turnsOf(curves)).at(-1)! >= 24)
  isOver = true
})
