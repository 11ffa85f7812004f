// An operation that lasts only while a person holds it: it is begun once, renewed until it is let go, and ended. The file does not depend on a
// browser: the page passes clock and requests.

export type HoldClock = {
  /** Calls once, `ms` from now. Returns the function that cancels the call. */
  after(ms: number, call: () => void): () => void
}

export type HoldRequests = {
  /** Resolves with the id of the operation that has begun. */
  begin(signal: AbortSignal): Promise<string>
  /** Rejects if the operation is held no longer. */
  renew(operation_id: string, signal: AbortSignal): Promise<unknown>
  /** Sends the request before it returns. */
  end(operation_id: string, signal: AbortSignal): Promise<unknown>
}

type HoldOptions = {
  clock: HoldClock
  requests: HoldRequests
  /** The time from one renewal to the next. */
  every_ms: number
  /** Called once the operation has its id. */
  onBegun(operation_id: string): void
  /** Called once, when no request is on its way any more. `error` is what ended the hold; undefined if the person let go. */
  onOver(error?: unknown): void
}

/** The longest wait for an answer. Requests that wait longer would take the connections that a stop needs. */
const silent_ms = 1000

export class NoAnswer extends Error {}

/** Has one request on its way at a time, and one more for the end. */
export class Hold {
  readonly #its: HoldOptions
  /** Gives up the request that is on its way. */
  #giveUp = () => {}
  #operation_id: string | undefined
  #isLetGo = false
  #error: unknown
  #cancelPause = () => {}

  /** Sends the first request before it returns. */
  constructor(options: HoldOptions) {
    this.#its = options
    const { requests, onBegun } = options
    this.#bounded((signal) => requests.begin(signal)).then(
      (operation_id) => {
        this.#operation_id = operation_id
        onBegun(operation_id)
        if (this.#isLetGo) this.#end()
        else this.#renew(operation_id)
      },
      (error) => options.onOver(this.#isLetGo ? undefined : error),
    )
  }

  /** Ends the operation: sends the request before it returns, or as soon as the operation has its id. */
  release(): void {
    if (this.#isLetGo) return
    this.#isLetGo = true
    if (this.#operation_id !== undefined) this.#end()
  }

  #renew(operation_id: string): void {
    const { clock, requests, every_ms } = this.#its
    const pause = new Promise<void>((resolve) => {
      this.#cancelPause = clock.after(every_ms, resolve)
    })
    const renewed = this.#bounded((signal) => requests.renew(operation_id, signal))
    Promise.all([renewed, pause]).then(
      () => {
        if (!this.#isLetGo) this.#renew(operation_id)
      },
      (error) => {
        if (this.#isLetGo) return
        this.#isLetGo = true
        this.#error = error
        this.#end()
      },
    )
  }

  #end(): void {
    this.#cancelPause()
    this.#giveUp()
    const { requests, onOver } = this.#its
    const over = () => onOver(this.#error)
    // The service ends by itself what nobody renews.
    this.#bounded((signal) => requests.end(this.#operation_id!, signal)).then(over, over)
  }

  /** Sends a request, and gives it up if it is not answered in time. */
  #bounded<Answer>(send: (signal: AbortSignal) => Promise<Answer>): Promise<Answer> {
    const abort = new AbortController()
    this.#giveUp = () => abort.abort(new NoAnswer())
    return send(abort.signal).finally(this.#its.clock.after(silent_ms, this.#giveUp))
  }
}
