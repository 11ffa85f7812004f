// The device that a driver makes, and the link that it hangs on.

import type { OwnOperation } from './description.ts'
import type { MoveName, OperationName, Params, Performable, Question, Read } from './operations.ts'
import type { Skill, Way } from './way.ts'

const deviceTypes = ['shaker', 'sealer', 'peeler', 'centrifuge', 'transporter'] as const
export type DeviceType = (typeof deviceTypes)[number]

/** The identity that an instrument reports. A member is null where the instrument cannot report it. */
export type Identity = { model: string | null; serial_number: string | null; firmware_version: string | null }

/** The range of a parameter, both ends included; `step` is the finest difference it knows. No unit is ''. */
export type Limit = { min: number; max: number; unit: string; step?: number }
/** Keyed by name of parameter: `speed`, `duration`, `temperature`, `g`. */
export type Limits = Record<string, Limit>

/** The features of a device besides its operations. `uninterruptible`: no stop is known that ends a motion that has begun. */
type Features = Partial<
  Record<'locking' | 'heating' | 'cooling' | 'door' | 'host_watchdog' | 'autonomous_timer' | 'uninterruptible', boolean>
>

/** The properties of a model that are known before the instrument was asked. */
export type Profile = {
  model: string
  limits: Limits
  features: Features
  /** The lowest set point in °C of an instrument that cannot switch its heater off; absent where it can. */
  lowest_set_point?: number
  /** The operations that `end` ends before their time; none by default. */
  ends_early?: readonly Performable[]
}

/** A profile with operations that the table may not have. */
export type AnyProfile = Omit<Profile, 'ends_early'> & { ends_early?: readonly string[] }

/** How long an instrument usually takes, in seconds of its own. */
export type Typical = {
  initialize_s: number
  /** For each °C. Absent where an operation heats nothing first, or the device cannot tell its temperature. */
  heating_s?: number
}

/** The identity and the limits that an instrument reports while it is initialized. Its limits replace those of the model. */
export type Learned = { identity: Identity | null; limits?: Limits }

type Commands = {
  [Name in Exclude<OperationName, 'initialize' | 'stop'>]?: (params: Params<Name>, signal: AbortSignal) => Promise<void>
} & { [Name in MoveName]?: (way: Way, signal: AbortSignal) => Promise<void> } & {
  /** Goes between two frames of an operation that runs, and moves nothing. */
  [Name in Question]?: () => Promise<Read<Name>>
}

/**
 * An instrument, made by its driver: a method for each operation and question that this model has; the others are undefined. A transporter has its moves besides:
 * each resolves when the labware is gripped, or let go, and the gripper is clear of the place.
 *
 * An operation resolves when the instrument has done it and rejects with a `LabError` otherwise; it gives up soon after
 * its signal is aborted. `interlock` and `invalid` mean that nothing was done; anything else latches a fault.
 */
export type Device = Commands & {
  /** Brings the instrument to where it takes commands. May move it. */
  initialize(params: object, signal: AbortSignal): Promise<Learned>
  /** Asks who it is, without moving anything; null when it cannot be asked so. */
  identify(): Promise<Identity | null>
  /** A harmless question, asked every two seconds while nothing runs. Rejects when the instrument is not well. */
  check(): Promise<void>
  /** Asks an instrument that was left alone for a run that ends by itself; null when there is none. */
  underWay?(): Promise<UnderWay | null>
  described?: SelfDescribed
  /** Asks an arm whether it holds something; null when that proves nothing of its last move, which was not finished. Rejects with `interlock` while it moves. */
  gripper?(): Promise<Gripper | null>
  /** The skills of an arm; null until it has said them. Absent for what is no arm. */
  readonly skills?: ReadonlySet<Skill> | null
  /**
   * Ends a running operation that the profile lists in `ends_early` in an orderly way: a shaker ramps down and goes home, a centrifuge
   * brakes. Resolves when the instrument has acknowledged, and the operation resolves when it is done. Rejects when it did not, and the
   * operation goes on.
   */
  end?(): Promise<EndedEarly>
  /**
   * Stops motion and heat. The bytes are on the wire when this returns; a `stop_not_sent` thrown or rejected says that they
   * are not. Resolves when there is evidence: the instrument has acknowledged, or is seen to obey. Silence, an echo, and that nothing was under
   * way, are none.
   */
  halt(): Promise<void>
  /**
   * The effect that no `halt` ends: heat, or anything at all. Where it is `all`, `halt` sends nothing, and resolves when what was under way has come to a
   * good end by itself. Undefined where `halt` ends motion and heat.
   */
  readonly unhaltable?: 'all' | 'heat' | undefined
}

/** A device behind which a program stands: it describes itself, and is asked for its operations by name. */
export type SelfDescribed = {
  /** Keyed by name, those of the table among them; empty as long as it has never described itself. */
  readonly operations: ReadonlyMap<string, OwnOperation>
  /** Whether it has ever described itself. */
  readonly isKnown: boolean
  /** Takes what it described last in place of what was accepted. Returns whether that was another. */
  accept(): boolean
  perform(asked: AskedOperation, signal: AbortSignal): Promise<{ message?: string | undefined; data?: unknown }>
  /** The readings by name, with their units. */
  readonly readings: Readonly<Record<string, { unit: string }>>
  /** Asks for one of them. Rejects as `get_temperature` does. */
  read(reading: string): Promise<{ value: number; target: number | null }>
}

export type AskedOperation = {
  operation: string
  params: Record<string, unknown>
  operation_id: string
  /** Seconds after which it is given up. */
  deadline_s: number
  progressed(progress: Progress): void
}

/** `fraction` is from 0 to 1; null where the program does not tell it. */
export type Progress = { fraction: number | null; message: string | null }

/** How much of the `duration` asked for was left when it was ended. */
export type EndedEarly = { seconds_left: number }

export type Gripper = 'empty' | 'full'

export type UnderWay = { operation: Performable; seconds_left: number }

/** The link of a device: a port, a bus, a simulated line. */
export interface Link {
  readonly state: 'closed' | 'open' | 'lost'
  /** Opens anew; after a loss too. Nothing written before is ever delivered after. */
  open(): Promise<void>
  close(): Promise<void>
  /** Calls, at each loss, with what was noticed. */
  onLost(call: (reason: string) => void): void
  /** The advice to a person when the device cannot be reached; by default its cable and its power supply. */
  readonly advice?: string
}
