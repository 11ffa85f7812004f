// The device that a driver makes, and its link.

import type * as v from 'valibot'
import type { LabError } from '../errors.ts'
import type { OwnOperation } from './description.ts'
import type { MoveName, OperationName, operations, Params, Performable } from './operations.ts'
import type { Question, Read } from './reading_table.ts'
import type { CarriedLabware, MoveTarget, Skill, Way } from './way.ts'

const deviceTypes = [
  'shaker',
  'sealer',
  'peeler',
  'centrifuge',
  'storage',
  'scanner',
  'balance',
  'thermocycler',
  'temperature_controller',
  'transporter',
] as const
export type DeviceType = (typeof deviceTypes)[number]

/** The identity that an instrument reports. A member is null where the instrument cannot report it. */
export type Identity = { model: string | null; serial_number: string | null; firmware_version: string | null }

/** The range of a parameter, both ends included; `step` is its resolution. '' stands for no unit. */
export type Limit = { min: number; max: number; unit: string; step?: number }
/** Keyed by name of parameter: `speed`, `duration`, `temperature`, `g`. */
export type Limits = Record<string, Limit>

/**
 * The features of a device besides its operations. `uninterruptible`: no stop ends a motion that has begun. `climate`: the temperature that is set is the
 * climate of a closed chamber, which the instrument regulates by itself. No stop, fault or end of the service changes it, because labware is kept in it.
 * `motionless`: nothing of the device moves or heats, so a stop is confirmed without an answer of the instrument.
 */
type Features = Partial<
  Record<
    'locking' | 'heating' | 'cooling' | 'climate' | 'door' | 'host_watchdog' | 'autonomous_timer' | 'uninterruptible' | 'motionless',
    boolean
  >
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
  /** Seconds besides the requested duration after which an operation is given up, where this model may take longer than the table of operations allows. */
  margin_seconds?: Margins
}

/** Keyed by name of operation. Shorter times than those of the table have no effect. */
export type Margins = { readonly [Name in Performable]?: number }

/** A profile with operations that the table may not have. */
export type AnyProfile = Omit<Profile, 'ends_early'> & { ends_early?: readonly string[] }

/** The usual durations of an instrument, in its own seconds. */
export type Typical = {
  initialize_s: number
  /** Seconds for each °C. Absent if no operation heats first, or the device cannot measure its temperature. */
  heating_s?: number
}

/** The identity and the limits that an instrument reports while it is initialized. Its limits replace those of the model. */
export type Learned = { identity: Identity | null; limits?: Limits }

/** The way to the teachpoint of an operation that goes to one; null for a transporter that knows its positions by their names. */
export type Destination = { way: Way | null }

/** The parameters of an operation as its driver gets them. */
export type Given<Name extends OperationName> = Params<Name> &
  ((typeof operations)[Name] extends { goes_to: unknown } ? Destination : object)

/**
 * The value with which an operation resolves: the values that it gives, if its row has `returns`. A held operation may resolve with the message of its end,
 * in place of that of the table: only its driver knows how far it went.
 */
type Ended<Name extends OperationName> = (typeof operations)[Name] extends { returns: infer Returns extends v.GenericSchema }
  ? Promise<v.InferOutput<Returns>>
  : (typeof operations)[Name] extends { held: unknown }
    ? Promise<string | undefined>
    : Promise<void>

type Commands = {
  [Name in Exclude<OperationName, 'initialize' | 'stop'>]?: ((params: Given<Name>, signal: AbortSignal) => Ended<Name>) | undefined
} & { [Name in MoveName]?: (target: MoveTarget, signal: AbortSignal) => Promise<void> } & {
  /** A question is sent between two frames of a running operation, and moves nothing. */
  [Name in Question]?: () => Promise<Read<Name>>
}

/**
 * An instrument, made by its driver: a method for each operation and question that this model has; the others are undefined. A transporter also has its moves:
 * each resolves when the labware is gripped, or let go, and the gripper is clear of the place.
 *
 * An operation resolves when the instrument has done it and rejects with a `LabError` otherwise; it gives up soon after
 * its signal is aborted. `interlock` and `invalid` mean that nothing was done; anything else latches a fault.
 */
