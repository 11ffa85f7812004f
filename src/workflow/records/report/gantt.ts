// Draws when each labware was where, as pictures of some labware each, so that a printer cuts none of them.

import { type Axis, label_width, placeOf, rounded, timeMarks, width } from './axis.ts'
import { labelOf, type Plate, type Step } from './facts.ts'
import { html, Markup, shortened } from './markup.ts'
import { spanWords } from './time.ts'

const row_height = 18
const foot = 20
const platesPerPicture = 30
/** The approximate width of a letter. */
const letter = 5.6
const colors = ['#9ecae9', '#ffbf79', '#b5e2a8', '#e3b7eb', '#f4a6a6', '#d8c9a3', '#a8dedd', '#c9c9e8'] as const
const move_color = '#8a8a8a'

/** Numbers the devices of the actions, in the order in which they were used. */
export function devicesDrawn(plates: Iterable<Plate>): Map<string, number> {
  const numbers = new Map<string, number>()
  for (const { steps } of plates)
    for (const { kind, device } of steps) if (kind === 'action' && !numbers.has(device ?? '')) numbers.set(device ?? '', numbers.size + 1)
  return numbers
}

export function* gantt(plates: readonly Plate[], axis: Axis): Generator<Markup> {
  const numbers = devicesDrawn(plates)
  yield legend(numbers)
  for (let first = 0; first < plates.length; first += platesPerPicture) {
    const shown = plates.slice(first, first + platesPerPicture)
    const name = `Timeline of labware ${first + 1} to ${first + shown.length} of ${plates.length}`
    yield* picture(shown, { axis, numbers, name })
  }
}

function legend(numbers: ReadonlyMap<string, number>): Markup {
  const items = [...numbers].map(
    ([device, number]) =>
      html`<li>${swatch(colorOf(number), number)} ${number}: ${device === '' ? 'actions without a device' : device}</li>`,
  )
  return html`<ul class="legend">${items}<li>${swatch(move_color)} moves</li><li>${swatch('#fff', '', '#b00020')} red edge: did not complete</li></ul>
`
}

function swatch(color: string, label: string | number = '', edge = '#444'): Markup {
  return html`<svg width="22" height="14" viewBox="0 0 22 14" aria-hidden="true"><rect x="1" y="1" width="20" height="12" fill="${color}" stroke="${edge}"/><text x="11" y="11" text-anchor="middle" font-size="10">${label}</text></svg>`
}

type Drawing = { axis: Axis; numbers: ReadonlyMap<string, number>; name: string }

function* picture(plates: readonly Plate[], { axis, numbers, name }: Drawing): Generator<Markup> {
  const height = plates.length * row_height + foot
  yield html`<figure><figcaption>${name}</figcaption><svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${name}">${timeGrid(axis, height - foot)}`
  for (const [row, plate] of plates.entries()) yield* plateRow(plate, { axis, numbers, y: row * row_height })
  yield html`</svg></figure>
`
}

/** Draws the marks of the time axis down to a height. */
export function timeGrid(axis: Axis, height: number): Markup {
  return html`${timeMarks(axis).map(({ at, words }) => {
    const x = placeOf(axis, at)
    return html`<path d="M${x} 0V${height}" stroke="#ccc"/><text x="${x}" y="${height + 13}" text-anchor="middle" font-size="10">${words}</text>`
  })}`
}

type Place = { axis: Axis; numbers: ReadonlyMap<string, number>; y: number }

function* plateRow(plate: Plate, { axis, numbers, y }: Place): Generator<Markup> {
  const name = labelOf(plate)
  const label = shortened(name, Math.floor((label_width - 10) / letter) - 1)
  yield html`<text x="0" y="${y + 13}" font-size="10">${label}<title>${name}</title></text><path d="M${label_width} ${y + row_height}H${width}" stroke="#eee"/>`
  for (const step of plate.steps) yield bar(step, { axis, numbers, y })
}

function bar(step: Step, { axis, numbers, y }: Place): Markup {
  const { kind, started, ended, outcome } = step
  if (started === null && ended === null) return new Markup('')
  const from = placeOf(axis, started ?? ended!)
  const long = Math.max(1, rounded(placeOf(axis, ended ?? axis.to) - from))
  const edge = outcome === 'COMPLETED' ? '' : ' stroke="#b00020" stroke-width="1.5"'
  const title = html`<title>${titleOf(step)}</title>`
  if (kind === 'move')
    return html`<rect x="${from}" y="${y + 6}" width="${long}" height="6" fill="${move_color}"${new Markup(edge)}>${title}</rect>`
  const number = numbers.get(step.device ?? '') ?? 0
  const words = [step.name, String(number)].find((one) => one.length * letter + 4 < long)
  const text = words && html`<text x="${rounded(from + long / 2)}" y="${y + 13}" text-anchor="middle" font-size="10">${words}</text>`
  return html`<rect x="${from}" y="${y + 2}" width="${long}" height="14" fill="${colorOf(number)}"${new Markup(edge)}>${title}</rect>${text}`
}

function titleOf({ kind, name, device, from, to, started, ended }: Step): string {
  const what = kind === 'move' ? `${from ?? '?'} → ${to ?? '?'}` : [name, device && `on ${device}`].filter(Boolean).join(' ')
  return started !== null && ended !== null ? `${what}, ${spanWords(ended - started)}` : what
}

function colorOf(number: number): string {
  return colors[(number - 1) % colors.length] ?? '#ddd'
}
