// Clocks: that of the computer, an accelerated one for simulations, and one that tests advance.

import { hrtime } from 'node:process'

/** A monotonic clock, so that setting the wall clock does not move a deadline. */
export interface Clock {
  /** Returns milliseconds since an arbitrary moment. */
  now(): number
  /** Calls once, `ms` from now. Returns the function that cancels the call. */
  after(ms: number, call: () => void): () => void
}

export const systemClock: Clock = {
  // `hrtime` is faster than `performance.now`.
  now: () => {
    const [seconds, nanoseconds] = hrtime()
    return (seconds - firstSecond) * 1000 + nanoseconds / 1e6
  },
  after(ms, call) {
    let timer: NodeJS.Timeout
    const set = (left_ms: number) => {
      timer = left_ms > longestTimer_ms ? setTimeout(set, longestTimer_ms, left_ms - longestTimer_ms) : setTimeout(call, left_ms)
    }
    set(ms)
    return () => clearTimeout(timer)
  },
}

/** A clock whose timers end with it, so that none keeps the process alive. */
export class EndingClock implements Clock {
  readonly #clock: Clock
  readonly #cancels = new Set<() => void>()
  #isOver = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  now(): number {
    return this.#clock.now()
  }

  after(ms: number, call: () => void): () => void {
    if (this.#isOver) return () => {}
    const cancel = this.#clock.after(ms, () => {
      this.#cancels.delete(cancel)
      call()
    })
    this.#cancels.add(cancel)
    return () => {
      if (this.#cancels.delete(cancel)) cancel()
    }
  }

  /** Cancels all timers, also later ones. */
  end(): void {
    this.#isOver = true
    for (const cancel of this.#cancels) cancel()
    this.#cancels.clear()
  }
}

/** The longest timer of Node; a longer one fires after a millisecond. */
const longestTimer_ms = 2 ** 31 - 1

/** The start of the clock. */
const [firstSecond] = hrtime()

/** Returns Unix seconds by the monotonic clock since the start of this process, unaffected by setting the wall clock meanwhile. */
export function steadySeconds(): number {
  return (performance.timeOrigin + performance.now()) / 1000
}

/** Makes a clock that runs `factor` times as fast as another. */
export function scaled(clock: Clock, factor: number): Clock {
  return factor === 1 ? clock : new ScaledClock(clock, factor)
}

/** The longest delay by a busy computer that a scaled clock makes up for. */
const mostMadeUp_ms = 1000

type ScaledTimer = Timer & { alarm?: Alarm }
/** A timer of the underlying clock. */
type Alarm = { of: ScaledTimer; cancel(): void }

/**
 * An accelerated clock. Its timers fire in order, and its time never passes a timer that has not fired. A
 * busy computer fires late, and a deadline in the instrument's time, which is milliseconds here, would otherwise pass before
 * the awaited event could happen.
 */
class ScaledClock implements Clock {
  readonly #clock: Clock
  readonly #factor: number
  readonly #pending = new Set<ScaledTimer>()
  /** The timer that fired last, until its callers have continued: its moment is the time, although it fired late or early. */
  #ringing: ScaledTimer | undefined
  #reached = Number.NEGATIVE_INFINITY
  #lost_ms = 0

  constructor(clock: Clock, factor: number) {
    this.#clock = clock
    this.#factor = factor
  }

  now(): number {
    const now = this.#ringing?.at ?? Math.min(this.#wanted(), ...[...this.#pending].map(({ at }) => at))
    this.#reached = Math.max(this.#reached, now)
    return this.#reached
  }

