// The plan of a run against what happened: which planned step a row is, and how late a plate is.

import type { GetForecastResponse, TimelineRow } from '../clients/ts/benchd.ts'
import type { Bar, Lane } from './gantt_layout.ts'
import { duration } from './words.ts'

type Planned = GetForecastResponse['gantt'][number]

/** The progress of a thread beside its plan. Seconds since the beginning of the run. */
export type Pace = {
  /** The planned end; undefined without a plan that goes so far. */
  planned_s: number | undefined
  /** The delay of the end of the last step, beside the plan; negative for early. */
  delay_s: number
  /** The time by which the next thing should have happened; undefined when everything has. */
  due_s: number | undefined
  /** The end of the last step. */
  ended_s: number
}

export type PacedLane = Lane & { pace: Pace }

/** Returns the planned bars by thread. `scale` is the number of simulated seconds in a real one. */
export function planOf(gantt: readonly Planned[], scale: number): Map<string, Bar[]> {
  const plan = new Map<string, Bar[]>()
  for (const [i, { thread_name, kind, name, device, from_s, to_s }] of gantt.entries()) {
    // Steps without a device that take no time cannot be seen.
    if (device === null && to_s === from_s) continue
    const label = kind === 'move' ? name : labelOf(name, device)
    const bar: Bar = { id: `plan ${i}`, kind, label, from_s: from_s / scale, to_s: to_s / scale, tone: 'planned' }
    const its = plan.get(thread_name)
    if (its) its.push(bar)
    else plan.set(thread_name, [bar])
  }
  return plan
}

function labelOf(name: string | null, device: string | null): string {
  return device === null ? String(name) : `${name} on ${device}`
}

/** Returns the bar of a row; undefined before it has begun, and for a step that nobody can see. */
export function barOf({ action_id, kind, name, device, from, to, started, ended, status }: TimelineRow): Bar | undefined {
  if (started === null || (device === null && kind === 'action' && ended === started)) return undefined
  const tone = status === 'ERRORED' || status === 'ABORTED' ? 'failed' : ended === null ? 'running' : 'done'
  const label = kind === 'move' ? `${from} → ${to}` : labelOf(name, device)
  return { id: action_id, kind, label, from_s: started, to_s: ended, tone }
}

/** Compares what happened with the plan: the n-th bar of a label is the n-th planned one. An action that takes another device counts by its name. */
export function paceOf(plan: readonly Bar[], bars: readonly Bar[], hasEnd = true): Pace {
  const left = [...plan]
  let [delay_s, ended_s] = [0, 0]
  let running: Bar | undefined
  for (const bar of bars) {
    const at = left.findIndex((planned) => keyOf(planned) === keyOf(bar))
    ended_s = Math.max(ended_s, bar.to_s ?? 0)
    if (at < 0) continue
    const [planned] = left.splice(at, 1)
    if (bar.to_s === null) running = planned
    else delay_s = bar.to_s - planned!.to_s!
    // The run has left out the steps that were planned before this one, or it took another branch.
    if (bar.tone !== 'failed') left.splice(0, at)
  }
  const due_s = running ? running.to_s! : left[0]?.from_s
  return { planned_s: hasEnd && plan.length ? Math.max(...plan.map(({ to_s }) => to_s!)) : undefined, delay_s, due_s, ended_s }
}

function keyOf({ kind, label }: Bar): string {
  return kind === 'action' ? label.replace(/ on [^ ]+$/, '') : label
}

/** Returns by how many seconds a thread is late now; negative for early. */
export function lateBy({ delay_s, due_s }: Pace, now_s: number): number {
  return due_s === undefined ? delay_s : Math.max(delay_s, now_s - due_s)
}

/** Returns when a thread ends, if it goes on as planned; undefined without a plan. */
export function endOf(pace: Pace, now_s: number): number | undefined {
  if (pace.planned_s === undefined) return undefined
  return pace.due_s === undefined ? pace.ended_s : Math.max(now_s, pace.planned_s + lateBy(pace, now_s))
}

/** Differences up to this many seconds, or this share of the plan, are no news. */
const [news_s, newsShare] = [5, 0.05]

/** Words a difference to the plan: `0:40 late`, `0:40 early`, `on time`. */
export function lateWords(late_s: number, planned_s: number): { word: string; isLate: boolean } {
  if (Math.abs(late_s) <= Math.max(news_s, planned_s * newsShare)) return { word: 'on time', isLate: false }
  return late_s > 0 ? { word: `${duration(late_s)} late`, isLate: true } : { word: `${duration(-late_s)} early`, isLate: false }
}

/** Words a forecast in seconds: where time is simulated, also the real time that it takes. */
export function forecastWords(makespan_s: number, scale: number): string {
  if (scale === 1) return duration(makespan_s)
  return `${duration(makespan_s)} of simulated time, about ${duration(makespan_s / scale)} in real time`
}

/** The lanes of a run, which are made anew for the threads that changed alone. */
export class RunLanes {
  readonly #plan: ReadonlyMap<string, readonly Bar[]>
  readonly #hasEnd: boolean
  readonly #rows = new Map<string, TimelineRow>()
  readonly #ofThread = new Map<string, TimelineRow[]>()
  readonly #lanes = new Map<string, PacedLane>()

  /** `hasEnd`: whether the plan goes to the end of the run. */
  constructor(plan: ReadonlyMap<string, readonly Bar[]>, hasEnd = true) {
    this.#plan = plan
    this.#hasEnd = hasEnd
    for (const [thread, planned] of plan) this.#lanes.set(thread, { thread, plan: planned, bars: [], pace: paceOf(planned, [], hasEnd) })
  }

  /** Takes the rows as they are now. Returns the lanes, in the order in which their threads began; those of the plan first. */
  take(rows: Readonly<Record<string, TimelineRow>>): PacedLane[] {
    const changed = new Set<string>()
    for (const id in rows) {
      const [row, before] = [rows[id]!, this.#rows.get(id)]
      if (row === before) continue
      this.#rows.set(id, row)
      const its = this.#ofThread.get(row.thread_name) ?? []
      this.#ofThread.set(row.thread_name, before ? its.map((one) => (one === before ? row : one)) : [...its, row])
      changed.add(row.thread_name)
    }
    for (const thread of changed) {
      const bars = this.#ofThread.get(thread)!.flatMap((row) => barOf(row) ?? [])
      bars.sort((one, other) => one.from_s - other.from_s)
      const plan = this.#plan.get(thread) ?? []
      this.#lanes.set(thread, { thread, plan, bars, pace: paceOf(plan, bars, this.#hasEnd) })
    }
    return [...this.#lanes.values()]
  }
}
