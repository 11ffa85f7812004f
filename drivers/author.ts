// The module `benchd/driver`, with which labs write drivers of their own: what the drivers of the catalogue import, and nothing else. The names are a promise.

import * as v from 'valibot'
import type { Driver, TcpDriver } from './driver.ts'

export type { InferOutput } from 'valibot'
export type {
  Device,
  EndedEarly,
  Identity,
  Learned,
  Limit,
  Limits,
  Profile,
  Typical,
  UnderWay,
} from '../src/devices/device.ts'
export { connectionLost, isRefusal, notOpen } from '../src/devices/failure.ts'
export type { Params } from '../src/devices/operations.ts'
export { LabError, messageOf } from '../src/errors.ts'
export { type Clock, sleep } from '../src/kit/clock.ts'
export { described, Whole } from '../src/kit/described.ts'
export type { About, Driver, Own, OwnAsked, SerialMount, TcpDriver, Trial } from './driver.ts'
export { heardOrObeyed } from './early_end.ts'
export { believed, HeatWatch, heaterStillOn, isBlind, type Warming } from './heat_watch.ts'
export { keepTime, mustSlowDown, mustTurn, onceStarted, repeatUntil, until } from './host_timed.ts'
export { OperationRunner, unlessAborted } from './operation_runner.ts'
export { type ErrorTable, inWords, type Meaning, refused, reports } from './reported.ts'
export { Heater, Table, Timers } from './simulated_parts.ts'
export { TextPort } from './simulated_port.ts'
export { lineReader, nextLine } from './text_lines.ts'
export { Exchange, type ExchangeOptions, type Found, isNoReply } from './transports/exchange.ts'
export type { Line, SerialSettings, TcpSettings } from './transports/line.ts'
export type { InstrumentEnd, MechanicalFault, Simulate, Simulator } from './transports/simulator.ts'
export { WithMount } from './with_mount.ts'

/** The functions of valibot with which the settings of a driver are described. A driver may also use a valibot of its own. */
const schema = {
  array: v.array,
  boolean: v.boolean,
  check: v.check,
  finite: v.finite,
  integer: v.integer,
  literal: v.literal,
  maxLength: v.maxLength,
  maxValue: v.maxValue,
  minLength: v.minLength,
  minValue: v.minValue,
  nonEmpty: v.nonEmpty,
  nullable: v.nullable,
  number: v.number,
  optional: v.optional,
  parse: v.parse,
  picklist: v.picklist,
  pipe: v.pipe,
  record: v.record,
  regex: v.regex,
  strictObject: v.strictObject,
  string: v.string,
  union: v.union,
}

export { schema as v }

/** Returns the bytes of a text, one for each character. */
export function latin1(text: string): Uint8Array {
  return Buffer.from(text, 'latin1')
}

/** Types the driver of an instrument on a serial line: `export const driver = serialDriver({…})`. */
export function serialDriver<Settings>(driver: Driver<Settings>): Driver<Settings> {
  return driver
}

/** Types the driver of an instrument that is on the network itself. */
export function tcpDriver<Settings>(driver: TcpDriver<Settings>): TcpDriver<Settings> {
  return driver
}
