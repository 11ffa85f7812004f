// What a driver gives, and what the registry needs of the thing it hangs on.

import type { MoveName, OperationName, Params, Performable } from './operations.ts'

export const deviceTypes = ['shaker', 'sealer', 'peeler', 'centrifuge', 'transporter'] as const
export type DeviceType = (typeof deviceTypes)[number]

/** Who an instrument says it is. A member is null where the instrument cannot tell. */
export type Identity = { model: string | null; serial_number: string | null; firmware_version: string | null }

/** What a device takes of a parameter, both ends included; `step` is the finest difference it knows. No unit is ''. */
export type Limit = { min: number; max: number; unit: string; step?: number }
/** By name of parameter: `speed`, `duration`, `temperature`, `g`. */
export type Limits = Record<string, Limit>

/** What is there to be used, besides the operations. `uninterruptible`: no stop is known that ends a motion that has begun. */
export type Features = Partial<
  Record<'locking' | 'heating' | 'cooling' | 'door' | 'host_watchdog' | 'autonomous_timer' | 'uninterruptible', boolean>
>

/** What is known of a model before it has been asked. */
export type Profile = { model: string; limits: Limits; features: Features }

/** What an instrument tells of itself while it is initialized. Limits of the instrument replace those of the model. */
export type Learned = { identity: Identity | null; limits?: Limits }

/** Where a transporter grips: mm and degrees, in its own frame. The `coords` of a cartesian teachpoint. */
export type Pose = { x: number; y: number; z: number; yaw: number; pitch: number; roll: number }

type Commands = {
  [Name in Exclude<OperationName, 'initialize' | 'stop'>]?: (params: Params<Name>, signal: AbortSignal) => Promise<void>
} & { [Name in MoveName]?: (pose: Pose, signal: AbortSignal) => Promise<void> }

/**
 * An instrument, made by its driver: a method for each operation that it knows, and no other. A transporter has its moves besides:
 * each resolves when the labware is gripped, or let go, and the gripper is clear of the place.
 *
 * An operation resolves when the instrument has done it and rejects with a `LabError` otherwise; it gives up soon after
 * its signal is aborted. `interlock` and `invalid` mean that nothing was done; anything else latches a fault.
 */
export type Device = Commands & {
  /** Brings the instrument to where it takes commands. May move it. */
  initialize(params: object, signal: AbortSignal): Promise<Learned>
  /** In °C. Goes between two frames of an operation that runs. */
  get_temperature?(): Promise<{ temperature: number; target: number | null }>
  /** Asks who it is, without moving anything; null when it cannot be asked so. */
  identify(): Promise<Identity | null>
  /** A harmless question, asked every two seconds while nothing runs. Rejects when the instrument is not well. */
  check(): Promise<void>
  /** What it does and ends by itself, if it does anything; for an instrument that was left alone. Only asks. */
  underWay?(): Promise<UnderWay | null>
  /**
   * Stops motion and heat. The bytes are on the wire when this returns; a `stop_not_sent` thrown or rejected says that they
   * are not. Resolves when the instrument has acknowledged.
   */
  halt(): Promise<void>
}

export type UnderWay = { operation: Performable; seconds_left: number }

/** What a device hangs on: a port, a bus, a simulated line. */
export interface Link {
  readonly state: 'closed' | 'open' | 'lost'
  /** Opens anew; after a loss too. Nothing written before is ever delivered after. */
  open(): Promise<void>
  close(): Promise<void>
  /** Calls, at each loss, with what was noticed. */
  onLost(call: (reason: string) => void): void
}
