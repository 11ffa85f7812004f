// The requests with an Idempotency-Key of one day, by API key: the newest with their answers, older ones by their ids alone. Memory is bounded,
// and no request is forgotten within its day: a new request for which there is no room is refused.

import * as v from 'valibot'
import { LabError } from '../errors.ts'

/** An answer that can be repeated. */
export const StoredAnswer = v.strictObject({ status: v.number(), headers: v.record(v.string(), v.string()), body: v.string() })
export type StoredAnswer = v.InferOutput<typeof StoredAnswer>

export const Entry = v.strictObject({
  /** Hash of the caller, the method, the path and the Idempotency-Key. */
  id: v.string(),
  /** The API key. Earlier versions did not write it: all their requests count as those of one key. */
  key_id: v.optional(v.string(), ''),
  /** The hash of the body. */
  sha256: v.string(),
  at: v.number(),
  state: v.picklist(['running', 'ended', 'forgotten']),
  /** null while the request runs, and for an answer that is secret or too long to store. */
  answer: v.nullable(StoredAnswer),
})
export type Entry = v.InferOutput<typeof Entry>

/** Requests of one API key whose answers had to make room; `at` is the time of the newest of them. */
export const PastLine = v.strictObject({ key_id: v.string(), at: v.number(), past: v.array(v.string()) })
export type PastLine = v.InferOutput<typeof PastLine>

/** A request with what the service knows beyond the stored entry. */
export type Known = {
  entry: Entry
  /** When the request came, in Unix seconds unaffected by setting the clock. */
  since: number
  isRunning: boolean
  /** An answer that is never written to disk. */
  secret?: StoredAnswer
  /** Whether it was answered 202 and interrupted by a restart. */
  isInterrupted?: boolean
}

/** Requests that were made around the same time, by their short ids (`shortId`). */
type Past = { since: number; at: number; ids: Set<string> }

/** All requests of one API key, the oldest first. */
type OfKey = { known: Map<string, Known>; past: Past[]; pastSize: number; bytes: number }

export const keptSeconds = 24 * 3600
export const bounds = {
  /** Answers by API key. */
  answers: 1000,
  /** Bytes of all answers together; the API key that has the most of them gives up its oldest. */
  bytes: 16 * 1024 * 1024,
  /** Requests by API key whose answers had to make room, and of all API keys together. */
  past: 20_000,
  allPast: 200_000,
}
/** The bytes of an entry besides its answer, about. */
const entryBytes = 512
/** A longer answer is not stored. */
export const longestAnswer = 16 * 1024
/** The most ids in one line of the file; the ids of a line are forgotten together. */
const mostInLine = 500

export class IdempotencyTable {
  readonly #keys = new Map<string, OfKey>()
  #bytes = 0
  #pastSize = 0

  /** Loads the stored lines at a start at `now`. Times in the future come from a clock that was set since. */
  take(lines: readonly (Entry | PastLine)[], now: number): void {
    for (const line of lines) {
      const since = Math.min(line.at, now)
      if (since < now - keptSeconds) continue
      if ('past' in line) this.#addPast(this.#of(line.key_id), { since, at: line.at, ids: new Set(line.past) })
      else if (line.state === 'forgotten') this.delete(line)
      else this.put({ entry: line, since, isRunning: false, isInterrupted: line.answer?.status === 202 })
    }
    this.tidy(now)
  }

  find({ key_id, id }: Pick<Entry, 'key_id' | 'id'>): Known | undefined {
    return this.#keys.get(key_id)?.known.get(id) ?? (key_id === '' ? undefined : this.#keys.get('')?.known.get(id))
  }

