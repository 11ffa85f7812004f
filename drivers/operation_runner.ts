// The operations that run on a device. Each ends with its own signal, with a stop, and with the loss of the line.

import type { Link } from '../src/devices/device.ts'
import { connectionLost } from '../src/devices/failure.ts'
import { LabError } from '../src/errors.ts'
import { EarlyEnd } from './early_end.ts'

export class OperationRunner {
  /** A controller for each operation. `AbortSignal.any` with a signal that lasts would leave a trace of each there for good (Node 20). */
  readonly #now = new Set<AbortController>()
  /** The gentle end of the operation that runs. */
  readonly early = new EarlyEnd()

  constructor(line: Pick<Link, 'onLost' | 'advice'>) {
    line.onLost((reason) => this.end(connectionLost(reason, line.advice)))
  }

  get isIdle(): boolean {
    return this.#now.size === 0
  }

  /** Ends every operation with this error; none puts anything more on the wire. */
  end(error: LabError): void {
    for (const going of this.#now) going.abort(error)
  }

  /** Ends every operation because of a stop. */
  stop(): void {
    this.end(new LabError('stopped', 'interrupted by a stop'))
  }

  /** Makes an operation as the service calls it. `work` receives a signal that is aborted by whatever ends the operation. */
  operation<Params, Result>(work: (params: Params, going: AbortSignal) => Promise<Result>) {
    return async (params: Params, signal: AbortSignal): Promise<Result> => {
      signal.throwIfAborted()
      const going = new AbortController()
      const end = () => going.abort(signal.reason)
      signal.addEventListener('abort', end)
      this.#now.add(going)
      try {
        const result = await work(params, going.signal)
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

/** Waits for the work no longer than until the signal is aborted, and rejects with its reason then. A stop ends the work itself. */
export function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason)
    if (signal.aborted) onAbort()
    signal.addEventListener('abort', onAbort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}
