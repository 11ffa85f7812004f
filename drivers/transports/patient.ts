// Deadlines on a busy computer: what came while it was busy counts, though the timer rings before it is read.

import type { Clock } from '../../src/kit/clock.ts'

/** A timer that rings so much later than it should shows that the computer was busy. */
const late_ms = 20
/** The turns of the timers in which all that came meanwhile is read, and a few more. */
const turns = 10

/** Returns a clock whose timers, where they ring late, let a few turns of the event loop go by before they call. */
export function patient(clock: Clock): Clock {
  return {
    now: () => clock.now(),
    after(ms, call) {
      const due = clock.now() + ms
      let cancel = clock.after(ms, () => {
        if (clock.now() - due < late_ms) call()
        else cancel = afterTurns(clock, call)
      })
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
