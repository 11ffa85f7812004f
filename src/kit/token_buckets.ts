// Rate limits by name: so many at once, and then a few each second.

/** Token buckets, one for each name, all of one size. */
export class TokenBuckets {
  readonly #burst: number
  readonly #perSecond: number
  readonly #names: number
  readonly #now: () => number
  readonly #buckets = new Map<string, { tokens: number; at: number }>()

  /** `now` in milliseconds. Of more than `names` names the one that was used least recently is forgotten: its bucket is full again. */
  constructor({ burst, perSecond, names = 1000, now }: { burst: number; perSecond: number; names?: number; now: () => number }) {
    this.#burst = burst
    this.#perSecond = perSecond
    this.#names = names
    this.#now = now
  }

  /** Takes a token out of the bucket of this name; false when there is none left in it. */
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
