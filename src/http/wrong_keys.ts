// Guessing keys is made slow, by address. Right keys never come here, so nobody can lock anybody out.

import { LabError } from '../errors.ts'
import { TokenBuckets } from '../kit/token_buckets.ts'

export class WrongKeys {
  readonly #tries: TokenBuckets
  readonly #onRefused: (address: string) => void

  /** `onRefused` is called for each request that an address has no try left for. */
  constructor(onRefused: (address: string) => void) {
    this.#onRefused = onRefused
    this.#tries = new TokenBuckets({ burst: 20, perSecond: 1, now: () => performance.now() })
  }

  /** Counts a wrong key. Throws `too_many_wrong_keys` once an address has used up its tries; one comes back each second. */
  count(address: string): void {
    if (this.#tries.take(address)) return
    this.#onRefused(address)
    throw new LabError('too_many_wrong_keys', 'too many wrong keys from this address; wait a few seconds', { retry_after_s: 2 })
  }
}
