// Runs the operations of a device. Each ends with its own signal, a stop, or the loss of the line.

import type { Link } from '../src/devices/device.ts'
import { connectionLost } from '../src/devices/failure.ts'
import { LabError } from '../src/errors.ts'
import { EarlyEnd } from './early_end.ts'

export class OperationRunner {
  /** A controller for each operation. On Node 20, `AbortSignal.any` with a long-lived signal leaks memory. */
  readonly #now = new Set<AbortController>()
  /** The early end of the running operation. */
  readonly early = new EarlyEnd()

  constructor(line: Pick<Link, 'onLost' | 'advice'>) {
    line.onLost((reason) => this.end(connectionLost(reason, line.advice)))
  }

  get isIdle(): boolean {
    return this.#now.size === 0
  }

  /** Ends every operation with this error, so that none writes any more. */
  end(error: LabError): void {
    for (const going of this.#now) going.abort(error)
  }

  /** Ends every operation because of a stop. */
  stop(): void {
    this.end(new LabError('stopped', 'interrupted by a stop'))
  }

  /** Makes an operation for the service to call. `work` receives a signal that is aborted when the operation has to end, and every further argument. */
  operation<Params, Result, More extends unknown[] = []>(work: (params: Params, going: AbortSignal, ...more: More) => Promise<Result>) {
    return async (params: Params, signal: AbortSignal, ...more: More): Promise<Result> => {
      signal.throwIfAborted()
      const going = new AbortController()
      const end = () => going.abort(signal.reason)
      signal.addEventListener('abort', end)
      this.#now.add(going)
      try {
        const result = await work(params, going.signal, ...more)
        going.signal.throwIfAborted()
        return result
      } finally {
        this.#now.delete(going)
        if (this.isIdle) this.early.forget()
        signal.removeEventListener('abort', end)
      }
    }
  }
}

/** Waits for the work until the signal is aborted, then rejects with its reason. The work itself is not ended. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason)
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}
