// The table of one labware: where it was, when, at which temperature, and what was done with it.

import { begunAt, labelOf, type Plate, type ReportFacts, type Step } from './facts.ts'
import { type Cell, html, type Markup, tableEnd, tableHead, tableRow, whole } from './markup.ts'
import { joined, type Series, type Spread } from './series.ts'
import { spanWords, type ZonedTime } from './time.ts'

const columns = ['Began', 'Took', 'Step', 'Where', 'Temperature there', 'Outcome']

/** The end of the run, or of the record of an open run; Unix time, s. */
type Around = { facts: ReportFacts; time: ZonedTime; until: number }

export function* plateTable(plate: Plate, around: Around): Generator<Markup> {
  const { group, thread, status } = plate
  const steps = [...plate.steps, ...plate.asides].sort((one, other) => begunAt(one) - begunAt(other))
  const about = [group && `group ${group}`, thread && `thread ${thread}`, status?.toLowerCase()].filter(Boolean).join(', ')
  const caption = `${labelOf(plate)}${about && `: ${about}`}`
  if (steps.length === 0) return yield html`<p><strong>${caption}</strong>: no step was recorded.</p>`
  yield tableHead(caption, columns)
  let place = steps.find(({ kind }) => kind === 'move')?.from ?? null
  const left = timesOfLeaving(steps, around.until)
  for (const [i, step] of steps.entries()) {
    if (step.kind === 'move') place = placeAfter(step)
    yield tableRow(step.kind === 'move' ? moveRow(step, left[i]!, around) : actionRow(step, place, around))
  }
  yield tableEnd
}

/** Returns for each step when the next move began. */
function timesOfLeaving(steps: readonly Step[], until: number): number[] {
  const left: number[] = []
  let next = until
  for (let i = steps.length - 1; i >= 0; i--) {
    left[i] = next
    if (steps[i]!.kind === 'move') next = steps[i]!.started ?? next
  }
  return left
}

/** Returns the place of a labware after a move; both places if the move was cut off. */
export function placeAfter({ outcome, from, to }: Step): string | null {
  return outcome === 'COMPLETED' ? to : [from, to].filter(Boolean).join(' or ')
}

function actionRow(step: Step, place: string | null, { facts, time, until }: Around): Cell[] {
  const where = [place, step.device && step.device !== place && `in ${step.device}`].filter(Boolean).join(' ')
  const { started, ended } = step
  // A short action may have no reading but those at its beginning and its end, which may be up to 2 s away.
  const temperature =
    started === null ? '' : temperatureWords(facts.temperaturesOf(step.device), [started, ended ?? until], facts.temperaturesAt(step))
  return [whole(time.words(started ?? ended)), whole(took(step)), what(step), where || '–', temperature || '–', outcomeCell(step)]
}

/** The temperature of a move is that of the place where it leads, for as long as the labware stood there. */
function moveRow(step: Step, left: number, { facts, time }: Around): Cell[] {
  const { from, to, transporter, started, ended } = step
  const device = facts.deviceAt(to)
  const words = device === null || ended === null ? '' : temperatureWords(facts.temperaturesOf(device), [ended, left])
  const where = `${from ?? '?'} → ${to ?? '?'}`
  return [
    ...[whole(time.words(started ?? ended)), whole(took(step)), transporter ? `Move by ${transporter}` : 'Move', where],
    ...[words ? `${words}, until ${time.words(left).slice(11)}` : '–', outcomeCell(step)],
  ]
}

function what({ name, what }: Step): string {
  if (what === '' || what === name) return name
  return what.startsWith(`${name}:`) || what.startsWith(`${name};`) ? what : `${name} (${what})`
}

function took({ started, ended }: Step): string {
  return started === null || ended === null ? '–' : spanWords(ended - started)
}

const completed = whole('completed')

function outcomeCell({ kind, outcome, error }: Step): Cell {
  if (kind === 'condition' || kind === 'wait') return outcome || '–'
  if (outcome === 'COMPLETED') return completed
  return html`<strong>${outcome.toLowerCase() || 'not known'}</strong>${error && `: ${error}`}`
}

/** Words the temperatures of a time, and of other readings: `36.9 to 37.1 °C (target 37)`. */
function temperatureWords(series: readonly Series[], [from, to]: readonly [number, number], others?: ReadonlyMap<Series, Spread>): string {
  const words = series.flatMap((one) => {
    const spread = joined(others?.get(one), one.spread(from, to))
    if (!spread) return []
    const { lowest, highest, target } = spread
    const range = lowest === highest ? `${tenth(lowest)}` : `${tenth(lowest)} to ${tenth(highest)}`
    const name = series.length > 1 ? `${one.name} ` : ''
    return [`${name}${range} °C${target === null ? '' : ` (target ${tenth(target)})`}`]
  })
  return words.join(', ')
}

function tenth(value: number): number {
  return Math.round(value * 10) / 10
}
