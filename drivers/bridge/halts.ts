// How the instrument behind a bridge is stopped: by a message, by the end of its program, or not at all.

import type { Device } from '../../src/devices/device.ts'
import { LabError, messageOf } from '../../src/errors.ts'
import type { BridgeLine } from '../transports/line.ts'

type Halting = {
  ask(): Promise<unknown>
  /** Resolves when a transporter has shown that it stands. */
  stands(): Promise<unknown>
  endedWell: Promise<boolean>
}
type Halt = { cannotEnd?: Device['unhaltable']; halt(at: { line: BridgeLine }, halting: Halting): Promise<void> }

/** The ways to stop the instrument behind a bridge, by the setting `halt`. */
export const halts: Record<'message' | 'kill' | 'none', Halt> = {
  message: {
    async halt(_at, { ask, stands }) {
      let heard: Promise<unknown>
      try {
        heard = ask()
      } catch (error) {
        throw new LabError('stop_not_sent', `the stop could not be sent: ${messageOf(error)}`, { cause: error })
      }
      await heard
      await stands()
    },
  },
  kill: {
    // The program describes an operation whose heat continues after the program has ended.
    cannotEnd: 'heat',
    /** Ends the program one turn later, so that its loss is attributed to the stop. */
    async halt({ line }) {
      await undefined
      await line.giveUp('it was ended by a stop', 'atOnce')
    },
  },
  none: {
    cannotEnd: 'all',
    /** Waits for the good end of the operation, the only evidence that nothing moves. */
    async halt(_at, { endedWell }) {
      if (!(await endedWell)) throw new LabError('device_failed', 'no stop ends what it does, and it has not come to a good end')
    },
  },
}
