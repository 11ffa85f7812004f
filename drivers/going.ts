// What goes on in a device, and what ends it: the operation's own signal, a stop, the loss of the line.

import type { Link } from '../src/devices/device.ts'
import { connectionLost } from '../src/devices/failure.ts'
import type { LabError } from '../src/errors.ts'

export class Going {
  /** One for each operation. `AbortSignal.any` with a signal that lasts would leave a trace of each there for good (Node 20). */
  readonly #now = new Set<AbortController>()

  constructor(line: Pick<Link, 'onLost'>) {
    line.onLost((reason) => this.end(connectionLost(reason)))
  }

  /** Whatever goes on ends with this error, and puts nothing more on the wire. */
  end(error: LabError): void {
    for (const going of this.#now) going.abort(error)
  }

  /** An operation as the service calls it; `work` is given a signal that any of the ends aborts. */
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
        signal.removeEventListener('abort', end)
      }
    }
  }
}
