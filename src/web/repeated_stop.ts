// A stop of all devices that is repeated until the service answers. The file does not depend on a browser: the page passes clocks and request.

export type StopClock = {
  /** Monotonic milliseconds, which may stand still while the computer sleeps. */
  now(): number
  /** Milliseconds of the wall clock, which continues while the computer sleeps. */
  wall(): number
  /** Calls once, `ms` from now. Returns the function that cancels the call. */
  after(ms: number, call: () => void): () => void
}

/** An answer. `isFinal` is false for "ask again later", as while the service starts, and if the service itself did not answer. */
export type StopAnswer = { isConfirmed: boolean; isFinal: boolean; text: string }

/**
 * The shown state of a stop. `at` is the time of the touch, `tries` counts the requests since then.
 * `sent`: the first request is on its way. `repeated`: it was not confirmed, and is being repeated. `asks`: the page did not run for a
 * while, so a person decides whether the stop is still wanted. `answered`: the service gave its answer.
 */
export type Stop = {
  readonly at: number
  readonly tries: number
  readonly phase: 'sent' | 'repeated' | 'asks' | 'answered'
  /** The last answer. */
  readonly answer?: StopAnswer
}

type RepeatedStopOptions = {
  clock: StopClock
  /** Sends a stop before it returns. Rejects without an answer. */
  send(signal: AbortSignal): Promise<StopAnswer>
  onChange(stop: Stop | undefined): void
}

/** The time limits of the first, second and further requests. */
const bounds_ms = [2000, 4000, 8000]
/** The age at which a request is given up for a new touch. */
const touched_bound_ms = 1000
/** The pauses after the first, second and further requests. */
const pauses_ms = [500, 1000, 2000, 4000]
/** The time without activity that shows that the page did not run; a request and a pause are shorter. */
const asleep_ms = 60_000

type Attempt = { abort: AbortController; began: number; touchedAt?: number }

/** Sends one request at a time. For each touch, a request begins with the touch or after it. */
export class RepeatedStop {
  readonly #its: RepeatedStopOptions
  #stop: Stop | undefined
  #attempt: Attempt | undefined
  #cancelTimer = () => {}
  #ran = { now: 0, wall: 0 }

  constructor(options: RepeatedStopOptions) {
    this.#its = options
  }

  /** Sends a stop at once, or when the previous request is over, after one second at most. `at` is the shown time. */
  touch(at: number): void {
    this.#mark()
    const attempt = this.#attempt
    if (attempt) {
      attempt.touchedAt = at
      this.#giveUpAt(attempt.began + touched_bound_ms)
    } else if (this.#stop?.phase === 'repeated') this.#send(this.#stop)
    else this.#send({ at, tries: 0 })
  }

  /** Asks whether a stop is still wanted that an earlier visit of the page could not send. */
  ask(at: number): void {
    this.#rest()
    this.#show({ at, tries: 0, phase: 'asks' })
  }

  /** Forgets the stop and sends no further request. With `shown`, only if that is still the present stop. */
  end(shown = this.#stop): void {
    if (shown !== this.#stop) return
    this.#rest()
    this.#show(undefined)
  }

  #send({ at, tries, answer }: Omit<Stop, 'phase'>): void {
    this.#rest()
    const attempt: Attempt = { abort: new AbortController(), began: this.#its.clock.now() }
    this.#attempt = attempt
    this.#its.send(attempt.abort.signal).then(
      (answer) => this.#attempt === attempt && this.#answered(answer),
      () => this.#attempt === attempt && this.#unanswered(),
    )
    // The request was sent above.
    this.#giveUpAt(attempt.began + nth(bounds_ms, tries + 1))
    this.#show({ at, tries: tries + 1, phase: tries === 0 ? 'sent' : 'repeated', ...(answer && { answer }) })
  }

  #giveUpAt(moment: number): void {
    this.#after(moment - this.#its.clock.now(), () => this.#unanswered())
  }

  #answered(answer: StopAnswer): void {
    const touchedAt = this.#attempt!.touchedAt
    if (answer.isFinal) this.#rest()
    // The answer to an earlier request does not confirm the last touch.
    if (!answer.isFinal) this.#unanswered(answer)
    else if (touchedAt === undefined) this.#show({ ...this.#stop!, phase: 'answered', answer })
    else if (this.#slept()) this.ask(touchedAt)
    else this.#send({ at: touchedAt, tries: 0 })
  }

  #unanswered(answer?: StopAnswer): void {
    const isTouched = this.#attempt?.touchedAt !== undefined
    const stop: Stop = { at: this.#stop!.at, tries: this.#stop!.tries, phase: 'repeated', ...(answer && { answer }) }
    this.#rest()
    if (isTouched) this.#repeat(stop)
    else {
      this.#show(stop)
      this.#after(nth(pauses_ms, stop.tries), () => this.#repeat(stop))
    }
  }

  /** Sends the stop again; asks first if the page did not run for a while. */
  #repeat(stop: Stop): void {
    if (this.#slept()) this.#show({ ...stop, phase: 'asks' })
    else this.#send(stop)
  }

  /** Whether the page did not run for a while before this moment, so that a stop needs a person. */
  #slept(): boolean {
    const { now, wall } = this.#ran
    this.#mark()
    return Math.max(this.#ran.now - now, this.#ran.wall - wall) >= asleep_ms
  }

  #mark(): void {
    const { clock } = this.#its
    this.#ran = { now: clock.now(), wall: clock.wall() }
  }

  #after(ms: number, call: () => void): void {
    this.#cancelTimer()
    this.#cancelTimer = this.#its.clock.after(Math.max(0, ms), call)
  }

  /** Ends the request that is on its way, and the timer. */
  #rest(): void {
    this.#cancelTimer()
    this.#attempt?.abort.abort()
    this.#attempt = undefined
  }

  #show(stop: Stop | undefined): void {
    this.#stop = stop
    this.#its.onChange(stop)
  }
}

function nth(spans: readonly number[], n: number): number {
  return spans[Math.min(n, spans.length) - 1]!
}
