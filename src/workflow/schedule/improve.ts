// Improves a schedule: keeps the order of most visits at the devices, sets some free, and lets a narrow beam find a better order for them.

import { Beam } from './beam.ts'
import type { Weights } from './bound.ts'
import type { Progress } from './extend.ts'
import type { Model } from './model.ts'

const width = 8
/** The visits that are set free at once, and the labware. */
const visitsAtOnce = 24
const jobsAtOnce = 3

/** Goes on until the budget is used up or the schedule cannot be better. */
export function improve(model: Model, turns: readonly Int32Array[], weights: Weights, progress: Progress, isBest: () => boolean): void {
  const kept = new Int32Array(model.work.length)
  const beam = new Beam(model, { turns: [...turns, kept], everything: false }, weights, width)
  const isFree = new Uint8Array(model.work.length)
  const below = randomNumbers()
  for (let round = 0; progress.states < progress.budget && !isBest(); round++) {
    const visits = visitsOf(model, progress)
    isFree.fill(0)
    if (round % 2 === 0) {
      const first = below(Math.max(1, visits.length - visitsAtOnce / 2)) - visitsAtOnce / 4
      for (let index = Math.max(0, first); index < Math.min(visits.length, first + visitsAtOnce); index++) isFree[visits[index]!] = 1
    } else {
      for (let count = 0; count < jobsAtOnce; count++) {
        const job = below(model.jobs)
        isFree.fill(1, model.firstStop[job]!, model.firstStop[job + 1]!)
      }
    }
    keep(model, visits, isFree, kept)
    const before = progress.states
    beam.run(progress, Number.POSITIVE_INFINITY)
    if (progress.states === before) return
  }
}

/** The stops in the order in which they are begun. */
function visitsOf({ firstStop }: Model, { steps }: Progress): number[] {
  const next = firstStop.slice()
  return steps!.filter(({ option }) => option >= 0).map(({ job }) => next[job]!++)
}

/** Writes for each visit that is not free the one before it at the same devices. */
function keep({ pools, firstPool, stopPool }: Model, visits: readonly number[], isFree: Uint8Array, kept: Int32Array): void {
  const last = pools.map(() => -1)
  kept.fill(-1)
  for (const stop of visits) {
    if (isFree[stop] || firstPool[stop] === firstPool[stop + 1]) continue
    const pool = stopPool[firstPool[stop]!]!
    kept[stop] = last[pool]!
    last[pool] = stop
  }
}

/** Whole numbers that look random and are always the same. */
function randomNumbers(): (below: number) => number {
  let state = 0
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}
