// What a schedule costs, and what it costs at least after a hop. Missed windows count first, then what is to be minimized.

import { type Hop, isAtStart, missed, type States } from './state.ts'

/** What the rater knows of the state after a hop. */
export type After = {
  readonly soonest: number
  /** When a place for a stop is free at the earliest. */
  comes(stop: number): number
}

/** The cost of a complete schedule. Ties are decided by the sum of the ends. */
export function costOf(states: States, slot: number): number {
  const { objective } = states.model.problem
  const [end, flow, open] = [states.end[slot]!, states.flow[slot]!, states.open[slot]!]
  const main = objective === 'makespan' ? end : objective === 'flow_time' ? flow : open
  const tie = objective === 'makespan' ? flow / states.model.jobs : end
  return states.excess[slot]! * missed + main + 1e-6 * tie
}

/** Sums over all labware what is certain after a hop. The numbers are members, so that none is allocated. */
export class Sums {
  /** The longest journey, the sum of the ends, the time that labware stands open, and the seconds by which windows are missed: at least. */
  most = 0
  ends = 0
  flow = 0
  open = 0
  excess = 0

  of(states: States, slot: number, hop: Hop, after: After): void {
    const { jobs, firstStop, tail, hopIn, within, weight, optionSeconds } = states.model
    this.most = this.ends = 0
    this.flow = states.flow[slot]!
    this.open = states.open[slot]!
    this.excess = states.excess[slot]!
    for (let job = 0; job < jobs; job++) {
      let next = states.stop[slot * jobs + job]!
      let at = states.at[slot * jobs + job]!
      let now = states.ready[slot * jobs + job]!
      let since = states.since[slot * jobs + job]!
      const isMoved = job === hop.job
      const done = firstStop[job + 1]! - 1
      if (isMoved && hop.option >= 0) {
        this.#arrive(states, hop, next, since)
        now = since = hop.end + optionSeconds[hop.option]!
        at = hop.to
        if (++next === done) this.flow += weight[job]! * now
      } else if (isMoved) {
        now = hop.end
        at = hop.to
      }
      if (next === done) {
        this.ends += now
        if (now > this.most) this.most = now
        continue
      }
      const leaves = Math.max(now, after.soonest, after.comes(next))
      const end = leaves + tail[next]!
      this.ends += end
      this.flow += weight[job]! * end
      if (end > this.most) this.most = end
      if (!isAtStart(states.model, job, next, at)) this.open += weight[job]! * (leaves + hopIn[next]! - since)
      if (within[next]! < Number.POSITIVE_INFINITY) this.excess += weight[job]! * Math.max(0, leaves + hopIn[next]! - since - within[next]!)
    }
  }

  #arrive({ model }: States, hop: Hop, stop: number, since: number): void {
    const weight = model.weight[hop.job]!
    if (!isAtStart(model, hop.job, stop, hop.from)) this.open += weight * (hop.end - since)
    this.excess += weight * Math.max(0, hop.end - since - model.within[stop]!)
  }
}
