// Holds windows without another order of hops: where labware would wait too long, the hop to the stop before begins later.

import { costOf } from './objective.ts'
import type { Step } from './rows.ts'
import { Hop, type States } from './state.ts'

/** A delay makes others necessary. After so many rounds the windows count as impossible in this order. */
const roundsAtMost = 60

/** Less is no more than the rounding of sums. */
const slack = 1e-6

export type Timed = { readonly cost: number; readonly steps: readonly Step[] }

/** Returns the same hops with other starts: the best that was found. */
export function retimed(states: States, steps: readonly Step[]): Timed {
  let best: Timed = { cost: Number.POSITIVE_INFINITY, steps }
  let now = [...steps]
  for (let round = 0; round < roundsAtMost; round++) {
    const later = [...now]
    const cost = replay(states, now, later)
    if (cost < best.cost) best = { cost, steps: now }
    if (later.every((step, index) => step === now[index])) break
    now = later
  }
  return best
}

/** Makes all hops, and returns the cost, infinity if a hop is impossible. Writes hops that have to begin later into `later`. */
function replay(states: States, steps: readonly Step[], later: Step[]): number {
  const { model } = states
  const hop = new Hop()
  const last = new Map<number, { index: number; start: number }>()
  states.begin(0)
  for (const [index, { job, to, option, earliest }] of steps.entries()) {
    hop.job = job
    hop.from = states.at[job]!
    hop.to = to
    hop.option = option
    if (!states.time(0, hop, earliest)) return Number.POSITIVE_INFINITY
    const missed = option < 0 ? 0 : hop.end - states.since[job]! - model.within[states.stop[job]!]!
    const before = last.get(job)
    if (missed > slack && before) later[before.index] = { ...steps[before.index]!, earliest: before.start + missed }
    if (option >= 0) last.set(job, { index, start: hop.start })
    states.apply(0, hop)
  }
  return costOf(states, 0)
}
