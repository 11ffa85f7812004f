// What goes on in a device, and what ends it: the operation's own signal, a stop, the loss of the line.

import type { Link } from '../src/devices/device.ts'
import { LabError } from '../src/errors.ts'

export class Going {
  #now = new AbortController()

  constructor(line: Pick<Link, 'onLost'>) {
    line.onLost((reason) => this.end(new LabError('disconnected', `the connection was lost: ${reason}`)))
  }

  /** Whatever goes on ends with this error, and puts nothing more on the wire. */
  end(error: LabError): void {
    this.#now.abort(error)
    this.#now = new AbortController()
  }

  /** An operation as the service calls it; `work` is given a signal that any of the ends aborts. */
  operation<Params, Result>(work: (params: Params, going: AbortSignal) => Promise<Result>) {
    return async (params: Params, signal: AbortSignal): Promise<Result> => {
      const going = AbortSignal.any([signal, this.#now.signal])
      going.throwIfAborted()
      const result = await work(params, going)
      going.throwIfAborted()
      return result
    }
  }
}
