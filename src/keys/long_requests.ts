// Requests that stay open for long: event streams, waits, and answers over much of the log. They are bounded for each key and in all, so that
// short requests always find a connection, and they end when their key does.

import { LabError } from '../errors.ts'
import type { Clock } from '../kit/clock.ts'
import type { Refusals } from '../kit/refusals.ts'
import type { Keys } from './keys.ts'

type LongRequestLimits = { connections: number; long_requests_per_key: number }

type LongRequestsOptions = { keys: Pick<Keys, 'opens'>; limits: () => LongRequestLimits; refusals: Refusals; clock: Clock }

const lookEvery_ms = 500
/** The share of connections for long requests; the rest is for short ones. */
const share = 3 / 4

export class LongRequests {
  readonly #options: LongRequestsOptions
  /** The functions that end the requests, by key. A key without requests is not in the map. */
  readonly #open = new Map<string, Set<() => void>>()
  #size = 0
  #cancelLook: (() => void) | undefined

  constructor(options: LongRequestsOptions) {
    this.#options = options
  }

  /** The number of open long requests. */
  get size(): number {
    return this.#size
  }

  /**
   * Admits a request until the returned function is called. `end` is called within a second when the key is revoked, replaced or expired; without a `key_id`
   * never. Throws `overloaded` when the key, or all keys together, have as many as they may.
   */
  enter(key_id: string | undefined, end: () => void): () => void {
    const owner = key_id ?? ''
    const mine = this.#open.get(owner) ?? new Set()
    this.#mustHaveRoom(mine.size)
    const entry = () => end()
    this.#open.set(owner, mine.add(entry))
    this.#size++
    this.#cancelLook ??= this.#options.clock.after(lookEvery_ms, () => this.#look())
    return () => this.#leave(owner, entry)
  }

  #mustHaveRoom(ofKey: number): void {
    const { connections, long_requests_per_key } = this.#options.limits()
    const most = Math.max(1, Math.floor(connections * share))
    const whose = ofKey >= long_requests_per_key ? 'this key has' : this.#size >= most ? 'all keys together have' : undefined
    if (!whose) return
    const sentence = `${whose} ${ofKey >= long_requests_per_key ? ofKey : this.#size} streams, waits and event reads open already; close one, or ask again later`
    this.#options.refusals.count('long_requests_per_key', sentence)
    throw new LabError('overloaded', sentence, { retry_after_s: 5 })
  }

  #leave(owner: string, entry: () => void): void {
    const same = this.#open.get(owner)
    if (!same?.delete(entry)) return
    this.#size--
    if (same.size === 0) this.#open.delete(owner)
    if (this.#size > 0) return
    this.#cancelLook?.()
    this.#cancelLook = undefined
  }

  #look(): void {
    this.#cancelLook = this.#options.clock.after(lookEvery_ms, () => this.#look())
    for (const [owner, all] of this.#open) {
      if (owner === '' || this.#options.keys.opens(owner)) continue
      for (const end of all) end()
    }
  }
}
