// The hops that are possible in a state.

import type { Model } from './model.ts'
import type { Hop, States } from './state.ts'

export type Rules = {
  /** Tables that say for a stop which other stop must have been begun before; -1 for none. */
  readonly turns: readonly Int32Array[]
  /** Every hop that is possible, also those that are hardly ever good: for the search that looks for any schedule at all. */
  readonly everything: boolean
  /** For each stop a time before which no labware arrives there. */
  readonly soonest?: Float64Array
}

/** Calls back for each hop from a state, with the job, the place and the option (-1 for a buffer) written into `hop`; the callback returns whether the hop is possible. */
export class Hops {
  readonly #states: States
  readonly #rules: Rules
  /** For each place: how many labware may go there next, and how many of these wait in a buffer. */
  readonly #wanted: Int32Array
  readonly #staged: Int32Array
  /** For each place: the weight of the most important labware that is yet to come there. */
  readonly #claim: Float64Array

  constructor(states: States, rules: Rules) {
    this.#states = states
    this.#rules = rules
    this.#wanted = new Int32Array(states.model.places)
    this.#staged = new Int32Array(states.model.places)
    this.#claim = new Float64Array(states.model.places)
  }

  each(slot: number, hop: Hop, visit: () => boolean): void {
    const { jobs, firstStop } = this.#states.model
    this.#readWanted(slot)
    if (this.#states.model.runs > 0) this.#readClaims(slot)
    for (let job = 0; job < jobs; job++) {
      const next = this.#states.stop[slot * jobs + job]!
      if (next === firstStop[job + 1]! - 1) continue
      hop.job = job
      hop.from = this.#states.at[slot * jobs + job]!
      const canGoOn = this.#toStop(slot, next, hop, visit)
      if (this.#mayWait(hop, next, canGoOn)) this.#toBuffers(slot, hop, visit)
    }
  }

  #readWanted(slot: number): void {
    const { jobs, firstStop, firstOption, optionPlace, isBuffer, places } = this.#states.model
    this.#wanted.fill(0)
    this.#staged.fill(0)
    for (let job = 0; job < jobs; job++) {
      const next = this.#states.stop[slot * jobs + job]!
      if (next === firstStop[job + 1]! - 1) continue
      const isStaged = isBuffer[job * places + this.#states.at[slot * jobs + job]!]!
      for (let index = firstOption[next]!; index < firstOption[next + 1]!; index++) {
        this.#wanted[optionPlace[index]!]!++
        this.#staged[optionPlace[index]!]! += isStaged
      }
    }
  }

  #readClaims(slot: number): void {
    const { jobs, firstStop, firstOption, optionPlace, runOf, weight } = this.#states.model
    this.#claim.fill(0)
    for (let job = 0; job < jobs; job++) {
      const done = firstStop[job + 1]! - 1
      if (runOf[job]! < 0) continue
      for (let index = firstOption[this.#states.stop[slot * jobs + job]!]!; index < firstOption[done]!; index++)
        if (weight[job]! > this.#claim[optionPlace[index]!]!) this.#claim[optionPlace[index]!] = weight[job]!
    }
  }

  /** Whether labware would go where more important labware is yet to come. */
  #wouldHinder(job: number, next: number): boolean {
    const { firstOption, optionPlace, weight } = this.#states.model
    for (let index = firstOption[next]!; index < firstOption[next + 1]!; index++)
      if (this.#claim[optionPlace[index]!]! > weight[job]!) return true
    return false
  }

  #toStop(slot: number, next: number, hop: Hop, visit: () => boolean): boolean {
    const { model, holder } = this.#states
    const { firstOption, optionPlace, isStorage, places } = model
    let canGoOn = false
    if (!this.#isInTurn(slot, next)) return false
    for (let index = firstOption[next]!; index < firstOption[next + 1]!; index++) {
      const place = optionPlace[index]!
      if (place !== hop.from && !isStorage[place] && holder[slot * places + place]! >= 0) continue
      if (this.#isAsGood(slot, next, index)) continue
      hop.to = place
      hop.option = index
      if (visit()) canGoOn = true
    }
    return canGoOn
  }

  #isInTurn(slot: number, next: number): boolean {
    const { model, stop } = this.#states
    for (const turn of this.#rules.turns) {
      const first = turn[next]!
      if (first >= 0 && stop[slot * model.jobs + model.jobOf[first]!]! <= first) return false
    }
    return true
  }

  /** Whether an earlier option is reached alike, takes as long and is free at least as early. */
  #isAsGood(slot: number, next: number, option: number): boolean {
    const { model, holder, freeFrom } = this.#states
    const { firstOption, optionPlace, optionSeconds, groupOf, isStorage, places } = model
    const place = optionPlace[option]!
    for (let index = firstOption[next]!; index < firstOption[next + 1]!; index++) {
      const other = optionPlace[index]!
      if (index === option || groupOf[other] !== groupOf[place] || optionSeconds[index] !== optionSeconds[option]) continue
      if (isStorage[other] !== isStorage[place] || holder[slot * places + other]! >= 0) continue
      const [mine, its] = [freeFrom[slot * places + place]!, freeFrom[slot * places + other]!]
      if (its < mine || (its === mine && index < option)) return true
    }
    return false
  }

  #mayWait(hop: Hop, next: number, canGoOn: boolean): boolean {
    const { isStorage, isBuffer, places } = this.#states.model
    if (isStorage[hop.from]) return !canGoOn && this.#isWorthStaging(hop.from, next)
    if (this.#rules.everything) return true
    if (isBuffer[hop.job * places + hop.from] || this.#wanted[hop.from] === 0) return false
    return !canGoOn || this.#wouldHinder(hop.job, next)
  }

  /** Whether labware may come out of a storage before its device is free: if its way has several hops, and no more labware waits near the devices than they take. */
  #isWorthStaging(from: number, next: number): boolean {
    const { firstOption, optionPlace, firstLeg, groupOf, groups } = this.#states.model
    const first = optionPlace[firstOption[next]!]!
    const way = groupOf[from]! * groups + groupOf[first]!
    return firstLeg[way + 1]! - firstLeg[way]! > 1 && this.#staged[first]! < firstOption[next + 1]! - firstOption[next]!
  }

  #toBuffers(slot: number, hop: Hop, visit: () => boolean): void {
    const { model, holder } = this.#states
    const { firstBuffer, buffer, places } = model
    hop.option = -1
    for (let index = firstBuffer[hop.job]!; index < firstBuffer[hop.job + 1]!; index++) {
      const place = buffer[index]!
      if (holder[slot * places + place]! >= 0) continue
      if (this.#hasTwin(slot, hop.job, place)) continue
      hop.to = place
      visit()
    }
  }

  /** Whether another free buffer is reached alike, is free at least as early, and is of less use to others. */
  #hasTwin(slot: number, job: number, place: number): boolean {
    const { model, holder, freeFrom } = this.#states
    const { firstBuffer, buffer, groupOf, places } = model
    const mine = freeFrom[slot * places + place]!
    for (let index = firstBuffer[job]!; index < firstBuffer[job + 1]!; index++) {
      const other = buffer[index]!
      if (other === place || groupOf[other] !== groupOf[place]) continue
      if (holder[slot * places + other]! >= 0 || freeFrom[slot * places + other]! > mine) continue
      const [use, useOfOther] = [this.#use(place), this.#use(other)]
      if (useOfOther < use || (useOfOther === use && (freeFrom[slot * places + other]! < mine || other < place))) return true
    }
    return false
  }

  #use(place: number): number {
    return this.#wanted[place]! * this.#states.model.jobs + this.#states.model.sharers[place]!
  }
}

/** Finds out whether labware is locked for good: none of it can move unless other locked labware moves first. */
export function isLocked(states: States, slot: number, locked: Uint8Array): boolean {
  const { model, stop } = states
  const { jobs, firstStop } = model
  let count = 0
  for (let job = 0; job < jobs; job++) {
    locked[job] = Number(stop[slot * jobs + job]! < firstStop[job + 1]! - 1)
    count += locked[job]!
  }
  for (let before = -1; before !== count; ) {
    before = count
    for (let job = 0; job < jobs; job++) {
      if (!locked[job] || !hasWayOn(states, slot, job, locked)) continue
      locked[job] = 0
      count--
    }
  }
  return count > 0
}

function hasWayOn({ model, stop, at, holder }: States, slot: number, job: number, locked: Uint8Array): boolean {
  const { jobs, places, firstOption, optionPlace, isStorage, firstBuffer, buffer } = model
  const from = at[slot * jobs + job]!
  const next = stop[slot * jobs + job]!
  const isOpen = (place: number) => {
    const other = holder[slot * places + place]!
    return place === from || isStorage[place] === 1 || other < 0 || (locked[other] === 0 && !isFinished(model, stop, slot, other))
  }
  for (let index = firstOption[next]!; index < firstOption[next + 1]!; index++) if (isOpen(optionPlace[index]!)) return true
  if (isStorage[from]) return false
  for (let index = firstBuffer[job]!; index < firstBuffer[job + 1]!; index++)
    if (buffer[index] !== from && isOpen(buffer[index]!)) return true
  return false
}

const isFinished = (model: Model, stop: Int32Array, slot: number, job: number) =>
  stop[slot * model.jobs + job] === model.firstStop[job + 1]! - 1
