// What was seen of how long things take on a bench: of each operation the time beyond the `duration` asked for, of each transporter a hop.

import * as v from 'valibot'

const Sample = v.pipe(v.number(), v.finite(), v.minValue(0))

/** The newest last; by `device operation`, and by transporter. */
export const LearnedDurations = v.strictObject({
  operations: v.record(v.string(), v.array(Sample)),
  hops: v.record(v.string(), v.array(Sample)),
})
export type LearnedDurations = v.InferOutput<typeof LearnedDurations>

/** The middle one of so many: one that was slow for once changes nothing. */
const samplesKept = 9
const mostKept = 1000

export class Durations {
  readonly #operations: Map<string, readonly number[]>
  readonly #hops: Map<string, readonly number[]>
  readonly #onLearned: () => void

  /** `onLearned` is called each time. */
  constructor({ operations, hops }: LearnedDurations = { operations: {}, hops: {} }, onLearned = () => {}) {
    this.#onLearned = onLearned
    this.#operations = new Map(Object.entries(operations))
    this.#hops = new Map(Object.entries(hops))
  }

  /** Seconds beyond the `duration`; undefined for what was not seen yet. */
  beyond(device: string, operation: string): number | undefined {
    return median(this.#operations.get(`${device} ${operation}`))
  }

  /** Seconds of a pick and place. */
  hop(transporter: string): number | undefined {
    return median(this.#hops.get(transporter))
  }

  performed(device: string, operation: string, { seconds, params }: { seconds: number; params: Readonly<Record<string, unknown>> }): void {
    const duration = typeof params.duration === 'number' ? params.duration : 0
    this.#note(this.#operations, `${device} ${operation}`, seconds - duration)
  }

  carried(transporter: string, seconds: number): void {
    this.#note(this.#hops, transporter, seconds)
  }

  /** Which was not heard of for the longest time is forgotten when there are too many. */
  #note(seen: Map<string, readonly number[]>, key: string, seconds: number): void {
    const samples = [...(seen.get(key) ?? []), Math.max(0, Math.round(seconds * 1000) / 1000)].slice(-samplesKept)
    seen.delete(key)
    seen.set(key, samples)
    if (seen.size > mostKept) seen.delete(seen.keys().next().value!)
    this.#onLearned()
  }

  toJSON(): LearnedDurations {
    return { operations: plain(this.#operations), hops: plain(this.#hops) }
  }
}

/** Of an even number the longer of the two in the middle. */
function median(samples: readonly number[] | undefined): number | undefined {
  return samples?.toSorted((a, b) => a - b)[samples.length >> 1]
}

function plain(seen: ReadonlyMap<string, readonly number[]>): Record<string, number[]> {
  return Object.fromEntries([...seen].map(([key, samples]) => [key, [...samples]]))
}
