// The type of the record that each driver folder exports as `driver`.

import type * as v from 'valibot'
import type { Operations, Readings } from '../src/devices/description.ts'
import type { Device, DeviceType, Profile, Progress, Typical } from '../src/devices/device.ts'
import type { OperationName } from '../src/devices/operations.ts'
import type { Clock } from '../src/kit/clock.ts'
import type { ErrorTable } from './reported.ts'
import type { Board } from './transports/board.ts'
import type { Line, SerialSettings, TcpSettings } from './transports/line.ts'
import type { SimulateBoard } from './transports/simulated_board.ts'
import type { Simulate } from './transports/simulator.ts'
import type { BoardPlan } from './transports/wiring.ts'

/** Describes the instrument of a driver; the README's table of drivers is made from it. */
export type About = {
  /** The maker and the name of the instrument. */
  readonly instrument: string
  /** The settings on which the operations depend. */
  readonly operations?: string
  /** The folder of the driver, if it has another name. */
  readonly folder?: string
}

/**
 * The operations and readings of a driver's own, described as a bridge describes them. Each is a method of the device: `dispense(params, signal, asked)`, which
 * resolves with its values, and `flow()`, which resolves with a number, or with `{ value, target }`.
 */
export type Own = {
  readonly operations?: v.InferInput<typeof Operations>
  readonly readings?: v.InferInput<typeof Readings>
}

/** The third argument of an operation of a driver's own. */
export type OwnAsked = { operation_id: string; progressed(progress: Progress): void }

type Common<Settings> = {
  /** A type of the catalogue, or a word of its own: small letters, digits and `_`. */
  readonly type: DeviceType | (string & {})
  readonly about: About
  /** A strict object whose members all have defaults, so that `{}` is valid. */
  readonly settings: v.GenericSchema<unknown, Settings>
  /** Returns the abilities of the model, before the instrument was asked. */
  profile(settings: Settings): Profile
  /** The time to initialize and to heat, equal to the simulator's. Forecasts use it until the bench has measured its own. */
  readonly typical: Typical
  /** Describes operations and readings that the tables of the bench do not have; absent without such. */
  own?(settings: Settings): Own
  /** How the tests try it, where the defaults do not fit. */
  readonly trial?: Trial
  /** The error table; absent for an instrument that reports no error numbers. */
  errors?(settings: Settings): ErrorTable
}

/** How the tests that every driver must pass try it. */
export type Trial = {
  /** Settings beside the defaults that change what the device can do. */
  readonly variants?: readonly object[]
  /** How many times faster than real time the simulator runs on a real line; 20 by default. Slower where a short operation would be over before a test looks. */
  readonly pace?: number
  /** The operation that is halted and unplugged on a real line; by default the first of those that take longest. */
  readonly operation?: Exclude<OperationName, 'stop'> | (string & {})
  /** Whether a loss of power during an operation shows in its answers; true by default. */
  readonly shows_restart?: false
}

/** The parts from which a device on a line is made. */
export type SerialMount<Settings> = { line: Line; clock: Clock; settings: Settings }

/** The parts from which a device on pins is made. */
export type PinsMount<Settings> = { board: Board; clock: Clock; settings: Settings }

interface OnLine<Settings> extends Common<Settings> {
  /** Whether the driver changes the speed of the line, which excludes serial boxes on the network. */
  readonly changes_speed?: true
  /**
   * Matches, in latin1, the answer of an instrument of this driver to an identity query or to an unknown question, and no answer of
   * another instrument. `devices add` refuses an instrument whose answers do not match. Absent if the answers have no recognizable form.
   */
  readonly signature?: RegExp
  /** The seconds for which it may be deaf after its port was opened; `safe-off` waits that much longer. */
  readonly deaf_s?: number
  /** Makes the device at the end of a line. Opens and writes nothing by itself. */
  open(at: SerialMount<Settings>): Device
  /** Makes a simulated instrument with the same protocol for the other end of the line. */
  readonly simulate: Simulate<Settings>
}

/** The driver of an instrument on a serial line. */
export interface Driver<Settings = unknown> extends OnLine<Settings> {
  readonly serial: SerialSettings
  /** Returns the settings of the port where they depend on the settings of the driver; absent where they are always `serial`. */
  serialOf?(settings: Settings): SerialSettings
  readonly tcp?: undefined
}

/** The driver of an instrument that is on the network itself. */
export interface TcpDriver<Settings = unknown> extends OnLine<Settings> {
  readonly tcp: TcpSettings
  readonly serial?: undefined
  readonly serialOf?: undefined
}

export type LineDriver<Settings = unknown> = Driver<Settings> | TcpDriver<Settings>

/**
 * The driver of a device on pins and I2C parts of this computer. Its settings `pins` and `i2c` say how it is wired. Their defaults
 * are those of the simulation; a configuration with real pins has to set them.
 */
export interface PinsDriver<Settings = unknown> extends Common<Settings> {
  /** Lists the pins and parts to open, by the driver's names. */
  plan(settings: Settings): BoardPlan
  /** Makes the device on a board with that plan. Opens and writes nothing by itself. */
  open(at: PinsMount<Settings>): Device
  /** Makes the simulation of everything that is wired to the pins and the bus. */
  readonly simulate: SimulateBoard<Settings>
}

export type AnyDriver = LineDriver | PinsDriver

/** Returns the settings of the port for an instrument with these settings; undefined for an instrument that is on the network itself. */
export function serialOf<Settings>(driver: Driver<Settings>, settings: Settings): SerialSettings
export function serialOf<Settings>(driver: LineDriver<Settings>, settings: Settings): SerialSettings | undefined
export function serialOf<Settings>(driver: LineDriver<Settings>, settings: Settings): SerialSettings | undefined {
  return driver.serialOf?.(settings) ?? driver.serial
}

export function isOnPins<Settings>(driver: LineDriver<Settings> | PinsDriver<Settings>): driver is PinsDriver<Settings> {
  return 'plan' in driver
}
