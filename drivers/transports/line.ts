// A serial line as drivers see it. `serial_port.ts` opens a real one, `simulated_line.ts` ends in a simulator.

import type { Link } from '../../src/devices/device.ts'
import type { Clock } from '../../src/kit/clock.ts'

export interface Line extends Link {
  /** Runs at the speed of the wire: answers are awaited on this clock, which no simulation makes faster. */
  readonly clock: Clock
  /** Clock for pauses between frames. A simulated line counts them in the instrument's time, which may be faster. Default: `clock`. */
  readonly pacing?: Clock
  /**
   * Writes all of it at once, before this returns, so that a stop never lands inside another frame.
   * Throws `disconnected` unless the line is open.
   */
  write(bytes: Uint8Array): void
  /** Registers the one listener of the line. */
  onBytes(listen: (bytes: Uint8Array) => void): void
  /** Sees all that passes, as it is written and as it comes in. */
  onWire(watch: OnWire): void
  setBaud(baud: number): Promise<void>
  /** Modem lines, as far as there are any; returns whether they could be set. */
  setModem(lines: { rts?: boolean; dtr?: boolean }): Promise<boolean>
}

/** A line to a program. */
export type BridgeLine = Line & {
  /**
   * Ends the program, as far as it can be ended, and reports the line as lost. Resolves when it is gone. `atOnce`: nothing is wrong with it, so
   * that it may be started again without a pause.
   */
  giveUp(reason: string, atOnce?: 'atOnce'): Promise<void>
  /** Calls each time the line is closed in order; a lost line is reported to `onLost`. */
  onClosed(call: () => void): void
}

export type OnWire = (direction: 'to_device' | 'to_host', bytes: Uint8Array) => void

/** How a port has to be opened for an instrument. */
export type SerialSettings = { baud: number; data_bits?: 7 | 8; parity?: 'none' | 'even' | 'odd'; stop_bits?: 1 | 2 }
