// The readings of the last day: of the last hour all, and of the rest one each 10 s. Each device with readings is asked in the background, at the beats of one timer, so that no question is asked
// at the moment at which an operation begins or ends.

import type { Clock } from '../kit/clock.ts'
import type { Instrument } from './instrument.ts'
import { ReadingColumns, thinned, thinned_ms } from './reading_columns.ts'
import type { Reading } from './records.ts'

/** The intervals of the questions to a device: while somebody watches, and otherwise. */
const watched_ms = 2000
const unwatched_ms = 10_000
const kept_ms = 3_600_000
/** An hour of readings while somebody watches. */
export const mostReadings = kept_ms / watched_ms
/** The most readings of a day, with an hour of which all are kept. */
export const mostOfDay = mostReadings + 86_400_000 / thinned_ms

/** `moment` is monotonic, so that a jump of the wall clock does not change what is kept. */
export type Noted = { moment: number; reading: Reading }
/** Called with each new reading of a device, and with undefined if it was asked and gave none. */
export type ReadingListener = (device_id: string, noted: Noted | undefined) => void
type Series = { noted: Noted[]; day: ReadingColumns; askedAt: number; isAsking: boolean }
/** `since` in Unix seconds, inclusive; `until` exclusive. */
type Span = { since?: number | undefined; until?: number | undefined; most?: number | undefined }

type ReadingsOptions = { devices(): readonly Instrument[]; clock: Clock; now?(): number }

export class Readings {
  readonly #devices: () => readonly Instrument[]
  readonly #clock: Clock
  readonly #now: () => number
  readonly #series = new Map<string, Series>()
  readonly #listeners = new Set<ReadingListener>()
  /** The devices that are asked at the next beat. */
  readonly #wanted = new Set<string>()
  #watchers = 0
  #cancel: () => void

  /** `now` is the wall clock, in Unix milliseconds. The first question comes after 10 s, or 2 s after somebody watches. */
  constructor({ devices, clock, now = Date.now }: ReadingsOptions) {
    this.#devices = devices
    this.#clock = clock
    this.#now = now
    this.#cancel = clock.after(watched_ms, () => this.#tick())
  }

  /** Asks every 2 s instead of every 10 s until the returned function is called. */
  watch(): () => void {
    this.#watchers++
    let isOver = false
    return () => {
      if (!isOver) this.#watchers--
      isOver = true
    }
  }

  /** Calls `call` about each question, until the returned function is called. */
  listen(call: ReadingListener): () => void {
    this.#listeners.add(call)
    return () => this.#listeners.delete(call)
  }

  /** Has a device asked within 2 s, for the listeners. */
  want(device_id: string): void {
    this.#wanted.add(device_id)
  }

  /** Returns the newest reading of a device; undefined if it is older than `oldest_ms`. */
  newestOf(device_id: string, oldest_ms = unwatched_ms): Noted | undefined {
    const last = this.#series.get(device_id)?.noted.at(-1)
    return last && last.moment > this.#clock.now() - oldest_ms ? last : undefined
  }

  /**
   * Lists the readings of a span, by default of the last hour, oldest first: each one of the last hour, and one each 10 s of the day before. Of more than
   * `most`, those with the least and the greatest values are kept.
   */
  between(device_id: string, { since, until = Number.POSITIVE_INFINITY, most = mostReadings }: Span = {}): Reading[] {
    const series = this.#series.get(device_id)
    if (!series) return []
    this.#forget(series)
    const from = since ?? (this.#now() - kept_ms) / 1000
    const fine = series.noted.flatMap(({ reading }) => (reading.at >= from && reading.at < until ? [reading] : []))
    const first = series.noted[0]?.reading.at ?? Number.POSITIVE_INFINITY
    return thinned([...series.day.between(from, until).filter(({ at }) => at < first), ...fine], most)
  }

  /** Lists the newest reading of each device, without those older than `oldest_ms`. */
  newest(oldest_ms = kept_ms): [device_id: string, reading: Reading][] {
    return [...this.#series.keys()].flatMap((device_id) => {
      const last = this.newestOf(device_id, oldest_ms)
      return last ? [[device_id, last.reading] as [string, Reading]] : []
    })
  }

  close(): void {
    this.#cancel()
  }

  #tick(): void {
    this.#cancel = this.#clock.after(watched_ms, () => this.#tick())
    const devices = this.#devices()
    const known = new Set(devices.map(({ device_id }) => device_id))
    for (const device_id of this.#series.keys()) if (!known.has(device_id)) this.#series.delete(device_id)
    for (const device_id of this.#wanted) if (!known.has(device_id)) this.#wanted.delete(device_id)
    for (const device of devices) if (device.questions.canSample) void this.#ask(device)
  }

  /** Asks one question at a time, so that a silent instrument never has more than one waiting. */
  async #ask(device: Instrument): Promise<void> {
    const { device_id } = device
    const moment = this.#clock.now()
    const series = this.#series.get(device_id) ?? { noted: [], day: new ReadingColumns(), askedAt: moment - watched_ms, isAsking: false }
    this.#series.set(device_id, series)
    const pause_ms = this.#watchers > 0 ? watched_ms : unwatched_ms
    const isDue = this.#wanted.has(device_id) || moment - series.askedAt >= pause_ms
    if (series.isAsking || !isDue) return
    this.#wanted.delete(device_id)
    series.isAsking = true
    series.askedAt = moment
    const sample = await device.questions.sample()
    series.isAsking = false
    const noted = sample && { moment: this.#clock.now(), reading: { at: this.#now() / 1000, ...sample } }
    if (noted) {
      series.noted.push(noted)
      series.day.add(noted.moment, noted.reading)
    }
    this.#forget(series)
    for (const call of this.#listeners) call(device_id, noted)
  }

  #forget({ noted }: Series): void {
    const from = this.#clock.now() - kept_ms
    const young = noted.findIndex(({ moment }) => moment > from)
    const old = young === -1 ? noted.length : young
    noted.splice(0, Math.max(old, noted.length - mostReadings))
  }
}
