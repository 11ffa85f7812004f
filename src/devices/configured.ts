// A device as it is configured, with the driver that was made for it, and the parts of the service around it.

import type { Clock } from '../kit/clock.ts'
import type { Log } from '../kit/log.ts'
import type { AnyProfile, Device, Identity, Link, Typical } from './device.ts'
import type { Emitter } from './latch.ts'
import type { LatchStore } from './latches.ts'
import type { LeaseStore } from './leases.ts'
import type { Ledger } from './ledger.ts'
import type { Bounds } from './limits.ts'
import type { RunStore } from './operation_journal.ts'
import type { Transfer, TransferOrder } from './transfer.ts'
import type { Way } from './way.ts'
import type { WireLog } from './wire_log.ts'

/** A device as it is configured. `time_scale` is how many seconds of the instrument go by in one of ours. */
export type Configured = {
  device_id: string
  /** The type of the device: one of the table, or the word that the configuration of a bridge names. */
  type: string
  name: string
  driver: string
  simulated: boolean
  time_scale: number
  bounds: Bounds
  /** Whether it is halted at start when it was left on. */
  on_restart: 'halt' | 'leave'
  /** The identity that the instrument must report; a member left out may be anything. */
  identity: Partial<Identity>
  /** The device that the driver made, and its link; absent for a device that somebody else drives. */
  driven?: Driven
}

/** Without `typical` the table of operations tells how long things take. */
export type Driven = {
  device: Device
  link: Link
  profile: AnyProfile
  typical?: Typical
  wire: WireLog
  /** Does for a simulated storage what an arm in front of it does before an operation: no simulated arm reaches into it. Absent for real instruments. */
  playArm?(operation: string, params: Readonly<Record<string, unknown>>): void
  /** Ends what the device does, for an error of its driver for which nobody waited. Only for a driver of the lab's own. */
  fail?(error: unknown): void
}

/** A slot as a storage has seen it. */
export type SeenSlot = { slot: number; taken: boolean; barcode: string | null }

export type InstrumentContext = {
  clock: Clock
  hub: Emitter
  ledger: Ledger
  latches: LatchStore
  leases: LeaseStore
  journal: RunStore
  log: Log
  /** Notes that a transporter moves, until the returned function is called. Throws `interlock` while a person may have their hands in its reach. */
  beginMotion?(device_id: string): (() => void) | undefined
  /**
   * Begins a transfer of a storage that a person orders, and returns the slot that it is about. Call `ended` afterwards: it resolves when the places of the labware
   * are on the disk. Rejects if something stands in the way.
   */
  beginTransfer?(order: TransferOrder): Promise<Transfer>
  /** A device has scanned; a storage may have seen which of its slots are taken (`slots`). */
  scanned?(device_id: string, seen: unknown): void
  /** A device that may have moved stands: it has acknowledged a halt, or was initialized, or a person has looked at it. */
  stood?(): void
  /** Returns the taught way to a teachpoint of a transporter. Throws, with the remedy, if the point is not taught or cannot be used. */
  wayTo?(device_id: string, teachpoint: string): Way
}
