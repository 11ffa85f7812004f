// The sinks: listeners inside the process that receive every event, one after the other. A sink that fails does not disturb the others.

import { LabError, messageOf } from '../errors.ts'
import type { Clock } from '../kit/clock.ts'
import type { RuntimeEvent } from './event.ts'

export interface Sink {
  /** The name in warnings; by default that of the class. */
  readonly name?: string
  /** Called synchronously at the emission. A promise is not awaited. */
  onEvent(event: RuntimeEvent): void | Promise<void>
}

/** A sink by the other name of its method. */
export interface SnakeSink {
  readonly name?: string
  on_event(event: RuntimeEvent): void | Promise<void>
}

/** A sink of code that is not ours, by either name of its method. */
export type AnySink = Sink | SnakeSink

type SinksOptions = {
  clock: Clock
  /** Called when a sink has thrown three times in a row, and not again before it has succeeded. */
  onBroken(name: string, error: unknown): void
  warn(message: string): void
}

const streak = 3
const slow_ms = 20
const warnAgain_ms = 60_000
/** The time without a slow dispatch after which sinks are no longer timed one by one. */
const calm_ms = 600_000

export class Sinks {
  readonly #options: SinksOptions
  #sinks: readonly Registered[] = []
  readonly #waiting: RuntimeEvent[] = []
  #dispatching = false
  /** Sinks are timed one by one until this moment. Reading the clock costs more than most sinks, so this begins only after a slow dispatch. */
  #timesEachUntil = Number.NEGATIVE_INFINITY

  constructor(options: SinksOptions) {
    this.#options = options
  }

  /** Registers a sink; does nothing for one that is registered. Throws `invalid` for an object without the method of a sink. */
  register(sink: AnySink): void {
    if (this.#sinks.some((one) => one.sink === sink)) return
    this.#sinks = [...this.#sinks, { sink, method: methodOf(sink), failures: 0, warnedAt: Number.NEGATIVE_INFINITY }]
  }

  unregister(sink: AnySink): void {
    this.#sinks = this.#sinks.filter((one) => one.sink !== sink)
  }

  /**
   * Passes an event to every sink; `now_ms` is by the clock. An event that a sink emits is dispatched after the present one, so that
   * all sinks receive events in one order.
   */
  dispatch(event: RuntimeEvent, now_ms: number): void {
    if (this.#dispatching) {
      this.#waiting.push(event)
      return
    }
    this.#dispatching = true
    try {
      let began = this.#tellAll(event, now_ms)
      while (this.#waiting.length > 0) began = this.#tellAll(this.#waiting.shift()!, began)
    } finally {
      this.#dispatching = false
    }
  }

  /** Calls every sink. Returns the time when the last one returned. */
  #tellAll(event: RuntimeEvent, began: number): number {
    if (began < this.#timesEachUntil) return this.#tellEachTimed(event, began)
    for (const one of this.#sinks) this.#tell(one, event)
    const ended = this.#options.clock.now()
    if (ended - began >= slow_ms) this.#timeEach(event, ended, ended - began)
    return ended
  }

  #timeEach({ event_name }: RuntimeEvent, now: number, took_ms: number): void {
    const count = this.#sinks.length
    if (count === 0) return
    this.#timesEachUntil = now + calm_ms
    this.#options.warn(`one of ${count} sinks held everything up for ${Math.round(took_ms)} ms at ${event_name}; each is timed from now on`)
  }

  #tellEachTimed(event: RuntimeEvent, began: number): number {
    let before = began
    for (const one of this.#sinks) {
      this.#tell(one, event)
      const after = this.#options.clock.now()
      if (after - before >= slow_ms) this.#warnSlow(one, event, after, after - before)
      before = after
    }
    return before
  }

  #tell(one: Registered, event: RuntimeEvent): void {
    try {
      const promised = (one.sink as Sink)[one.method](event)
      if (promised instanceof Promise) this.#follow(one, promised)
      else one.failures = 0
    } catch (error) {
      this.#onFailure(one, error)
    }
  }

  #follow(one: Registered, promised: Promise<void>): void {
    promised.then(
      () => {
        one.failures = 0
      },
      (error) => this.#onFailure(one, error),
    )
  }

  #onFailure(one: Registered, error: unknown): void {
    one.failures++
    const name = nameOf(one.sink)
    if (one.failures < streak) this.#options.warn(`the sink ${name} failed: ${messageOf(error)}`)
    if (one.failures === streak) this.#options.onBroken(name, error)
  }

  #warnSlow(one: Registered, { event_name }: RuntimeEvent, now: number, took_ms: number): void {
    this.#timesEachUntil = now + calm_ms
    if (now - one.warnedAt < warnAgain_ms) return
    one.warnedAt = now
    this.#options.warn(`the sink ${nameOf(one.sink)} held everything up for ${Math.round(took_ms)} ms at ${event_name}`)
  }
}

/** `method` is the name of its method, of which every sink has one. */
type Registered = { readonly sink: AnySink; readonly method: 'onEvent'; failures: number; warnedAt: number }

/** Returns the name of the method of a sink. Throws `invalid` for an object without one. */
export function methodOf(sink: AnySink): 'onEvent' {
  const method = (['onEvent', 'on_event'] as const).find(
    (name) => typeof (sink as unknown as Record<string, unknown> | null)?.[name] === 'function',
  )
  if (!method) throw new LabError('invalid', 'a sink must be an object with a method onEvent(event) or on_event(event)')
  return method as 'onEvent'
}

function nameOf(sink: AnySink): string {
  return sink.name ?? sink.constructor?.name ?? 'without a name'
}
