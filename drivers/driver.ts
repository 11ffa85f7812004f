// The record that each folder beside this file exports as `driver`.

import type * as v from 'valibot'
import type { Device, DeviceType, Profile, Typical } from '../src/devices/device.ts'
import type { Clock } from '../src/kit/clock.ts'
import type { ErrorTable } from './reported.ts'
import type { Board } from './transports/board.ts'
import type { Line, SerialSettings } from './transports/line.ts'
import type { SimulateBoard } from './transports/simulated_board.ts'
import type { Simulate } from './transports/simulator.ts'
import type { BoardPlan } from './transports/wiring.ts'

/** Tells people which instrument a driver is for; the README's table of drivers is made from it. */
export type About = {
  /** The maker and the name of the instrument. */
  readonly instrument: string
  /** On what the operations depend, where they are not the same for all settings. */
  readonly operations?: string
  /** The folder of the driver, where its name is another. */
  readonly folder?: string
}

type Common<Settings> = {
  readonly type: DeviceType
  readonly about: About
  /** A strict object; every member has a default, so that `{}` is a device out of the box. */
  readonly settings: v.GenericSchema<unknown, Settings>
  /** Says what this model can do, before the instrument has been asked. */
  profile(settings: Settings): Profile
  /** How long the instrument takes to initialize and to heat, as its simulator does; forecasts count with it until the bench has shown it. */
  readonly typical: Typical
  /** The error table of the instrument; absent where the instrument reports no error by number. */
  errors?(settings: Settings): ErrorTable
}

/** The parts that a device on a serial line is made with. */
export type SerialMount<Settings> = { line: Line; clock: Clock; settings: Settings }

/** The parts that a device on pins is made with. */
export type PinsMount<Settings> = { board: Board; clock: Clock; settings: Settings }

/** For an instrument on a serial line. */
export interface Driver<Settings = unknown> extends Common<Settings> {
  readonly serial: SerialSettings
  /** The driver changes the speed of the line while it talks. A box on the network keeps its speed, so such a driver cannot work behind one. */
  readonly changes_speed?: true
  /**
   * Matches, in latin1, what an instrument of this driver sends when it is asked who it is, or when it does not understand a question, and what no
   * other instrument sends. `devices add` refuses an instrument that answers without it. Absent where the answers have no form of their own.
   */
  readonly signature?: RegExp
  /** How long it may not hear after its port was opened, in seconds: whoever switches it off in a hurry waits so much longer. */
  readonly deaf_s?: number
  /** The device at the far end of a line. Opens nothing and writes nothing by itself. */
  open(at: SerialMount<Settings>): Device
  /** An instrument that speaks the same protocol, to be put at the far end of a line. */
  readonly simulate: Simulate<Settings>
}

/**
 * For a device that hangs on pins and I2C parts of this computer. Its settings say in `pins` and `i2c` how it is wired; their defaults
 * are those of the simulation, and a configuration with real pins has to say them.
 */
export interface PinsDriver<Settings = unknown> extends Common<Settings> {
  /** Lists the pins and parts that have to be opened, by the names that the driver uses. */
  plan(settings: Settings): BoardPlan
  /** The device on a board with that plan. Opens nothing and writes nothing by itself. */
  open(at: PinsMount<Settings>): Device
  /** Makes the simulation of everything that is wired to the pins and the bus. */
  readonly simulate: SimulateBoard<Settings>
}

export type AnyDriver = Driver | PinsDriver

export function isOnPins<Settings>(driver: Driver<Settings> | PinsDriver<Settings>): driver is PinsDriver<Settings> {
  return 'plan' in driver
}
