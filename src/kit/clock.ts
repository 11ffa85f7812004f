// Time as it is handed to whoever needs it: the machine's, a faster one for simulations, and one that tests turn by hand.

import { hrtime } from 'node:process'

/** Monotonic time. Only differences mean anything: a deadline never moves when somebody sets the wall clock. */
export interface Clock {
  /** Milliseconds since some moment. */
  now(): number
  /** Calls once, `ms` from now. The answer calls it off. */
  after(ms: number, call: () => void): () => void
}

export const systemClock: Clock = {
  // `hrtime` takes less time than `performance.now`.
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

/** A clock whose timers end with it, so that none of them keeps the process from ending. */
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

  /** Calls off all timers, those that are set from now on too. */
  end(): void {
    this.#isOver = true
    for (const cancel of this.#cancels) cancel()
    this.#cancels.clear()
  }
}

/** A timer of Node that is set for longer rings after a millisecond. */
const longestTimer_ms = 2 ** 31 - 1

/** Times are counted from here. */
const [firstSecond] = hrtime()

/** Unix time in seconds as of the start of this process: how old something is does not change when somebody sets the wall clock meanwhile. */
export function steadySeconds(): number {
  return (performance.timeOrigin + performance.now()) / 1000
}

/** A clock that runs `factor` times as fast as another. */
export function scaled(clock: Clock, factor: number): Clock {
  return factor === 1 ? clock : new ScaledClock(clock, factor)
}

/** Real time that a scaled clock makes up for after the computer was busy; a longer delay is lost to it. */
const mostMadeUp_ms = 1000

type ScaledTimer = Timer & { alarm?: Alarm }
/** A timer of the other clock. */
type Alarm = { of: ScaledTimer; cancel(): void }

/**
 * A clock that goes faster than time. Its timers ring in the order of their moments, and its time never passes one that has not rung. A
 * busy computer rings late, and a deadline in the time of a simulated instrument, which is milliseconds here, would otherwise pass before
 * what it waits for could happen.
 */
class ScaledClock implements Clock {
  readonly #clock: Clock
  readonly #factor: number
  readonly #pending = new Set<ScaledTimer>()
  /** The timer that rang last, until its callers have gone on: its moment is the time, whether it rang late or early. */
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

  /** Rings the first timer, whose alarm then is that of the other. */
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

  /** Measured in real time; less than 0 when the clock is late. */
  #until_ms({ at }: Timer): number {
    return (at - this.#wanted()) / this.#factor
  }

  /** The time if the computer were never busy. */
  #wanted(): number {
    return (this.#clock.now() - this.#lost_ms) * this.#factor
  }
}

/** Resolves `ms` from now; rejects with the signal's reason as soon as that is aborted. */
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
 * A clock that stands still until a test advances it. Timers of the same moment ring in the order they were set,
 * so a run on it is the same every time.
 */
export class VirtualClock implements Clock {
  readonly #settle: () => Promise<void>
  #now = 0
  #order = 0
  #timers: Ordered[] = []

  /** `settle` resolves when every promise that could go on has gone on. */
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

  /** How many timers are set. */
  get timers(): number {
    return this.#timers.length
  }

  /** Lets `ms` go by, ringing each timer at its moment and letting what it woke finish first. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms
    await this.#settle()
    for (let next = this.#first(); next && next.at <= end; next = this.#first()) await this.#ring(next)
    this.#now = end
  }

  /** Lets as much time go by as the promise needs, and returns what it answers. */
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

  /** With nothing due, the promise may still wait for a file or a socket: those take time of ours. */
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

/** Milliseconds, approximately. */
const patience = 10_000

type Timer = { at: number; call: () => void }
type Ordered = Timer & { order: number }

/** Waits for two turns of the event loop. */
async function twoTurns(): Promise<void> {
  await new Promise(setImmediate)
  await new Promise(setImmediate)
}
