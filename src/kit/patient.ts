// Deadlines on a busy computer: a time in which this process did not run never uses up a deadline alone.

import type { Clock } from './clock.ts'

/** The number of parts of a wait. */
const parts = 10
/** The delay of a timer that shows a busy computer. */
const late_ms = 20
/** The turns of the timers in which all input that came meanwhile is read. */
const turns = 10

/**
 * Returns a clock for deadlines of answers. Its timers wait in parts, so that a time in which this process was suspended counts as at most
 * half of the wait: the answer may have arrived unread, or the other side was suspended too. All other time counts, so that a
 * permanently busy process is late by a few turns only. If the last part is late, it is repeated once.
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

/** Calls after a few turns of the timers. Returns the function that cancels the call. */
export function afterTurns(clock: Clock, call: () => void): () => void {
  let cancel = () => {}
  const turn = (left: number) => {
    if (left === 0) call()
    else cancel = clock.after(1, () => turn(left - 1))
  }
  turn(turns)
  return () => cancel()
}
