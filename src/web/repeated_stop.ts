// A stop of all devices that is repeated until the service answers. This file knows no browser: the page gives it the clocks and the request.

export type StopClock = {
  /** ms of a clock that nobody sets. It may stand still while the computer sleeps. */
  now(): number
  /** ms of the wall clock, which goes on while the computer sleeps. */
  wall(): number
  /** Calls once, `ms` from now. The answer calls it off. */
  after(ms: number, call: () => void): () => void
}

/** An answer. `isFinal` is false for "ask again later", as while the service starts, and where the service itself did not answer. */
export type StopAnswer = { isConfirmed: boolean; isFinal: boolean; text: string }

/**
 * The stop as the page shows it. `at` is the time of the touch, `tries` counts the requests since then.
 * `sent`: the first request is on its way. `repeated`: it was not confirmed, and is sent again and again. `asks`: the page did not run for a
 * while, so a person decides whether the stop is still wanted. `answered`: the service gave its answer.
 */
export type Stop = {
  readonly at: number
  readonly tries: number
  readonly phase: 'sent' | 'repeated' | 'asks' | 'answered'
  /** The last answer. */
  readonly answer?: StopAnswer
}

type Options = {
  clock: StopClock
  /** Sends a stop before it returns; rejects when there is no answer. */
  send(signal: AbortSignal): Promise<StopAnswer>
  onChange(stop: Stop | undefined): void
}

/** A request without an answer is given up after so long: the first, the second, and so on. */
const bounds_ms = [2000, 4000, 8000]
/** A request that is so old makes room for a new touch. */
const touched_bound_ms = 1000
/** The pauses between requests: the first, the second, and so on. */
const pauses_ms = [500, 1000, 2000, 4000]
/** The page did not run, if nothing happened here for so long: a request and a pause are shorter. */
const asleep_ms = 60_000

type Attempt = { abort: AbortController; began: number; touchedAt?: number }

/** Sends one request at a time. Every touch is followed by a request that begins with it or after it. */
export class RepeatedStop {
  readonly #its: Options
  #stop: Stop | undefined
  #attempt: Attempt | undefined
  #cancelTimer = () => {}
  #ran = { now: 0, wall: 0 }

  constructor(options: Options) {
    this.#its = options
  }

  /** Sends a stop at once, or as soon as the request before it is over, one second at most. `at` is the time that the page shows. */
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

  /** Forgets the stop, and sends no further request. With `shown`, nothing is done unless the page still shows that. */
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
    // The request has left by now.
    this.#giveUpAt(attempt.began + nth(bounds_ms, tries + 1))
    this.#show({ at, tries: tries + 1, phase: tries === 0 ? 'sent' : 'repeated', ...(answer && { answer }) })
  }

  #giveUpAt(moment: number): void {
    this.#after(moment - this.#its.clock.now(), () => this.#unanswered())
  }

  #answered(answer: StopAnswer): void {
    const touchedAt = this.#attempt!.touchedAt
    if (answer.isFinal) this.#rest()
    // The answer to an earlier request says nothing about the last touch.
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

  /** Sends the stop again; asks first when the page did not run for a while. */
  #repeat(stop: Stop): void {
    if (this.#slept()) this.#show({ ...stop, phase: 'asks' })
    else this.#send(stop)
  }

  /** Whether the page did not run for a while before this moment. Nothing else sends a stop without a person. */
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
