// The gentle end of an operation. Somebody asks for it at any moment; the operation itself slows the instrument down, between two of its frames.

import type { EndedEarly } from '../src/devices/device.ts'
import { isHarmless } from '../src/devices/failure.ts'
import { LabError } from '../src/errors.ts'
import { type Clock, sleep } from '../src/kit/clock.ts'
import { deferred } from '../src/kit/deferred.ts'

export class EarlyEnd {
  #request: ReturnType<typeof deferred<EndedEarly>> | undefined
  #wake = () => {}

  /**
   * Asks the operation that runs to end early. Resolves when the instrument has acknowledged that. Rejects when it did not, and then the
   * operation goes on; and when the operation ended before it came to the request.
   */
  ask(): Promise<EndedEarly> {
    this.#request ??= deferred()
    // The caller may not wait for it.
    this.#request.promise.catch(() => undefined)
    this.#wake()
    return this.#request.promise
  }

  /** Whether somebody asks, and the operation has not come to it. */
  get isAsked(): boolean {
    return this.#request !== undefined
  }

  /** Sleeps as `sleep` does, but no longer when somebody asks. */
  async sleep(clock: Clock, ms: number, going: AbortSignal): Promise<void> {
    going.throwIfAborted()
    if (this.isAsked) return
    const awake = new AbortController()
    const wake = () => awake.abort()
    this.#wake = wake
    going.addEventListener('abort', wake)
    await sleep(clock, ms, awake.signal).catch(() => undefined)
    going.removeEventListener('abort', wake)
    this.#wake = () => {}
    going.throwIfAborted()
  }

  /**
   * Slows the instrument down if somebody asks, and returns whether it did; `slowDown` resolves when the instrument has acknowledged.
   * When the instrument does not acknowledge or obey, the device does not become faulted: the operation goes on, and `ask` rejects.
   */
  async carriedOut({ seconds_left, going }: EndedEarly & { going: AbortSignal }, slowDown: () => Promise<unknown>): Promise<boolean> {
    const asked = this.#request
    if (!asked) return false
    try {
      await slowDown()
      going.throwIfAborted()
      asked.resolve({ seconds_left: Math.max(0, seconds_left) })
      return true
    } catch (error) {
      const failure = notEnded(error)
      asked.reject(failure)
      going.throwIfAborted()
      if (!isUnheard(failure)) throw failure
      return false
    } finally {
      this.#request = undefined
    }
  }

  /** Forgets a request that no operation has come to. */
  forget(): void {
    this.#request?.reject(new LabError('conflict', 'it ended by itself before that'))
    this.#request = undefined
  }
}

/**
 * Gives a command, and where its acknowledgement is missed looks whether the instrument `obeyed` all the same. Rejects with `no_reply`
 * when it did not.
 */
export async function heardOrObeyed(command: () => Promise<unknown>, obeyed: () => Promise<boolean>): Promise<void> {
  try {
    await command()
  } catch (error) {
    if (!(error instanceof LabError) || error.code !== 'no_reply' || !(await obeyed())) throw error
  }
}

/** A refusal usually means that nothing was done. An end that is refused leaves the operation under way. */
function notEnded(error: unknown): unknown {
  if (!isHarmless(error)) return error
  return new LabError('device_failed', `it did not end: ${error.message}; see what it does, then initialize`, { cause: error })
}

function isUnheard(error: unknown): boolean {
  return error instanceof LabError && (error.code === 'no_reply' || error.code === 'device_failed')
}
