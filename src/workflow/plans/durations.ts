// The durations that a bench has learned: operations (without the requested `duration`), hops of transporters,
// initializations, and heating.

import * as v from 'valibot'
import { askedSeconds } from '../../devices/asked_time.ts'
import type { Hop } from './graph.ts'

const Sample = v.pipe(v.number(), v.finite(), v.minValue(0))

/** Samples, the newest last, by `device operation`, by transporter, and for people also by `transporter from to`. */
export const LearnedDurations = v.strictObject({
  operations: v.record(v.string(), v.array(Sample)),
  hops: v.record(v.string(), v.array(Sample)),
  /** Keyed by device. */
  initializations: v.optional(v.record(v.string(), v.array(Sample)), {}),
  /** Keyed by device, in seconds for one °C. */
  heating: v.optional(v.record(v.string(), v.array(Sample)), {}),
  /** Keyed by device: each opening for an arm, also if the device was open already. */
  openings: v.optional(v.record(v.string(), v.array(Sample)), {}),
})
export type LearnedDurations = v.InferOutput<typeof LearnedDurations>

/** The number of samples for a median, which ignores single outliers. */
const samplesKept = 9
/** People vary more than machines. */
const pairSamplesKept = 50
const mostKept = 1000
const kinds = ['operations', 'hops', 'initializations', 'heating', 'openings'] as const

export class Durations {
  readonly #operations: Map<string, readonly number[]>
  readonly #hops: Map<string, readonly number[]>
  readonly #initializations: Map<string, readonly number[]>
  readonly #heating: Map<string, readonly number[]>
  readonly #openings: Map<string, readonly number[]>
  readonly #onLearned: () => void

  /** Calls `onLearned` after each sample. */
  constructor(learned: Partial<LearnedDurations> = {}, onLearned = () => {}) {
    const { operations = {}, hops = {}, initializations = {}, heating = {}, openings = {} } = learned
    this.#onLearned = onLearned
    this.#operations = new Map(Object.entries(operations))
    this.#hops = new Map(Object.entries(hops))
    this.#initializations = new Map(Object.entries(initializations))
    this.#heating = new Map(Object.entries(heating))
    this.#openings = new Map(Object.entries(openings))
  }

  /** Whether a forecast is new since `earlier`, or has changed by more than a fifth. */
  isNewsTo(earlier: LearnedDurations): boolean {
    const now = this.toJSON()
    return kinds.some((kind) => {
      const forecast = kind === 'openings' ? mean : median
      return Object.entries(now[kind]).some(([key, samples]) => {
        const [its, was] = [forecast(samples)!, forecast(earlier[kind][key])]
        return was === undefined || Math.abs(its - was) > was / 5
      })
    })
  }

  /** Seconds besides the `duration`; undefined without a sample. */
  beyond(device: string, operation: string): number | undefined {
    return median(this.#operations.get(`${device} ${operation}`))
  }

  /** Seconds of a pick and place. */
  hop(transporter: string): number | undefined {
    return median(this.#hops.get(transporter))
  }

  /** Seconds that a person takes between two positions; undefined without a sample. */
  between({ transporter, from, to }: Hop): number | undefined {
    return median(this.#hops.get(`${transporter} ${from} ${to}`))
  }

  /** Seconds to initialize a device. */
  initialization(device: string): number | undefined {
    return median(this.#initializations.get(device))
  }

  /** Seconds for one °C. */
  heating(device: string): number | undefined {
    return median(this.#heating.get(device))
  }

  /** Seconds until an arm can reach into a device, including the cases in which it is open already. */
  opening(device: string): number | undefined {
    return mean(this.#openings.get(device))
  }

  initialized(device: string, seconds: number): void {
    this.#note(this.#initializations, device, seconds)
  }

  heated(device: string, { seconds, degrees }: { seconds: number; degrees: number }): void {
    this.#note(this.#heating, device, seconds / degrees)
  }

  opened(device: string, seconds: number): void {
    this.#note(this.#openings, device, seconds)
  }

  performed(device: string, operation: string, { seconds, params }: { seconds: number; params: Readonly<Record<string, unknown>> }): void {
    this.#note(this.#operations, `${device} ${operation}`, seconds - askedSeconds(operation, params))
  }

  carried(transporter: string, seconds: number): void {
    this.#note(this.#hops, transporter, seconds)
  }

  /** Adds the time of a person between two positions. */
  carriedByPerson({ transporter, from, to }: Hop, seconds: number): void {
    this.#note(this.#hops, `${transporter} ${from} ${to}`, seconds, pairSamplesKept)
    this.carried(transporter, seconds)
  }

  /** Adds a sample. If there are too many keys, the one without a sample for the longest time is forgotten. */
  #note(seen: Map<string, readonly number[]>, key: string, seconds: number, kept = samplesKept): void {
    const samples = [...(seen.get(key) ?? []), Math.max(0, Math.round(seconds * 1000) / 1000)].slice(-kept)
    seen.delete(key)
    seen.set(key, samples)
    if (seen.size > mostKept) seen.delete(seen.keys().next().value!)
    this.#onLearned()
  }

  toJSON(): LearnedDurations {
    return {
      operations: plain(this.#operations),
      hops: plain(this.#hops),
      initializations: plain(this.#initializations),
      heating: plain(this.#heating),
      openings: plain(this.#openings),
    }
  }
}

function mean(samples: readonly number[] | undefined): number | undefined {
  return samples && samples.reduce((sum, sample) => sum + sample, 0) / samples.length
}

/** Returns the median; for an even number of samples, the longer of the two in the middle. */
function median(samples: readonly number[] | undefined): number | undefined {
  return samples?.toSorted((a, b) => a - b)[samples.length >> 1]
}

function plain(seen: ReadonlyMap<string, readonly number[]>): Record<string, number[]> {
  return Object.fromEntries([...seen].map(([key, samples]) => [key, [...samples]]))
}
