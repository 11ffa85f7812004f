// A line for drivers. `serial_port.ts` and `tcp_line.ts` open a real one, `simulated_line.ts` one to a simulator.

import type { Link } from '../../src/devices/device.ts'
import type { Clock } from '../../src/kit/clock.ts'

export interface Line extends Link {
  /** The real time, by which answers are awaited; no simulation accelerates it. */
  readonly clock: Clock
  /** The clock for pauses between frames; by default `clock`. A simulated line uses the instrument's time, which may be faster. */
  readonly pacing?: Clock
  /**
   * Writes all bytes before it returns, so that a stop never lands inside another frame.
   * Throws `disconnected` unless the line is open.
   */
  write(bytes: Uint8Array): void
  /** Registers the only listener of the line. */
  onBytes(listen: (bytes: Uint8Array) => void): void
  /** Registers a watcher of all bytes in both directions. */
  onWire(watch: OnWire): void
  setBaud(baud: number): Promise<void>
  /** The further connections to the instrument that its driver declares, by name. They are open while the line is, and lost with it. */
  readonly further?: Readonly<Record<string, Line>>
  /** Whether the line has no serial settings, because the instrument is on the network itself. */
  readonly isNetwork?: boolean
  /** Sets the modem lines, if there are any. Resolves with whether they could be set. */
  setModem(lines: { rts?: boolean; dtr?: boolean }): Promise<boolean>
}

/** A line to a program. */
export type BridgeLine = Line & {
  /**
   * Ends the program, if that is possible, and reports the line as lost. Resolves when the program is gone. `atOnce`: it has no fault, so
   * it may be started again without a pause.
   */
  giveUp(reason: string, atOnce?: 'atOnce'): Promise<void>
  /** Calls the function each time the line is closed in order; a lost line is reported to `onLost`. */
  onClosed(call: () => void): void
}

export type OnWire = (direction: 'to_device' | 'to_host', bytes: Uint8Array) => void

/** The settings of the port for an instrument. */
export type SerialSettings = { baud: number; data_bits?: 7 | 8; parity?: 'none' | 'even' | 'odd'; stop_bits?: 1 | 2 }

/** How an instrument listens on the network itself. */
export type TcpSettings = {
  /** The port of an instrument as it is delivered; a configuration may name another one. */
  readonly port: number
  /** The names of further connections to the same port, which are open together with the first: the device finds them in `line.further`. */
  readonly further?: readonly string[]
}
