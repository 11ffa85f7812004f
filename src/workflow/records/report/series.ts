// The readings of a device during a run, small enough to be kept whole, and thinned where they are very many.

/** The most samples of one series, and of all series of a report. Beyond that, samples are thinned into pairs. */
export const mostSamples = { series: 40_000, all: 400_000 } as const

/** The lowest and the highest value of a time, and the target that was in force last. */
export type Spread = { lowest: number; highest: number; target: number | null }

/** Returns the spread of two times together. */
export function joined(one: Spread | undefined, other: Spread | undefined): Spread | undefined {
  if (!one || !other) return one ?? other
  const [lowest, highest] = [Math.min(one.lowest, other.lowest), Math.max(one.highest, other.highest)]
  return { lowest, highest, target: other.target ?? one.target }
}

/**
 * A reading of a device over time, with its target. Samples come in the order of their times. Of each `#bucket` samples, the lowest and the highest are kept with
 * their times, so that thinning loses no peak.
 */
export class Series {
  readonly device: string
  readonly name: string
  readonly at: number[] = []
  readonly values: number[] = []
  /** NaN where there was no target. */
  readonly targets: number[] = []
  /** The samples of which a pair is kept, and how many of them the last pair has. */
  #bucket = 2
  #filled = 0
  #seen = 0

  constructor(device: string, name: string) {
    this.device = device
    this.name = name
  }

  /** The number of samples in the record. */
  get seen(): number {
    return this.#seen
  }

  add(at: number, value: number, target: number | undefined): void {
    this.#seen++
    this.at.push(at)
    this.values.push(value)
    this.targets.push(target ?? Number.NaN)
    const end = this.at.length
    if (this.#filled >= 2) this.#cut(this.#keepPair(end - 3, end, end - 3))
    this.#filled = (this.#filled + 1) % this.#bucket
    if (end >= mostSamples.series) this.thin()
  }

  /** Halves the number of samples. */
  thin(): void {
    const { length } = this.at
    const whole = (length - Math.min(this.#filled, 2)) / 2
    let end = 0
    for (let i = 0; i < length; i += 4) end = this.#keepPair(i, Math.min(i + 4, length), end)
    this.#cut(end)
    if (whole % 2 === 1) this.#filled += this.#bucket
    this.#bucket *= 2
  }

  /** Returns the spread of the samples of a time; undefined if there is none. */
  spread(from = Number.NEGATIVE_INFINITY, to = Number.POSITIVE_INFINITY): Spread | undefined {
    let [lowest, highest, target] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, Number.NaN]
    for (let i = this.#first(from); i < this.at.length && this.at[i]! <= to; i++) {
      lowest = Math.min(lowest, this.values[i]!)
      highest = Math.max(highest, this.values[i]!)
      if (!Number.isNaN(this.targets[i]!)) target = this.targets[i]!
    }
    return lowest > highest ? undefined : { lowest, highest, target: Number.isNaN(target) ? null : target }
  }

  /** Moves the lowest and the highest of some samples to `to`, in the order of their times, with the last target. Returns where the next one goes. */
  #keepPair(from: number, end: number, to: number): number {
    let [lowest, highest] = [from, from]
    for (let i = from; i < end; i++) {
      if (this.values[i]! < this.values[lowest]!) lowest = i
      if (this.values[i]! > this.values[highest]!) highest = i
    }
    // All are the same.
    if (lowest === highest) highest = end - 1
    const target = this.targets[end - 1]!
    const pair = [...new Set([Math.min(lowest, highest), Math.max(lowest, highest)])]
    for (const [n, i] of pair.entries()) for (const list of [this.at, this.values, this.targets]) list[to + n] = list[i]!
    const next = to + pair.length
    this.targets[next - 1] = target
    return next
  }

  #cut(length: number): void {
    for (const list of [this.at, this.values, this.targets]) list.length = length
  }

  /** Returns the index of the first sample that is not before a time. */
  #first(from: number): number {
    let [low, high] = [0, this.at.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.at[middle]! < from) low = middle + 1
      else high = middle
    }
    return low
  }
}
