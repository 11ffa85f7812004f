// Switches a device on pins off at once, and keeps the reason until the device is initialized again.

import { LabError } from '../src/errors.ts'
import { OperationRunner } from './operation_runner.ts'
import { stillOn } from './outputs.ts'
import type { Board } from './transports/board.ts'
import type { Pin } from './transports/pin.ts'

export class Tripwire {
  /** Ends the operations of the device. */
  readonly going: OperationRunner
  readonly #allOff: () => Promise<void>
  #tripped: LabError | undefined

  /** `allOff` must set all pins before it returns. */
  constructor(board: Board, allOff: () => Promise<void>) {
    this.going = new OperationRunner(board)
    this.#allOff = allOff
    board.onLost(() => void allOff().catch(() => undefined))
  }

  /** Switches everything off and ends the operations. The first reason stays until `reset`. */
  readonly trip = (error: LabError): void => {
    const why = this.#tripped ?? error
    this.#tripped = why
    this.#allOff().catch((cause) => {
      this.#tripped = stillOn(why, cause)
    })
    this.going.end(error)
  }

  /** Makes an operation that is refused after a trip, also before the service has learned of it. */
  operation<Params, Result>(work: (params: Params, going: AbortSignal) => Promise<Result>) {
    return this.going.operation((params: Params, going) => {
      this.mustBeIntact()
      return work(params, going)
    })
  }

  /** Forgets why the device was switched off. */
  reset(): void {
    this.#tripped = undefined
  }

  /** Throws the reason why the device was switched off. */
  mustBeIntact(): void {
    if (this.#tripped) throw this.#tripped
  }

  /** Stops the device; the pins are set when this returns. Throws `device_failed` if the relay, named by `words`, still reads as on. */
  async halt(words: string, relay: Pin): Promise<void> {
    this.going.stop()
    await this.#allOff()
    if (await relay.read())
      throw new LabError('device_failed', `${words} was switched off and still says that it is on; use its red button`)
  }
}
