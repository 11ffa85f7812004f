// An instrument that answers as one did in a trial: with its texts, after its times.

import { Timers } from '../../drivers/simulated_parts.ts'
import type { Simulate } from '../../drivers/transports/simulator.ts'
import type { Frame } from './trial_file.ts'

type Answer = { after_ms: number; bytes: Uint8Array }

/** A frame that was asked together with the next one is answered with it; the longest frame that the host is still writing. */
const mostBuffered = 4096

/** Makes a simulator. Each frame of the host gets the answers that it got in the trial, in turn, and from the first again after the last. Unknown frames get none. */
export function replaying(wire: readonly Frame[]): Simulate<unknown> {
  const answers = answersIn(wire)
  const longest = Math.max(0, ...[...answers.keys()].map(({ length }) => length))
  return ({ clock, send }) => {
    const timers = new Timers(clock)
    const asked = new Map<string, number>()
    let heard = ''
    const answer = (frame: string) => {
      const all = answers.get(frame)!
      const nth = asked.get(frame) ?? 0
      asked.set(frame, nth + 1)
      for (const { after_ms, bytes } of all[nth % all.length]!) timers.after(after_ms, () => send(bytes))
    }
    return {
      receive(bytes) {
        heard = (heard + Buffer.from(bytes).toString('hex')).slice(-mostBuffered)
        // The bytes of a frame may come in pieces, and after others.
        for (let length = Math.min(longest, heard.length); length > 0; length -= 2) {
          if (!answers.has(heard.slice(-length))) continue
          answer(heard.slice(-length))
          heard = ''
        }
      },
      setFault: () => false,
      powerOff: () => timers.clear(),
      world: { moving: false, heating: false },
    }
  }
}

/** Returns the answers to each frame of the host, by its bytes in hex, for each time that it was sent. */
function answersIn(wire: readonly Frame[]): ReadonlyMap<string, Answer[][]> {
  const answers = new Map<string, Answer[][]>()
  let asked: { at: number; answers: Answer[] } | undefined
  for (const { at, direction, hex } of wire) {
    if (direction === 'to_device') {
      asked = { at, answers: [] }
      answers.set(hex, [...(answers.get(hex) ?? []), asked.answers])
    } else asked?.answers.push({ after_ms: Math.max(0, (at - asked.at) * 1000), bytes: Buffer.from(hex, 'hex') })
  }
  return answers
}