  /** Returns a time, Unix s, before which a request was made whose answer had to make room; undefined for other requests. */
  pastUntil({ key_id, id }: Pick<Entry, 'key_id' | 'id'>): number | undefined {
    const short = shortId(id)
    const all = [...(this.#keys.get(key_id)?.past ?? []), ...(this.#keys.get('')?.past ?? [])]
    return all.find(({ ids }) => ids.has(short))?.at
  }

  /** Throws `overloaded` where no more requests of this API key can be remembered for their day. */
  mustHaveRoom(key_id: string, now: number): void {
    const of = this.#of(key_id)
    const { known, past, pastSize } = of
    if (!this.#givesUp(of) || (pastSize < bounds.past && this.#pastSize < bounds.allPast)) return
    const oldest = past[0]?.since ?? now
    const whose = pastSize < bounds.past ? `other API keys have sent ${this.#pastSize}` : `this API key has sent ${known.size + pastSize}`
    throw new LabError(
      'overloaded',
      `${whose} requests with an Idempotency-Key within a day, and no more can be remembered: nothing was done. Send it without an Idempotency-Key, or with one later`,
      { retry_after_s: Math.max(1, Math.ceil(oldest + keptSeconds - now)) },
    )
  }

  put(known: Known): void {
    const { key_id, id } = known.entry
    const of = this.#of(key_id)
    this.#count(of, bytesOf(known) - bytesOf(of.known.get(id)))
    of.known.set(id, known)
  }

  delete({ key_id, id }: Pick<Entry, 'key_id' | 'id'>): void {
    const of = this.#of(key_id)
    this.#count(of, -bytesOf(of.known.get(id)))
    of.known.delete(id)
  }

  /** Forgets what is older than a day, and the answers that have to make room. */
  tidy(now: number): void {
    const oldest = now - keptSeconds
    for (const [key_id, of] of this.#keys) {
      for (const { entry, since, isRunning } of of.known.values()) {
        if (since >= oldest) break
        if (!isRunning) this.delete(entry)
      }
      for (let first = of.past[0]; first && first.since < oldest; first = of.past[0]) {
        of.past.shift()
        this.#countPast(of, -first.ids.size)
      }
      this.#makeRoom(of, () => of.known.size > bounds.answers)
      if (of.known.size + of.past.length === 0) this.#keys.delete(key_id)
    }
    while (this.#bytes > bounds.bytes) {
      const largest = this.#largest()
      const before = this.#bytes
      this.#makeRoom(largest, () => this.#bytes === before)
      if (this.#bytes === before) return
    }
  }

  /** All that the file is to hold. */
  lines(): (Entry | PastLine)[] {
    const all = [...this.#keys]
    const past = all.flatMap(([key_id, of]) => of.past.map(({ at, ids }) => ({ key_id, at, past: [...ids] })))
    return [...past, ...all.flatMap(([, { known }]) => [...known.values()].map(({ entry }) => entry))]
  }

  #of(key_id: string): OfKey {
    const of = this.#keys.get(key_id) ?? { known: new Map(), past: [], pastSize: 0, bytes: 0 }
    this.#keys.set(key_id, of)
    return of
  }

  /** Whether this API key itself gives up an answer for its next request. */
  #givesUp(of: OfKey): boolean {
    if (of.known.size >= bounds.answers) return true
    return this.#bytes + entryBytes + longestAnswer > bounds.bytes && this.#largest() === of
  }

  #largest(): OfKey {
    return [...this.#keys.values()].reduce((most, of) => (of.bytes > most.bytes ? of : most))
  }

  /** Replaces the oldest finished requests by their short ids until there is room. */
  #makeRoom(of: OfKey, isFull: () => boolean): void {
    for (const known of of.known.values()) {
      if (!isFull()) return
      if (known.isRunning) continue
      this.delete(known.entry)
      this.#addPast(of, { since: known.since, at: known.entry.at, ids: new Set([shortId(known.entry.id)]) })
    }
  }

  #addPast(of: OfKey, { since, at, ids }: Past): void {
    const last = of.past.at(-1)
    const isRoom = last && last.ids.size + ids.size <= mostInLine
    const into = isRoom ? last : { since, at, ids: new Set<string>() }
    if (!isRoom) of.past.push(into)
    into.since = Math.max(into.since, since)
    into.at = Math.max(into.at, at)
    for (const id of ids) into.ids.add(id)
    this.#countPast(of, ids.size)
  }

  #count(of: OfKey, bytes: number): void {
    of.bytes += bytes
    this.#bytes += bytes
  }

  #countPast(of: OfKey, ids: number): void {
    of.pastSize += ids
    this.#pastSize += ids
  }
}

function bytesOf(known: Known | undefined): number {
  return known ? entryBytes + ((known.entry.answer ?? known.secret)?.body.length ?? 0) : 0
}

/** 96 of the 256 bits: enough that no two requests of a day share them. */
function shortId(id: string): string {
  return Buffer.from(id, 'hex').subarray(0, 12).toString('base64url')
}
