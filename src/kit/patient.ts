// Deadlines on a busy computer: a time in which it did not let this process run never uses up a deadline alone.

import type { Clock } from './clock.ts'

/** A deadline is waited for in so many parts. */
const parts = 10
/** A timer that rings so much later than it should shows that the computer was busy. */
const late_ms = 20
/** The turns of the timers in which all that came meanwhile is read, and a few more. */
const turns = 10

/**
 * Returns a clock for deadlines of answers. A timer of it waits in parts, so that a time in which this process stood still counts as no more than
 * half of the wait, however long it was: the answer lies there unread then, or the other side stood still too. All other time counts, so that a
 * process that is busy all the time is late by a few turns and not by ten. Where the last part rings late, it is waited for once more.
 */
export function patient(clock: Clock): Clock {
  return {
    now: () => clock.now(),
    after(ms, call) {
      let left = ms
      let cancel = () => {}
      const wait = (part: number, isOnceMore = false) => {
        const began = clock.now()
        cancel = clock.after(part, () => {
          const took = clock.now() - began
          left -= Math.max(part, Math.min(took, ms / 2))
          if (left > 0) wait(Math.min(ms / parts, left))
          else if (!isOnceMore && took - part >= late_ms) wait(ms / parts, true)
          else call()
        })
      }
      wait(ms / parts)
      return () => cancel()
    },
  }
}

/** Calls once the timers have turned a few times. The answer calls it off. */
export function afterTurns(clock: Clock, call: () => void): () => void {
  let cancel = () => {}
  const turn = (left: number) => {
    if (left === 0) call()
    else cancel = clock.after(1, () => turn(left - 1))
  }
  turn(turns)
  return () => cancel()
}
