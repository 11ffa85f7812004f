// The tables of a report about the whole run, and its signature lines.

import { labelOf, membersOf, most, type Plate, type ReportFacts, type Step, wordsOf } from './facts.ts'
import { type Cell, html, Markup, shortened, tableOf, whole } from './markup.ts'
import { placeAfter } from './steps.ts'
import type { Told } from './told.ts'

type Row = Readonly<Record<string, unknown>>

const none = new Markup('')

/** Says how many entries are not listed. */
function more(facts: ReportFacts, kind: string): Markup {
  const count = facts.leftOut.get(kind)
  return count ? html`<p>${count} more are not listed here; they are in the record.</p>` : none
}

export function deviationTable({ facts, time }: Told): Markup {
  if (facts.deviations.length === 0)
    return html`<p>None: no window was missed, no step failed, no incident was recorded, and nobody had to decide anything.</p>`
  const rows = facts.deviations.map(({ at, what, about, device, who, text }): Cell[] => [
    ...[whole(time.words(at)), who === null ? html`<strong>${what}</strong>` : what, about, device ?? ''],
    ...[who ?? '', shortened(text, 1000)],
  ])
  return html`${tableOf('What went wrong, and who decided what', ['When', 'What', 'Labware', 'Device', 'Decided by', 'In words'], rows)}${more(facts, 'deviations')}`
}

export function plateTableOfAll(plates: readonly Plate[], { facts, time }: Told): Markup {
  if (plates.length === 0) return html`<p>No labware was recorded.</p>`
  const rows = plates.map((plate): Cell[] => {
    const moves = plate.steps.filter(({ kind }) => kind === 'move')
    const [first, last] = [plate.steps[0], plate.steps.at(-1)]
    const failed = plate.steps.filter(({ outcome }) => outcome !== 'COMPLETED').length
    return [
      ...[plate.name, plate.barcode ?? '–', plate.group ?? '–', plate.status?.toLowerCase() ?? '–'],
      ...[moves[0]?.from ?? '–', moves.length > 0 ? placeAfter(moves.at(-1)!) : '–'],
      ...[time.words(first && startOf(first)), time.words(last?.ended), plate.steps.length, failed],
    ]
  })
  const columns = ['Labware', 'Barcode', 'Group', 'Outcome', 'From', 'To', 'First step', 'Last step ended', 'Steps', 'Not completed']
  const missing = facts.leftOut.get('plates') ? html`<p>Only the first ${most.plates} labware are listed here.</p>` : none
  return html`${tableOf('Labware of the run', columns, rows)}${missing}`
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
  const files = facts.files.map(({ at, by, name, media_type, bytes, sha256, device_id, note, ...row }: Row) => [
    ...[time.words(Number(at)), wordsOf(name), wordsOf(media_type), wordsOf(bytes), wordsOf(sha256)],
    ...[wordsOf(by) || wordsOf(device_id), labelOf({ name: wordsOf(row.labware), barcode: wordsOf(row.barcode) }), wordsOf(note)],
  ])
  const notes = facts.notes.map(({ at, by, text, tags }: Row) => {
    const all = Array.isArray(tags) ? tags.map(wordsOf).join(', ') : ''
    return [time.words(Number(at)), wordsOf(by), wordsOf(text), all]
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