export type Device = Commands & {
  /** Makes the instrument ready for commands. May move it. */
  initialize(params: object, signal: AbortSignal): Promise<Learned>
  /** Asks for its identity without moving anything; null if it cannot be asked so. */
  identify(): Promise<Identity | null>
  /** Asks a harmless question, every two seconds while nothing runs. Rejects if the instrument has a fault. */
  check(): Promise<void>
  /** Asks an instrument that was unattended for an operation that ends by itself; null if there is none. */
  underWay?(): Promise<UnderWay | null>
  described?: SelfDescribed
  /**
   * Asks an arm whether it holds something, such as this labware; null if that proves nothing about its interrupted move. Rejects with `interlock` while it
   * moves.
   */
  gripper?: ((labware: CarriedLabware) => Promise<Gripper | null>) | undefined
  /**
   * Asks a storage whether there is a plate at its transfer station and on its handler, which carries plates between the station and the slots. A member is null
   * where the instrument cannot tell. Moves nothing, and is answered at any moment, so that the place of a plate is known after an interrupted move.
   */
  whereIsPlate?(): Promise<PlateWhereabouts>
  /** Whether the instrument cannot be asked how it is, so that its silence means nothing. Absent for others. */
  readonly isNeverAsked?: boolean
  /** The skills of an arm; null before it has reported them. Absent for devices that are not arms. */
  readonly skills?: ReadonlySet<Skill> | null
  /** The person who carries; absent for instruments. */
  readonly person?: Person
  /** Whether a transporter goes to the teachpoints of the bench (the default), or knows its positions by their names and needs none. */
  readonly points?: 'taught' | 'own'
  /** The reason why a run with real devices must not use this device, in words that follow its name; undefined if it may. */
  readonly unfit?: string | undefined
  /** The values of a parameter that this device takes, of those in the table of operations. Keyed by name of parameter, as `axis`. */
  readonly choices?: Readonly<Record<string, readonly string[]>>
  /** Returns why it lacks an operation, as a clause that names the remedy; undefined where that needs no words. */
  lacks?(operation: string): string | undefined
  /** Tells an instrument that ends a held operation by itself that the caller still holds it. Must not throw. */
  renew?(): void
  /**
   * Ends a running operation that the profile lists in `ends_early` in an orderly way: a shaker ramps down and goes home, a centrifuge
   * brakes. Resolves when the instrument has acknowledged; the operation resolves when it is done. Rejects without an acknowledgement; the
   * operation then continues, and a held one is halted. Rejects with `conflict` when it has ended by itself.
   */
  end?(): Promise<EndedEarly>
  /**
   * Stops motion and heat. The bytes are on the wire when this returns, unless it throws or rejects with `stop_not_sent`.
   * Resolves on evidence: the instrument has acknowledged, or was observed to obey. Silence, an echo, or the fact that nothing was under
   * way is no evidence. A `motionless` device resolves at once, also on a closed link: nothing of it can move or heat.
   */
  halt(): Promise<void>
  /**
   * The effect that no `halt` ends: heat, or everything. With `all`, `halt` sends nothing, and resolves when the present operation has come to a
   * good end by itself. Undefined where `halt` ends motion and heat.
   */
  readonly unhaltable?: 'all' | 'heat' | undefined
}

/** How tasks are shown to a person. Times in seconds. */
export type PersonSettings = {
  /** `once`: one answer, when the labware stands at its target; `twice`: another one before, when it is taken. */
  confirm: 'once' | 'twice'
  reminder_s: number
  ask_barcode: boolean
  shared_space: boolean
}

/** A person who carries labware, as runs know one. */
export type Person = {
  readonly settings: PersonSettings
  /** Notes a task that is open until the returned function is called. A stop of the person calls `withdraw`. */
  undertake(withdraw: (error: LabError) => void): () => void
}

/** Operations and readings beyond the tables, which the program behind a device describes, or its driver. Such operations are performed by name. */
export type SelfDescribed = {
  /** Whether a program is behind it, which may describe itself otherwise later. A driver describes its device once. */
  readonly isProgram: boolean
  /** Keyed by name, including those of the table; empty before the first description. */
  readonly operations: ReadonlyMap<string, OwnOperation>
  /** Whether it has ever described itself. */
  readonly isKnown: boolean
  /** Accepts the last description. Returns whether it differed from the accepted one. */
  accept(): boolean
  perform(asked: AskedOperation, signal: AbortSignal): Promise<{ message?: string | undefined; data?: unknown }>
  /** Resolves when the files of its last operation are fetched, which lasts two minutes at most; undefined if none are being fetched. `perform` rejects with `busy` till then. */
  fetching(): Promise<void> | undefined
  /** The readings by name, with their units. */
  readonly readings: Readonly<Record<string, { unit: string }>>
  /** Asks for one of them. Rejects as `get_temperature` does. */
  read(reading: string): Promise<{ value: number; target: number | null }>
}

export type AskedOperation = {
  operation: string
  params: Record<string, unknown>
  operation_id: string
  /** Seconds after which the operation is given up. */
  deadline_s: number
  progressed(progress: Progress): void
  /** Keeps a file with the run of the operation; absent outside of runs. Called after the end of the operation. Never rejects: the operation is done, whatever comes of the file. */
  attach?: Attach | undefined
}

/** A file that a device gives with the result of an operation. `pieces` reads it once. */
export type DeviceFile = { name: string; media_type: string; note: string | null; bytes: number; pieces: AsyncIterable<Uint8Array> }
export type Attach = (file: DeviceFile) => Promise<void>

/** `fraction` is from 0 to 1; null if the program does not report it. */
export type Progress = { fraction: number | null; message: string | null }

/** The rest of the requested `duration` when the operation was ended. */
export type EndedEarly = { seconds_left: number }

export type Gripper = 'empty' | 'full'

/** The sensors of a storage: whether a plate is there; null where the instrument cannot tell. */
export type PlateWhereabouts = { station: boolean | null; handler: boolean | null }

export type UnderWay = { operation: Performable; seconds_left: number }

/** The link of a device: a port, a bus, a simulated line. */
export interface Link {
  readonly state: 'closed' | 'open' | 'lost'
  /** Opens the link, also after a loss. Nothing written before is delivered afterwards. */
  open(): Promise<void>
  close(): Promise<void>
  /** Calls the function at each loss, with the reason. */
  onLost(call: (reason: string) => void): void
  /** The advice to a person when the device cannot be reached; by default its cable and its power supply. */
  readonly advice?: string
}
