// The layout of the chart of a run: which rows are in view, the scale of time, and the bar that a finger means.

/** `to_s` is null while it goes on. Seconds since the beginning of the run. */
export type Bar = {
  /** The id of the action or move; of a planned bar its place in the plan. */
  id: string
  kind: 'action' | 'move'
  label: string
  from_s: number
  to_s: number | null
  tone: 'planned' | 'running' | 'failed' | 'done'
}

/** A row of the chart: what was planned for a thread, and what happened. */
export type Lane = { thread: string; plan: readonly Bar[]; bars: readonly Bar[] }

/** The height of a row, which is the target of a finger. */
export const row_px = 48
/** The rows that are drawn above and below those in view, so that a scroll finds them there. */
const spare = 6

/** The drawn rows change when the scroll has gone on by this. */
export const scrollStep_px = row_px * spare

/** Returns the rows to draw, from `first` up to `end`, in steps, so that few scrolls change them. */
export function rowsInView({ top_px, height_px, rows }: { top_px: number; height_px: number; rows: number }): {
  first: number
  end: number
} {
  const atTop = Math.floor(Math.max(0, top_px) / row_px / spare) * spare
  const first = Math.max(0, Math.min(atTop - spare, rows - 1))
  return { first, end: Math.min(rows, atTop + Math.ceil(height_px / row_px) + 2 * spare) }
}

const steps = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14_400, 28_800, 86_400]

/** Returns the end of the scale: a round time behind `seconds`, so that the scale of a run that goes on seldom changes. */
export function scaleEnd(seconds: number): number {
  const step = steps.find((one) => seconds / one <= 12) ?? 86_400
  return Math.max(1, Math.ceil(seconds / step)) * step
}

/** Returns the times of the ticks, at most `most`. `began_s` makes them round times of day: the Unix time of the beginning of the run. */
export function ticksOf(end_s: number, most: number, began_s = 0): number[] {
  const step = steps.find((one) => end_s / one <= most) ?? 86_400
  const first = (step - (began_s % step)) % step
  return Array.from({ length: Math.max(0, Math.floor((end_s - first) / step) + 1) }, (_, i) => first + i * step)
}

/** The steps that happened as planned ones, of each lane that was asked about: a lane may have thousands, and is made anew when it changes. */
const pairs = new WeakMap<Lane, ReadonlyMap<Bar, Bar | undefined>>()

/** Returns the step that happened as a planned one: the n-th of a label is the n-th planned one. */
export function happenedAs(lane: Lane, planned: Bar): Bar | undefined {
  const its = pairs.get(lane) ?? pairsOf(lane)
  pairs.set(lane, its)
  return its.get(planned)
}

function pairsOf({ bars, plan }: Lane): ReadonlyMap<Bar, Bar | undefined> {
  const left = new Map<string, Bar[]>()
  const keyOf = ({ kind, label }: Bar) => `${kind} ${label}`
  for (const bar of bars.toReversed()) {
    const key = keyOf(bar)
    const alike = left.get(key)
    if (alike) alike.push(bar)
    else left.set(key, [bar])
  }
  return new Map(plan.map((planned) => [planned, left.get(keyOf(planned))?.pop()]))
}

/** Returns the steps of a thread: those that happened, then those that are planned and did not happen. */
export function stepsIn(lane: Lane): Bar[] {
  return [...lane.bars, ...lane.plan.filter((planned) => !happenedAs(lane, planned))]
}

/** Returns the bar at this time, or the nearest one. A planned step that has happened is told as it happened. */
export function barAt(lane: Lane, seconds: number, now_s: number): Bar | undefined {
  const { bars, plan } = lane
  const distance = ({ from_s, to_s }: Bar) => Math.max(from_s - seconds, seconds - (to_s ?? now_s), 0)
  const nearest = (of: readonly Bar[]) =>
    of.reduce<Bar | undefined>((best, bar) => (best && distance(best) <= distance(bar) ? best : bar), undefined)
  const [happened, planned] = [nearest(bars), nearest(plan)]
  if (planned && (!happened || distance(planned) < distance(happened))) return happenedAs(lane, planned) ?? planned
  return happened
}
