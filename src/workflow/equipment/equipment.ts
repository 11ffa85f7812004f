// The interface between a run and its devices: configured ones, simulators, or none.

import type { Fault as SimulatedFault } from '../../../drivers/transports/simulated_line.ts'
import type { Attach, Person, PlateWhereabouts, Typical } from '../../devices/device.ts'
import type { Readings } from '../../devices/readings.ts'
import type { CarriedLabware } from '../../devices/way.ts'
import type { Teachpoint } from '../../teachpoints/teachpoint.ts'

/** A device that must be initialized before its next use, with the reason. */
export type LatchedFault = {
  device_id: string
  error: string
  /** Whether it is a stop. */
  isStop?: boolean
  /** Unix time, s. */
  since: number
}

/** The state of a device that a forecast needs before a run begins. */
export type DeviceCondition = {
  initialized: boolean
  /** The temperature in °C; null if the device cannot report it now. */
  temperature: number | null
  /** The usual time to initialize and to heat; undefined if unknown. */
  typical: Typical | undefined
}

/** The identity of a device, as the record of a run keeps it. */
export type DeviceIdentity = {
  type: string
  driver: string
  is_simulated: boolean
  /** Null if unknown. */
  model: string | null
  serial: string | null
  firmware: string | null
  /** The units of its readings, by their names. */
  units: Readonly<Record<string, string>>
}

/** The control of a simulator's faults. */
export type SimulatorHand = {
  /** Sets a fault after that many seconds. Returns false for a fault that this instrument cannot have. */
  setFault(fault: SimulatedFault, after: number): boolean
  /** Clears present and scheduled faults. */
  clearFaults(): void
  /** Puts labware with this barcode before a simulated scanner. Returns false for a simulator that does not see it; absent for one that sees no labware. */
  show?(barcode: string | null): boolean
}

/** Awaited before a command that may move something. Returns undefined if the motion may begin at once; rejects if it is not allowed. */
export type BeforeMotion = () => Promise<void> | undefined

/** A run's view of the bench. All calls reject with a `LabError`; an aborted signal halts what it interrupts. */
export interface Equipment {
  /** Initializes a device or transporter if necessary. Rejects for one that is stopped or faulted. */
  ready(device_id: string, signal: AbortSignal, beforeMotion?: BeforeMotion): Promise<void>
  /** Throws if the device cannot be used now: `stopped`, `faulted`, `busy`, `locked`, `disconnected`. Absent without drivers. */
  mustBeUsable?(device_id: string): void
  /** Whether a device is initialized; absent without drivers. Throws `not_found`. */
  isInitialized?(device_id: string): boolean
  /** Resolves with the condition of a device; absent without drivers. Rejects with `not_found`. */
  conditionOf?(device_id: string): Promise<DeviceCondition>
  /** Returns the condition of the device after power-on; absent without drivers. Throws `not_found`. */
  conditionWhenNew?(device_id: string): DeviceCondition
  /** Whether a device is real and not simulated; absent if none is. */
  isReal?(device_id: string): boolean
  /** Returns how many seconds pass for the device in one real second; 1 if absent. */
  timeScale?(device_id: string): number
  /** Lists the devices with a latched fault; none if absent. */
  faults?(): LatchedFault[]
  /** Whether a transporter may still move after a stop or a fault, because it has not confirmed that it stands; none may if absent. */
  mayMove?(transporter_id: string): boolean
  /** Returns the set point in °C of a heating device; null if unknown, undefined for a device that does not heat. Absent without drivers. */
  heatsTo?(device_id: string): number | null | undefined
  /** Returns the fault control of a run's own simulator; absent without one. */
  simulator?(device_id: string): SimulatorHand | undefined
  /** The readings that the devices give in the background; absent without drivers. */
  readonly readings?: Pick<Readings, 'listen' | 'want' | 'newestOf'>
  /** Returns the identity of a device; undefined for an unknown one. Absent without drivers. */
  identityOf?(device_id: string): DeviceIdentity | undefined
  /** Lists the teachpoints by which a transporter comes to a position: its own one, then its gateways. Absent without drivers. */
  teachpointsTo?(transporter_id: string, position: string): Teachpoint[]
  /** Holds a device for an execution. Returns the function that releases it. Throws `locked`. */
  hold?(device_id: string, execution_id: string): () => void
  /** Performs an operation or takes a reading. Resolves with `{success, message}`, or the reading. */
  perform(device_id: string, operation: string, params: Readonly<Record<string, unknown>>, how: Performing): Promise<unknown>
  /**
   * Shows labware with this barcode to a simulated scanner. Returns false if the simulation cannot see labware, so that what it reads means nothing; true for a
   * real scanner, and for a simulated one whose settings name codes. Absent without drivers.
   */
  show?(scanner_id: string, barcode: string | null): boolean
  /** Resolves when the files of the device's last operation are fetched; undefined if none are being fetched. Its next operation waits for that. */
  fetching?(device_id: string): Promise<void> | undefined
  /** Opens a device for a transporter: the door open, the plate free. */
  open(device_id: string, signal: AbortSignal, beforeMotion?: BeforeMotion): Promise<void>
  /**
   * Throws `invalid` or `not_found`, naming the points, unless the initialized transporter can go to these positions as they are taught.
   * Absent without drivers.
   */
  mustReach?(transporter_id: string, positions: readonly string[]): void
  /** Throws `invalid`, naming the points, unless the transporter can grip lids at these positions. Absent without drivers. */
  mustGripLids?(transporter_id: string, positions: readonly string[]): void
  /** The person behind a transporter, who is asked to carry; undefined for an arm, and where nobody is asked. */
  person?(transporter_id: string): Person | undefined
  /** Asks an arm whether it holds something, as `Instrument.gripper` does; absent without drivers. */
  gripper?(transporter_id: string, labware: CarriedLabware): Promise<'empty' | 'full' | null>
  /** Asks a storage where a plate is that it moved when the service ended, as `Instrument.whereIsPlate` does; absent without drivers. */
  whereIsPlate?(storage_id: string): Promise<PlateWhereabouts | null>
  /** Picks labware at a position, or places it there. In a hop, the pick comes first. */
  carry(transporter_id: string, verb: 'pick' | 'place', on: Carrying): Promise<void>
}

/** `from` and `to` are the positions of the whole hop, for forecasts. */
export type Carrying = {
  position: string
  from?: string
  to?: string
  labware: CarriedLabware
  signal: AbortSignal
  /** Called with its id when the operation begins. */
  begun?(operation_id: string): void
}

export type Performing = {
  signal: AbortSignal
  /** The duration in simulations, s. */
  seconds?: number | undefined
  /** Called with its id when the operation itself begins, after its preparations. */
  begun?(operation_id: string): void
  /** Keeps a file that the device gives with the result. */
  attach?: Attach | undefined
}
