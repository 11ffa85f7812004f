// The interface of a simulated instrument, which exchanges bytes with the timing of a real one.

import type { Clock } from '../../src/kit/clock.ts'

/** The faults of an instrument itself, not of its line. */
export const mechanicalFaults = ['jam', 'overtemperature', 'interlock_open'] as const
export type MechanicalFault = (typeof mechanicalFaults)[number]

export interface Simulator extends Mechanism {
  /** Receives bytes from the host, in pieces of any size. `connection` tells the connections of an instrument apart that has several. */
  receive(bytes: Uint8Array, connection?: number): void
}

/** A simulated instrument, on a line or on pins. */
export interface Mechanism {
  /** Sets or clears a fault. Returns false for a fault that this instrument cannot have. */
  setFault(fault: MechanicalFault, present: boolean): boolean
  /** Switches it off and cancels its timers. */
  powerOff(): void
  /** The visible state of the instrument, for tests. */
  readonly world: Readonly<{ moving: boolean; heating: boolean; [detail: string]: unknown }>
}

/** The instrument's end of a simulated line. */
export type InstrumentEnd<Settings> = {
  /** Sends bytes to the host, on the connection on which it asked. */
  send(bytes: Uint8Array, connection?: number): void
  /** The instrument's own time. */
  clock: Clock
  /** The time of the wire and its host, by which an instrument notices that its host is silent; absent where it is the instrument's own. */
  wire?: Clock
  settings: Settings
  /** Returns the present baud rate of the host's end; absent if it is unknown. */
  baud?: () => number
}

export type Simulate<Settings> = (at: InstrumentEnd<Settings>) => Simulator
