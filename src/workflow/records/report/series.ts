// The readings of a device during a run, small enough to be kept whole, and thinned where they are very many.

/** The most samples of one series; beyond that, every second one is dropped. */
const mostSamples = 40_000

/** The lowest and the highest value of a time, and the target that was in force last. */
export type Spread = { lowest: number; highest: number; target: number | null }

/** A reading of a device over time, with its target. Samples come in the order of their times. */
export class Series {
  readonly device: string
  readonly name: string
  readonly at: number[] = []
  readonly values: number[] = []
  /** NaN where there was no target. */
  readonly targets: number[] = []
  /** Keeps one sample of so many. */
  #every = 1
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
    if (this.#seen++ % this.#every !== 0) return
    this.at.push(at)
    this.values.push(value)
    this.targets.push(target ?? Number.NaN)
    if (this.at.length < mostSamples) return
    this.#every *= 2
    for (const list of [this.at, this.values, this.targets]) {
      for (let i = 0; 2 * i < list.length; i++) list[i] = list[2 * i]!
      list.length = Math.ceil(list.length / 2)
    }
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
