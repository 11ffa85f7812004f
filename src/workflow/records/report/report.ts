// Writes the report of a run: one HTML file that needs nothing else, for people who have not seen the run. It is made piece by piece from the record.

import { rowsOfRecord } from '../../../events/run_record_reader.ts'
import { curve, curvesLegend } from './curves.ts'
import { membersOf, most, type Plate } from './facts.ts'
import { gantt } from './gantt.ts'
import { header } from './header.ts'
import { type Cell, html, Markup, shortened, tableEnd, tableHead, tableRow, whole } from './markup.ts'
import { plateTable } from './steps.ts'
import { policy, style } from './style.ts'
import { deviationTable, deviceTables, fileTables, labwareOf, plateTableOfAll, readingTable, signatures } from './tables.ts'
import type { ZonedTime } from './time.ts'
import { type ReportOf, type Told, told } from './told.ts'

const mostCurves = 24
const mostValues = 5_000
const piece_length = 64 * 1024
/** The longest time for which the report holds up the rest of the service. */
const longest_ms = 5
const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

/** Yields the report. Rejects with `storage`. */
export async function* reportPieces(report: ReportOf): AsyncGenerator<Uint8Array, undefined> {
  yield* piecesOf(await told(report))
}

/** Yields the report of what was read. The event loop gets its turn before each piece but the last, and after each curve. */
export async function* piecesOf(told: Told): AsyncGenerator<Uint8Array, undefined> {
  let text = ''
  let since_ms = performance.now()
  for await (const part of partsOf(told)) {
    text += part.text
    const isLong = text.length >= piece_length
    if (!isLong && performance.now() - since_ms < longest_ms) continue
    await turn()
    since_ms = performance.now()
    if (!isLong) continue
    yield Buffer.from(text)
    text = ''
  }
  yield Buffer.from(text)
}

async function* partsOf(told: Told): AsyncGenerator<Markup> {
  const { facts, execution } = told
  const plates = [...facts.plates.values()]
  yield beginning(`Report of run ${execution.execution_id.slice(0, 8)}: ${execution.workflow_name}`)
  yield header(told)
  yield* section('Deviations and decisions', deviationTable(told))
  yield* section('Labware', plateTableOfAll(labwareOf(plates), told))
  yield* section('Devices', [deviceTables(told)])
  yield* section('Timeline', timeline(plates, told))
  yield* section('Temperatures and other readings', curves(told))
  yield* section('Steps of each labware', stepsOf(plates, told))
  yield* section('Values', values(told))
  yield* section('Files and notes', [fileTables(told)])
  yield signatures(told)
}

function beginning(title: string): Markup {
  return html`<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="${policy}"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${title}</title><style>${new Markup(style)}</style></head><body>
<header><h1>${title}</h1></header><main>
`
}

async function* section(title: string, parts: Iterable<Markup> | AsyncIterable<Markup>): AsyncGenerator<Markup> {
  yield html`<section><h2>${title}</h2>
`
  yield* parts
  yield html`</section>
`
}

function* timeline(plates: readonly Plate[], { from, until, time }: Told): Generator<Markup> {
  yield html`<p class="lead">From ${time.words(from)} to ${time.words(until)}. A wide bar is an action at a device, a narrow bar is a move.</p>
`
  yield* gantt(plates, { from, to: until, time })
}

async function* curves(told: Told): AsyncGenerator<Markup> {
  const { facts, from, until, time } = told
  const series = facts.temperatures
  if (series.length === 0) yield html`<p>No temperature was recorded.</p>`
  else yield curvesLegend
  const axis = { from, to: until, time }
  for (const one of series.slice(0, mostCurves)) {
    yield curve(one, { axis, unit: facts.unitOf(one), deviations: facts.deviations })
    await turn()
  }
  const more = series.length - mostCurves
  if (more > 0) yield html`<p>${more} more temperatures are not drawn; they are in the record.</p>`
  yield readingTable(told)
}

function* stepsOf(plates: readonly Plate[], told: Told): Generator<Markup> {
  const more = told.facts.leftOut.get('steps')
  if (more) yield html`<p>The first ${most.steps} steps are here; ${more} more are in the record.</p>`
  for (const plate of plates) yield* plateTable(plate, told)
}

const valueColumns = ['When', 'Labware', 'Barcode', 'Action', 'Device', 'Value', 'Result', 'Unit']

/** Reads the values again, so that they need not be kept meanwhile. */
async function* values({ facts, path, length, time }: Told): AsyncGenerator<Markup> {
  if (facts.values === 0) return yield html`<p>No value was recorded.</p>`
  let count = 0
  yield tableHead('Values that the operations gave', valueColumns)
  for await (const { rows } of rowsOfRecord(path, { length, kinds: ['value'] })) {
    if (count >= mostValues) break
    for (const row of rows.slice(0, mostValues - count)) yield valueRow(membersOf(JSON.parse(row)), time)
    count += rows.length
  }
  yield tableEnd
  if (facts.values > mostValues) yield html`<p>The first ${mostValues} values are here; the record has ${facts.values}.</p>`
}

function valueRow(row: Readonly<Record<string, unknown>>, time: ZonedTime): Markup {
  const { at, labware, barcode, action_name, device_id, name, value, unit, bytes, sha256 } = row as Record<string, string | undefined>
  const result =
    value === undefined ? `${bytes} bytes, SHA-256 ${sha256}` : shortened(typeof value === 'string' ? value : JSON.stringify(value))
  const cells: Cell[] = [
    whole(time.words(Number(at))),
    labware ?? '',
    barcode ?? '',
    action_name ?? '',
    device_id ?? '',
    name ?? '',
    result,
    unit ?? '',
  ]
  return tableRow(cells)
}
