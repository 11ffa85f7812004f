// Guessing keys is made slow, by address. Right keys never come here, so nobody can lock anybody out.

import { LabError } from '../errors.ts'

const burst = 20
const perSecond = 1
const mostAddresses = 1000

export class WrongKeys {
  readonly #buckets = new Map<string, { tokens: number; at: number }>()
  readonly #now: () => number
  readonly #onRefused: (address: string) => void

  /** `onRefused` is told of each request that an address has no try left for; `now` in milliseconds. */
  constructor(onRefused: (address: string) => void, now: () => number = () => performance.now()) {
    this.#onRefused = onRefused
    this.#now = now
  }

  /** Counts a wrong key. Throws `too_many_wrong_keys` once an address has used up its tries; one comes back each second. */
  count(address: string): void {
    const now = this.#now()
    const { tokens, at } = this.#buckets.get(address) ?? { tokens: burst, at: now }
    const left = Math.min(burst, tokens + ((now - at) / 1000) * perSecond) - 1
    this.#buckets.delete(address)
    this.#buckets.set(address, { tokens: Math.max(0, left), at: now })
    if (this.#buckets.size > mostAddresses) this.#buckets.delete(this.#buckets.keys().next().value!)
    if (left >= 0) return
    this.#onRefused(address)
    throw new LabError('too_many_wrong_keys', 'too many wrong keys from this address; wait a few seconds', { retry_after_s: 2 })
  }
}
