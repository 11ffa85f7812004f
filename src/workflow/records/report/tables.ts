// The tables of a report about the whole run, and its signature lines.

import { authorText } from '../../../kit/author.ts'
import { classes, labelOf, membersOf, most, type Plate, type ReportFacts, type Step, wordsOf } from './facts.ts'
import { type Cell, html, Markup, shortened, tableEnd, tableHead, tableOf, tableRow, whole } from './markup.ts'
import { placeAfter } from './steps.ts'
import type { Told } from './told.ts'

type Row = Readonly<Record<string, unknown>>

const none = new Markup('')

/** Says how many entries are not listed. */
function more(facts: ReportFacts, kind: string): Markup {
  const count = facts.leftOut.get(kind)
  return count ? html`<p>${count} more are not listed here; they are in the record.</p>` : none
}

const deviationColumns = ['When', 'What', 'Labware', 'Device', 'Decided by', 'In words']

/** Yields the table row by row, as `plateTableOfAll` does: both can be long. */
export function* deviationTable({ facts, time }: Told): Generator<Markup> {
  if (facts.deviations.length === 0)
    yield html`<p>None: no window was missed, no step failed, no incident was recorded, and nobody had to decide anything.</p>`
  else {
    yield tableHead('What went wrong, and who decided what', deviationColumns)
    for (const { at, what, about, device, who, text } of facts.deviations) {
      const kind = who === null ? html`<strong>${what}</strong>` : what
      yield tableRow([whole(time.words(at)), kind, about, device ?? '', who ?? '', text])
    }
    yield tableEnd
  }
  for (const [name, words] of Object.entries(classes)) {
    const count = facts.counts[name as keyof typeof classes] - most.deviations
    if (count > 0) yield html`<p>${count} more ${words} are not listed here; they are in the record.</p>`
  }
  if (facts.emitted > 0)
    yield html`<p>Events emitted by people and programs: ${facts.emitted}. They are not listed here; they are in the record.</p>`
}

/** Leaves out the operations of the run itself. */
export function labwareOf(plates: readonly Plate[]): Plate[] {
  return plates.filter(({ part }) => part === null)
}

const plateColumns = ['Labware', 'Barcode', 'Group', 'Outcome', 'From', 'To', 'First step', 'Last step ended', 'Steps', 'Not completed']

export function* plateTableOfAll(plates: readonly Plate[], { facts, time }: Told): Generator<Markup> {
  if (plates.length === 0) return yield html`<p>No labware was recorded.</p>`
  yield tableHead('Labware of the run', plateColumns)
  for (const { name, barcode, group, status, steps } of plates) {
    const moves = steps.filter(({ kind }) => kind === 'move')
    const [first, last] = [steps[0], steps.at(-1)]
    const failed = steps.filter(({ outcome }) => outcome !== 'COMPLETED').length
    yield tableRow([
      ...[name, barcode ?? '–', group ?? '–', status?.toLowerCase() ?? '–'],
      ...[moves[0]?.from ?? '–', moves.length > 0 ? placeAfter(moves.at(-1)!) : '–'],
      ...[time.words(first && startOf(first)), time.words(last?.ended), steps.length, failed],
    ])
  }
  yield tableEnd
  if (facts.leftOut.get('plates')) yield html`<p>Only the first ${most.plates} labware are listed here.</p>`
}

function startOf({ started, ended }: Step): number | null {
  return started ?? ended
}

const deviceMembers = ['device_id', 'type', 'driver', 'is_simulated', 'model', 'serial', 'firmware']

export function deviceTables({ facts, time }: Told): Markup {
  const rows = facts.devices.map((row) => [time.words(Number(row.at)), ...deviceMembers.map((name) => deviceWords(name, row[name]))])
  const columns = ['First used', 'Device', 'Type', 'Driver', 'Simulated', 'Model', 'Serial number', 'Firmware']
  const devices = rows.length > 0 ? tableOf('Devices as they were', columns, rows) : namesOnly(facts)
  return html`${devices}${more(facts, 'devices')}${teachpoints(facts, (at) => time.words(at))}`
}

