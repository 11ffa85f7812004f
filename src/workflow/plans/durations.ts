// The durations that a bench has learned: operations (without the requested `duration`), hops of transporters,
// initializations, heating, and the bodies of actions; and which way steps with conditions went.

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
  /** Keyed by workflow and path: actions whose code, or whose person, takes the time. */
  bodies: v.optional(v.record(v.string(), v.array(Sample)), {}),
  /** Keyed by workflow, thread and step: how often each way was taken. */
  ways: v.optional(v.record(v.string(), v.record(v.string(), Sample)), {}),
})
export type LearnedDurations = v.InferOutput<typeof LearnedDurations>

/** The number of samples for a median, which ignores single outliers. */
const samplesKept = 9
/** People vary more than machines. */
const pairSamplesKept = 50
const mostKept = 1000
const kinds = ['operations', 'hops', 'initializations', 'heating', 'openings', 'bodies'] as const
/** The most ways of one step that are counted, and the most times: then all counts are halved, so that a step may change its habits. */
const mostWays = 10
const mostTimes = 100

export class Durations {
  readonly #operations: Map<string, readonly number[]>
  readonly #hops: Map<string, readonly number[]>
  readonly #initializations: Map<string, readonly number[]>
  readonly #heating: Map<string, readonly number[]>
  readonly #openings: Map<string, readonly number[]>
  readonly #bodies: Map<string, readonly number[]>
  readonly #ways: Map<string, Readonly<Record<string, number>>>
  readonly #onLearned: () => void

  /** Calls `onLearned` after each sample. */
  constructor(learned: Partial<LearnedDurations> = {}, onLearned = () => {}) {
    const { operations = {}, hops = {}, initializations = {}, heating = {}, openings = {}, bodies = {}, ways = {} } = learned
    this.#onLearned = onLearned
    this.#operations = new Map(Object.entries(operations))
    this.#hops = new Map(Object.entries(hops))
    this.#initializations = new Map(Object.entries(initializations))
    this.#heating = new Map(Object.entries(heating))
    this.#openings = new Map(Object.entries(openings))
    this.#bodies = new Map(Object.entries(bodies))
    this.#ways = new Map(Object.entries(ways))
  }

  /** Whether a forecast is new since `earlier`, or has changed by more than a fifth. */
  isNewsTo(earlier: LearnedDurations): boolean {
    const now = this.toJSON()
    if (Object.entries(now.ways).some(([key, counts]) => mostFrequent(counts) !== mostFrequent(earlier.ways[key]))) return true
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

  /** Seconds of the body of an action, by its `bodyKey`. */
  body(key: string): number | undefined {
    return median(this.#bodies.get(key))
  }

  /** Returns the way that a step took most often, by its `stepKey`; undefined if it was never taken. */
  usualWay(key: string): string | undefined {
    return mostFrequent(this.#ways.get(key))
  }

  performedBody(key: string, seconds: number): void {
    this.#note(this.#bodies, key, seconds)
  }

  /** Counts a way that a step takes: a side, a case, or of a repeat the number of its rounds. */
  took(key: string, way: string): void {
    const before = this.#ways.get(key) ?? {}
    if (!Object.hasOwn(before, way) && Object.keys(before).length >= mostWays) return
    const counts = { ...before, [way]: (before[way] ?? 0) + 1 }
    const isFull = counts[way]! > mostTimes
    this.#ways.delete(key)
    this.#ways.set(key, isFull ? Object.fromEntries(Object.entries(counts).map(([name, count]) => [name, Math.floor(count / 2)])) : counts)
    forgetOldest(this.#ways)
    this.#onLearned()
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
    forgetOldest(seen)
    this.#onLearned()
  }

  toJSON(): LearnedDurations {
    return {
      operations: plain(this.#operations),
      hops: plain(this.#hops),
      initializations: plain(this.#initializations),
      heating: plain(this.#heating),
      openings: plain(this.#openings),
      bodies: plain(this.#bodies),
      ways: Object.fromEntries(this.#ways),
    }
  }
}

/** The key of the body of an action. */
export const bodyKey = (workflow: string, { path }: { path: string }): string => `${workflow} ${path}`

/** The key of a step with conditions. */
export const stepKey = (workflow: string, thread: string, { name }: { name: string }): string => `${workflow} ${thread} ${name}`

function forgetOldest(seen: Map<string, unknown>): void {
  if (seen.size > mostKept) seen.delete(seen.keys().next().value!)
}

function mostFrequent(counts: Readonly<Record<string, number>> | undefined): string | undefined {
  return Object.entries(counts ?? {}).reduce<[string | undefined, number]>(
    (best, [name, count]) => (count > best[1] ? [name, count] : best),
    [undefined, 0],
  )[0]
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
