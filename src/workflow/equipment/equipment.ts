// How a run reaches the instruments: as they are configured, each over its own simulator, or not at all.

import type { Fault as SimulatedFault } from '../../../drivers/transports/simulated_line.ts'
import type { Typical } from '../../devices/device.ts'

/** A device that must be initialized before it is used again, and why. */
export type LatchedFault = {
  device_id: string
  error: string
  /** Whether somebody stopped it. */
  isStop?: boolean
  /** Unix time, s. */
  since: number
}

/** The condition of a device that a forecast has to know before a run begins. */
export type Condition = {
  initialized: boolean
  /** Unit: °C; null where the device cannot tell it now. */
  temperature: number | null
  /** How long the device usually takes to initialize and to heat; undefined where nobody has said it. */
  typical: Typical | undefined
}

/** The hand that breaks a simulator of a run, and mends it. */
export type SimulatorHand = {
  /** Breaks it after so many seconds; false when this instrument cannot have that fault. */
  setFault(fault: SimulatedFault, after: number): boolean
  /** Mends it, and forgets what was to come. */
  clearFaults(): void
}

/** Is waited for before a device gets a command that may move something. Undefined where nothing keeps it; rejects for a motion that must not be. */
export type BeforeMotion = () => Promise<void> | undefined

/** A run's view of the bench. All calls reject with a `LabError`; an aborted signal halts what it interrupts. */
export interface Equipment {
  /** Brings a device or transporter to where it takes commands, unless it is there. Rejects for one that is stopped or faulted. */
  ready(device_id: string, signal: AbortSignal, beforeMotion?: BeforeMotion): Promise<void>
  /** Throws what refuses the device now: `stopped`, `faulted`, `busy`, `locked`, `disconnected`. Absent where nothing can. */
  mustBeUsable?(device_id: string): void
  /** Whether a device is initialized; absent where nothing is driven. Throws `not_found`. */
  isInitialized?(device_id: string): boolean
  /** The condition of a device; absent where nothing is driven. Rejects with `not_found`. */
  conditionOf?(device_id: string): Promise<Condition>
  /** The condition of the same device just switched on; absent where nothing is driven. Throws `not_found`. */
  conditionWhenNew?(device_id: string): Condition
  /** Whether it is an instrument, and no simulator of one; absent where nothing is. */
  isReal?(device_id: string): boolean
  /** How many seconds of the device go by in one of ours; 1 where this is absent. */
  timeScale?(device_id: string): number
  /** The devices that have a fault; none where this is absent. */
  faults?(): LatchedFault[]
  /** The set point in °C of a device that heats; null where nobody knows it, and undefined for a device that does not heat. Absent where nothing is driven. */
  heatsTo?(device_id: string): number | null | undefined
  /** The hand that breaks the simulator that a run has of its own for a device; absent where it has none. */
  simulator?(device_id: string): SimulatorHand | undefined
  /** Keeps a device for an execution, against all others; the answer lets go of it. Throws `locked`. */
  hold?(device_id: string, execution_id: string): () => void
  /** Does one operation, or asks one reading, and returns what the device said: `{success, message}`, or the reading. */
  perform(device_id: string, operation: string, params: Readonly<Record<string, unknown>>, how: Performing): Promise<unknown>
  /** Makes the nest of a device such that a transporter can reach in: the door open, the plate free. */
  open(device_id: string, signal: AbortSignal, beforeMotion?: BeforeMotion): Promise<void>
  /**
   * Throws `invalid` or `not_found`, naming the points, unless the transporter can go to these positions as they are taught. It is initialized.
   * Absent where nothing is driven.
   */
  mustReach?(transporter_id: string, positions: readonly string[]): void
  /** Asks an arm whether it holds something, as `Instrument.gripper` does; absent where nothing is driven. */
  gripper?(transporter_id: string): Promise<'empty' | 'full' | null>
  /** Takes labware up at a position, or sets it down there. The pick of a hop comes before its place. */
  carry(transporter_id: string, verb: 'pick' | 'place', position: string, signal: AbortSignal): Promise<void>
}

export type Performing = {
  signal: AbortSignal
  /** The duration where nothing real is driven, s. */
  seconds?: number | undefined
  /** Calls when the operation itself begins, after all that had to be before. */
  begun?(): void
}