function deviceWords(name: string, value: unknown): string {
  if (name === 'is_simulated') return value === true ? 'yes' : value === false ? 'no' : 'not known'
  return wordsOf(value) || 'not known'
}

/** Older records have no identities. */
function namesOnly(facts: ReportFacts): Markup {
  const names = new Set(
    [...facts.plates.values()].flatMap(({ steps }) => steps.flatMap(({ device, transporter }) => device ?? transporter ?? [])),
  )
  if (names.size === 0) return html`<p>No device was used.</p>`
  return html`<p>Devices used: ${[...names].join(', ')}. The record has no serial numbers and no firmware.</p>`
}

function teachpoints(facts: ReportFacts, words: (at: number) => string): Markup {
  if (facts.teachpoints.length === 0) return none
  const rows = facts.teachpoints.map(({ at, transporter, position, teachpoint }: Row) => [
    ...[words(Number(at)), wordsOf(transporter), wordsOf(position), shortened(coordinates(teachpoint))],
  ])
  return html`${tableOf('Teachpoints as they were', ['First used', 'Transporter', 'Position', 'Coordinates'], rows)}${more(facts, 'teachpoints')}`
}

function coordinates(teachpoint: unknown): string {
  const { coords } = membersOf(teachpoint)
  const all = Object.entries(membersOf(coords)).map(([name, value]) => `${name} ${wordsOf(value)}`)
  return all.join(', ') || wordsOf(teachpoint)
}

export function readingTable({ facts }: Told): Markup {
  const rows = [...facts.series.values()].flatMap((one): Cell[][] => {
    const spread = one.spread()
    if (!spread) return []
    const { lowest, highest, target } = spread
    return [[one.device, one.name, facts.unitOf(one), one.seen, lowest, highest, target ?? '–']]
  })
  if (rows.length === 0) return html`<p>No reading was recorded.</p>`
  return tableOf('Readings', ['Device', 'Reading', 'Unit', 'Number', 'Lowest', 'Highest', 'Last target'], rows)
}

export function fileTables({ facts, time }: Told): Markup {
  const files = facts.files.map(({ at, by, operator, name, media_type, bytes, sha256, device_id, note, ...row }: Row) => [
    ...[time.words(Number(at)), wordsOf(name), wordsOf(media_type), wordsOf(bytes), wordsOf(sha256)],
    ...[
      authorText(by, operator) || wordsOf(device_id),
      labelOf({ name: wordsOf(row.labware), barcode: wordsOf(row.barcode) }),
      wordsOf(note),
    ],
  ])
  const notes = facts.notes.map(({ at, by, operator, text, tags }: Row) => {
    const all = Array.isArray(tags) ? tags.map(wordsOf).join(', ') : ''
    return [time.words(Number(at)), authorText(by, operator), wordsOf(text), all]
  })
  const fileColumns = ['When', 'Name', 'Type', 'Bytes', 'SHA-256', 'From', 'Labware', 'Note']
  const fileTable = files.length > 0 ? tableOf('Files', fileColumns, files) : html`<p>No file was attached.</p>`
  const noteTable = notes.length > 0 ? tableOf('Notes', ['When', 'By', 'Note', 'Tags'], notes) : html`<p>No note was added.</p>`
  return html`${fileTable}${more(facts, 'files')}${noteTable}${more(facts, 'notes')}`
}

/** Lines that are signed by hand on paper. */
export function signatures({ execution }: Told): Markup {
  const line = (role: string) =>
    html`<div class="signature"><div><strong>${role}</strong></div><div class="line">Name</div><div class="line">Signature</div><div class="line">Date</div></div>
`
  return html`<section><h2>Signatures</h2>
<p>Run ${execution.execution_id}</p>
${['Performed by', 'Reviewed by', 'Approved by'].map(line)}</section>
</main></body></html>
`
}
