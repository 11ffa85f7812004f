// Slows the guessing of keys down, by address. Valid keys never come here, so nobody can be locked out.

import { LabError } from '../errors.ts'
import { TokenBuckets } from '../kit/token_buckets.ts'

export class WrongKeys {
  readonly #tries: TokenBuckets
  readonly #onRefused: (address: string) => void

  /** Calls `onRefused` for each request of an address without a try left. */
  constructor(onRefused: (address: string) => void) {
    this.#onRefused = onRefused
    this.#tries = new TokenBuckets({ burst: 20, perSecond: 1, now: () => performance.now() })
  }

  /** Counts a wrong key. Throws `too_many_wrong_keys` if the address has used up its tries, of which one is restored each second. */
  count(address: string): void {
    if (this.#tries.take(address)) return
    this.#onRefused(address)
    throw new LabError('too_many_wrong_keys', 'too many wrong keys from this address; wait a few seconds', { retry_after_s: 2 })
  }
}
