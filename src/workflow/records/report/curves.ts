// Draws the temperatures of devices over the run, with their targets and the deviations of those devices.

import { type Axis, label_width, placeOf, rounded, valueMarks, width } from './axis.ts'
import type { Deviation } from './facts.ts'
import { timeGrid } from './gantt.ts'
import { html, type Markup } from './markup.ts'
import type { Series } from './series.ts'

const height = 130
const foot = 20
/** The most parts of the time of which the lowest and the highest value are drawn. */
const parts = 600
/** A pause after which the line begins anew, because the run did not use the device: s. */
const pause_s = 60

type Drawing = { axis: Axis; unit: string; deviations: readonly Deviation[] }

/** Draws one reading. Each part of the time shows its lowest and its highest value, so that no peak is lost. */
export function curve(series: Series, { axis, unit, deviations }: Drawing): Markup {
  const { lowest, highest } = boundsOf(series)
  const y = (value: number) => rounded(4 + ((highest - value) / (highest - lowest)) * (height - 8))
  const name = `${series.device}: ${series.name}${unit && ` in ${unit}`}`
  const marks = valueMarks(lowest, highest).map(
    (value) =>
      html`<path d="M${label_width} ${y(value)}H${width}" stroke="#eee"/><text x="${label_width - 6}" y="${y(value) + 4}" text-anchor="end" font-size="10">${value}</text>`,
  )
  // Alarms at the same place of the drawing are one line.
  const alarms = new Map<number, string>()
  for (const { device, who, at, text } of deviations) {
    if (device !== series.device || who !== null || at === null) continue
    const x = Math.round(placeOf(axis, at))
    if (!alarms.has(x)) alarms.set(x, text)
  }
  const alarmLines = [...alarms].map(
    ([x, text]) => html`<path d="M${x} 0V${height}" stroke="#b00020" stroke-width="1.5"><title>${text}</title></path>`,
  )
  return html`<figure><figcaption>${name}</figcaption><svg viewBox="0 0 ${width} ${height + foot}" role="img" aria-label="${name} over time">${timeGrid(axis, height)}${marks}<path d="${targetPath(series, axis, y)}" fill="none" stroke="#b35c00" stroke-width="1.2" stroke-dasharray="5 3"/><path d="${valuePath(series, axis, y)}" fill="none" stroke="#0b4f8a" stroke-width="1.2"/>${alarmLines}</svg></figure>
`
}

export const curvesLegend = html`<ul class="legend"><li><svg width="26" height="10" aria-hidden="true"><path d="M0 5H26" stroke="#0b4f8a" stroke-width="2"/></svg> measured</li><li><svg width="26" height="10" aria-hidden="true"><path d="M0 5H26" stroke="#b35c00" stroke-width="2" stroke-dasharray="5 3"/></svg> target</li><li><svg width="10" height="12" aria-hidden="true"><path d="M5 0V12" stroke="#b00020" stroke-width="2"/></svg> fault or incident of this device, see the deviations</li></ul>
`

/** Returns the ends of the axis of values, with the targets, and room around them. */
function boundsOf({ values, targets }: Series): { lowest: number; highest: number } {
  let [lowest, highest] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (const list of [values, targets])
    for (const value of list) {
      if (Number.isNaN(value)) continue
      lowest = Math.min(lowest, value)
      highest = Math.max(highest, value)
    }
  const room = Math.max((highest - lowest) * 0.1, 0.5)
  return { lowest: lowest - room, highest: highest + room }
}

type Y = (value: number) => number

function valuePath({ at, values }: Series, axis: Axis, y: Y): string {
  const part_s = Math.max((axis.to - axis.from) / parts, 1e-6)
  let path = ''
  for (let i = 0; i < at.length; ) {
    const isBeginning = i === 0 || at[i]! - at[i - 1]! > Math.max(pause_s, 3 * part_s)
    const part = Math.floor((at[i]! - axis.from) / part_s)
    let [lowest, highest, next] = [i, i, i + 1]
    for (; next < at.length && Math.floor((at[next]! - axis.from) / part_s) === part; next++) {
      if (values[next]! < values[lowest]!) lowest = next
      if (values[next]! > values[highest]!) highest = next
    }
    const drawn = [...new Set([Math.min(lowest, highest), Math.max(lowest, highest)])]
    const points = drawn.map((one) => `${placeOf(axis, at[one]!)} ${y(values[one]!)}`)
    // A lone sample is a dot, which needs a length to be seen.
    path += `${isBeginning ? 'M' : 'L'}${points.join('L')}${isBeginning ? 'h0.6' : ''}`
    i = next
  }
  return path
}

/** Draws a target as steps, where it changes and where it ends. */
function targetPath({ at, targets }: Series, axis: Axis, y: Y): string {
  let path = ''
  for (let i = 0; i < at.length; i++) {
    const [before, now, after] = [targets[i - 1] ?? Number.NaN, targets[i]!, targets[i + 1] ?? Number.NaN]
    if (Number.isNaN(now) || (now === before && now === after)) continue
    const x = placeOf(axis, at[i]!)
    path += Number.isNaN(before) ? `M${x} ${y(now)}` : `H${x}V${y(now)}`
  }
  return path
}
