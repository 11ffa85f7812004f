// Rate limits by name: a burst, and a rate per second.

/** Token buckets, one for each name, all of one size. */
export class TokenBuckets {
  readonly #burst: number
  readonly #perSecond: number
  readonly #names: number
  readonly #now: () => number
  readonly #buckets = new Map<string, { tokens: number; at: number }>()

  /** `now` returns milliseconds. Beyond `names` names the least recently used one is forgotten, so that its bucket is full again. */
  constructor({ burst, perSecond, names = 1000, now }: { burst: number; perSecond: number; names?: number; now: () => number }) {
    this.#burst = burst
    this.#perSecond = perSecond
    this.#names = names
    this.#now = now
  }

  /** Takes a token from the bucket of this name. Returns false if it is empty. */
  take(name: string): boolean {
    const now = this.#now()
    const bucket = this.#buckets.get(name) ?? { tokens: this.#burst, at: now }
    const there = Math.min(this.#burst, bucket.tokens + ((now - bucket.at) / 1000) * this.#perSecond)
    const isGiven = there >= 1
    bucket.tokens = isGiven ? there - 1 : there
    bucket.at = now
    this.#buckets.delete(name)
    this.#buckets.set(name, bucket)
    if (this.#buckets.size > this.#names) this.#buckets.delete(this.#buckets.keys().next().value!)
    return isGiven
  }
}
