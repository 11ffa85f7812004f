// Deadlines on a busy computer: the time in which it let this process not run hardly counts.

import type { Clock } from './clock.ts'

/** A deadline is waited for in so many parts. */
const parts = 10
/** A timer that rings so much later than it should shows that the computer was busy. */
const late_ms = 20
/** The turns of the timers in which all that came meanwhile is read, and a few more. */
const turns = 10

/**
 * Returns a clock for deadlines of answers. A timer of it waits in parts, so that a time in which this process stood still counts as one part of the
 * wait, however long it was: the answer lies there unread then, or the other side stood still too. Where the last part rings late, it is waited for
 * once more.
 */
export function patient(clock: Clock): Clock {
  return {
    now: () => clock.now(),
    after(ms, call) {
      let left = parts
      let cancel = () => {}
      const wait = (isOnceMore = false) => {
        const due = clock.now() + ms / parts
        cancel = clock.after(ms / parts, () => {
          if (--left > 0) wait()
          else if (!isOnceMore && clock.now() - due >= late_ms) wait(true)
          else call()
        })
      }
      wait()
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