  after(ms: number, call: () => void): () => void {
    const timer: ScaledTimer = { at: this.now() + ms, call }
    const alarm: Alarm = { of: timer, cancel: this.#clock.after(Math.max(0, this.#until_ms(timer)), () => this.#ring(alarm)) }
    timer.alarm = alarm
    this.#pending.add(timer)
    return () => {
      if (this.#pending.delete(timer)) timer.alarm?.cancel()
    }
  }

  /** Fires the first timer, and sets the alarm for the next. */
  #ring(alarm: Alarm): void {
    const other = alarm.of
    const first = [...this.#pending].reduce((first, timer) => (timer.at < first.at ? timer : first), other)
    other.alarm = first.alarm!
    other.alarm.of = other
    this.#pending.delete(first)
    this.#lost_ms += Math.max(0, -this.#until_ms(first) - mostMadeUp_ms)
    this.#ringing = first
    setImmediate(() => {
      if (this.#ringing === first) this.#ringing = undefined
    })
    first.call()
  }

  /** Returns the real time until a timer; negative if the clock is late. */
  #until_ms({ at }: Timer): number {
    return (at - this.#wanted()) / this.#factor
  }

  /** Returns the time without delays by a busy computer. */
  #wanted(): number {
    return (this.#clock.now() - this.#lost_ms) * this.#factor
  }
}

/** Resolves `ms` from now. Rejects with the signal's reason when it is aborted. */
export function sleep(clock: Clock, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason)
    const onAbort = () => {
      cancel()
      reject(signal?.reason)
    }
    const cancel = clock.after(ms, () => {
      signal?.removeEventListener('abort', onAbort)
      resolve()
    })
    signal?.addEventListener('abort', onAbort, { once: true })
  })
}

/**
 * A clock that stands still until a test advances it. Timers of the same moment fire in the order they were set,
 * so that runs are reproducible.
 */
export class VirtualClock implements Clock {
  readonly #settle: () => Promise<void>
  #now = 0
  #order = 0
  #timers: Ordered[] = []

  /** `settle` resolves when all promises that can continue have continued. */
  constructor(settle = twoTurns) {
    this.#settle = settle
  }

  now(): number {
    return this.#now
  }

  after(ms: number, call: () => void): () => void {
    const timer = { at: this.#now + Math.max(0, ms), order: this.#order++, call }
    this.#timers.push(timer)
    return () => {
      this.#timers = this.#timers.filter((other) => other !== timer)
    }
  }

  /** The number of set timers. */
  get timers(): number {
    return this.#timers.length
  }

  /** Advances by `ms`, firing each timer at its moment and waiting until its effects have settled. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms
    await this.#settle()
    for (let next = this.#first(); next && next.at <= end; next = this.#first()) await this.#ring(next)
    this.#now = end
  }

  /** Advances until the promise is settled, and returns its result. */
  async run<T>(promise: Promise<T>): Promise<T> {
    let settled = false
    const mark = () => {
      settled = true
    }
    promise.then(mark, mark)
    await this.#settle()
    while (!settled) {
      const next = this.#first() ?? (await this.#firstAfterAll(() => settled))
      if (next) await this.#ring(next)
    }
    return promise
  }

  /** Waits for a timer in real time if none is set, because the promise may wait for a file or a socket. */
  async #firstAfterAll(settled: () => boolean): Promise<Ordered | undefined> {
    for (let tries = 0; tries < patience && !settled(); tries++) {
      await new Promise((resolve) => setTimeout(resolve, 1))
      const next = this.#first()
      if (next) return next
    }
    if (!settled()) throw new Error('nothing is due on the virtual clock, and the promise still waits')
    return undefined
  }

  #first() {
    return this.#timers.reduce<Ordered | undefined>(
      (first, timer) => (!first || timer.at < first.at || (timer.at === first.at && timer.order < first.order) ? timer : first),
      undefined,
    )
  }

  async #ring(timer: Ordered) {
    this.#timers = this.#timers.filter((other) => other !== timer)
    this.#now = Math.max(this.#now, timer.at)
    timer.call()
    await this.#settle()
  }
}

/** The limit of that wait, in about milliseconds. */
const patience = 10_000

type Timer = { at: number; call: () => void }
type Ordered = Timer & { order: number }

/** Waits for two turns of the event loop. */
async function twoTurns(): Promise<void> {
  await new Promise(setImmediate)
  await new Promise(setImmediate)
}
