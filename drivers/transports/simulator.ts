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
  /**
   * Puts labware with this barcode before a scanner, which reads it from then on; null for labware without one. A scanner whose settings name codes keeps
   * reading those, and returns true. Returns false if what it reads says nothing about the labware. Absent for an instrument that reads no barcodes.
   */
  show?(barcode: string | null): boolean
  /** Switches it off and cancels its timers. */
  powerOff(): void
  /** The places of a storage, which a person or an arm in front of it fills and empties; absent where there are none. */
  readonly places?: Places | undefined
  /** The visible state of the instrument, for tests. `heating` is heat that a stop has to end; the climate of a closed chamber is none. */
  readonly world: Readonly<{ moving: boolean; heating: boolean; [detail: string]: unknown }>
}

/** A slot by its number, the transfer station, or the handler that carries plates between the two. */
export type Place = number | 'station' | 'handler'

/** The plates of a simulated storage. `put` and `take` do by hand what an arm or a person does, at once and without the instrument. */
export type Places = { has(place: Place): boolean; put(place: Place): void; take(place: Place): void }

/** Puts the plate of a storage, and empties the place to which it goes, as an arm or a person in front of the instrument does. Does nothing for other operations. */
export function putPlates(places: Places | undefined, operation: string, { slot }: Readonly<Record<string, unknown>>): void {
  if (!places || typeof slot !== 'number') return
  places.put(operation === 'store' ? 'station' : slot)
  places.take(operation === 'store' ? slot : 'station')
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
