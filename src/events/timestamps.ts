// The timestamps of events: the wall clock's time, but always later than that of the previous event.

import { existsSync } from 'node:fs'

/** The wall clock. It jumps when somebody sets it, or when a board without a battery gets the time from the network. */
export interface Wall {
  /** Microseconds since 1970. */
  now(): number
  /** Whether it is synchronized with the network's time. */
  inStep(): boolean
}

const behind_us = 5_000_000
const farBehind_us = 86_400_000_000
const again_ms = 3_600_000

export class Timestamps {
  readonly #wall: Wall
  #last: number
  #behind = 0
  /** The wall clock at its last reading (µs), and the monotonic clock then (ms). */
  #asked = 0
  #askedAt = Number.NEGATIVE_INFINITY
  #isReported = false
  #reportAgainAt = Number.POSITIVE_INFINITY

  /** `last` is the timestamp of the newest event in the log, in microseconds; 0 if there is none. */
  constructor(wall: Wall, last: number) {
    this.#wall = wall
    this.#last = last
  }

  /** Returns the next timestamp in whole microseconds. `now_ms` is monotonic: within a millisecond the wall clock is not read again. */
  next(now_ms: number): number {
    const since_ms = now_ms - this.#askedAt
    if (since_ms > 0 && since_ms < 1) {
      // Both clocks agree for so short a time, and reading the wall clock costs as much as three sinks.
      this.#last = Math.max(this.#asked + Math.floor(since_ms * 1000), this.#last + 1)
      return this.#last
    }
    return this.#ask(now_ms)
  }

  #ask(now_ms: number): number {
    const now = this.#wall.now()
    this.#asked = now
    this.#askedAt = now_ms
    this.#behind = this.#last - now
    this.#last = Math.max(now, this.#last + 1)
    return this.#last
  }

  /** Whether `complaint` may have a sentence. */
  get isBehind(): boolean {
    return this.#behind > behind_us || this.#isReported
  }

  /**
   * Returns a sentence about a wall clock that was wrong since the last `next`; undefined if it is right, or if the fault was reported
   * already. While the clock is in step with the network and yet a day behind, the sentence is returned every hour: then the log was once
   * written in the future. `now_ms` is monotonic.
   */
  complaint(now_ms: number): string | undefined {
    if (this.#behind <= 0) this.#isReported = false
    if (this.#behind <= behind_us || (this.#isReported && !(this.#isInFuture() && now_ms >= this.#reportAgainAt))) return undefined
    this.#isReported = true
    this.#reportAgainAt = now_ms + again_ms
    const seconds = Math.round(this.#behind / 1e6)
    if (this.#isInFuture()) {
      return `the event log was once written with a clock ${seconds} s in the future; events keep their order but not their time; move the log aside to begin anew`
    }
    return `the wall clock stands ${seconds} s behind the newest event; events go on in order from that one; see that the clock is set`
  }

  #isInFuture(): boolean {
    return this.#behind > farBehind_us && this.#wall.inStep()
  }
}

/** Whether the wall clock is behind the newest event, of `newest_us`, so that the next event will report it. */
export function isBehind(wall: Wall, newest_us: number): boolean {
  return newest_us - wall.now() > behind_us
}

/** systemd-timesyncd leaves this file when it has set the clock. */
const inStepFile = '/run/systemd/timesync/synchronized'
const look_ms = 10_000

export const systemWall: Wall = {
  now: () => Date.now() * 1000,
  inStep: () => {
    const now = performance.now()
    if (now >= looked + look_ms) {
      looked = now
      inStep = existsSync(inStepFile)
    }
    return inStep
  },
}

let looked = Number.NEGATIVE_INFINITY
let inStep = false
