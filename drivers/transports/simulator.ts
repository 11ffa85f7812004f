// A simulated instrument: bytes in, bytes out, and a world in between that keeps the instrument's timing.

import type { Clock } from '../../src/kit/clock.ts'

/** The faults inside an instrument, as opposed to those of its line. */
export const mechanicalFaults = ['jam', 'overtemperature', 'interlock_open'] as const
export type MechanicalFault = (typeof mechanicalFaults)[number]

export interface Simulator extends Mechanism {
  /** Bytes from the host, in pieces of any size. */
  receive(bytes: Uint8Array): void
}

/** A simulated instrument, whatever it hangs on. */
export interface Mechanism {
  /** Makes a fault, or mends it. Returns false when this instrument cannot have that one. */
  setFault(fault: MechanicalFault, present: boolean): boolean
  /** Switches it off: it holds no timer any more. */
  powerOff(): void
  /** The state as a person in front of the instrument sees it; for tests. */
  readonly world: Readonly<{ moving: boolean; heating: boolean; [detail: string]: unknown }>
}

/** The end of the line that a simulated instrument is put at. */
export type InstrumentEnd<Settings> = {
  /** Sends bytes to the host. */
  send(bytes: Uint8Array): void
  /** The instrument's own time. */
  clock: Clock
  settings: Settings
  /** Returns the speed in baud that the host's end of the line has now; absent where nobody can tell. */
  baud?: () => number
}

export type Simulate<Settings> = (at: InstrumentEnd<Settings>) => Simulator
