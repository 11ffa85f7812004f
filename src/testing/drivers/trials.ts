// How the tests of drivers try an operation: with which parameters, after which others, and what it does meanwhile. All of it follows from the table of
// operations, the profile of the device, and the record of its driver.

import type * as v from 'valibot'
import type { Trial } from '../../../drivers/driver.ts'
import type { Device, Limit, Limits, Profile } from '../../devices/device.ts'
import { heldOf, isList, isNullable, isOptional, type OperationName, operations, rowOf } from '../../devices/operations.ts'

/** An operation that a driver can have a method for. */
export type Name = Exclude<OperationName, 'stop'>

/** The operations that prepare another one, so that it is allowed and really moves. Those that a device does not have are left out. */
const before: Partial<Record<Name, readonly Name[]>> = {
  shake: ['lock_plate', 'close'],
  centrifuge: ['close'],
  seal: ['close'],
  open: ['close'],
  close: ['open'],
  lock_plate: ['unlock_plate'],
  unlock_plate: ['lock_plate'],
  run_profile: ['close'],
}

/** Returns the operations of the device that prepare this one. */
export function preparing(name: Name, has: (name: Name) => boolean): Name[] {
  return (before[name] ?? []).filter(has)
}

/** Returns the operations of a device, without those that last until somebody ends them or need a teachpoint: the tests of its driver try these. */
export function namesOn(device: Device): Name[] {
  const names = (Object.keys(operations) as OperationName[]).filter((name) => !heldOf(name) && !rowOf(name)?.goes_to)
  return names.filter((name): name is Name => name !== 'stop' && device[name] !== undefined)
}

/** Whether an instrument goes on with the operation until it is stopped, or for so long that somebody would stop it. */
export function goesOn(name: Name): boolean {
  return name !== 'initialize' && ('leaves_on' in operations[name] || operations[name].typical_seconds >= 30)
}

/** Whether the operation is done only when the instrument has come to its end. */
export function takesTime(name: Name): boolean {
  return goesOn(name) && operations[name].typical_seconds > 1
}

/** The operations that neither move nor heat any instrument. */
const reading: ReadonlySet<string> = new Set<OperationName>(['initialize', 'scan', 'weigh', 'tare', 'zero', 'stop'])

/** Whether nothing that the device does moves or heats. A storage that scans its slots also stores, so it moves. */
export function onlyReads(device: Device): boolean {
  const names = [...Object.keys(operations), 'pick', 'place'].filter((name) => device[name as keyof Device] !== undefined)
  return names.every((name) => reading.has(name))
}

/** Returns the operation that the tests halt and unplug on a real line: the first of those that take longest, besides `initialize`. Virtual time covers all. */
export function tried(device: Device, trial: Trial | undefined): Name {
  if (trial?.operation) return trial.operation as Name
  const [first = 'initialize', ...others] = namesOn(device).filter((name) => name !== 'initialize')
  return others.reduce(
    (longest, name) => (operations[name].typical_seconds > operations[longest].typical_seconds ? name : longest),
    first as Name,
  )
}

/** Returns parameters in the middle of their range, other than times and repetitions, which are short. A list has two records that differ. */
export function paramsOf(name: Name, { limits }: Pick<Profile, 'limits'>): Record<string, unknown> {
  return membersOf(operations[name].params.entries, limits, 1 / 2)
}

/** The most that a time, or a number of repetitions, is above its minimum. */
const short: Readonly<Record<string, number>> = { duration: 4, seconds: 4, repetitions: 1 }

/** `part` is the part of each range at which its value lies. */
function membersOf(entries: Record<string, v.GenericSchema>, limits: Limits, part: number): Record<string, unknown> {
  return Object.fromEntries(Object.entries(entries).map(([name, schema]) => [name, sampleOf(schema, { name, limits, part })]))
}

type Sampled = { name: string; limits: Limits; part: number }

function sampleOf(schema: v.GenericSchema, sampled: Sampled): unknown {
  const { name, limits, part } = sampled
  const limit = limits[name]
  if (limit)
    return stepped(limit, Math.min(limit.min + (limit.max - limit.min) * part, limit.min + (short[name] ?? Number.POSITIVE_INFINITY)))
  if (isOptional(schema)) return schema.default ?? sampleOf(schema.wrapped, sampled)
  if (isNullable(schema)) return sampleOf((schema as unknown as { wrapped: v.GenericSchema }).wrapped, sampled)
  if (isList(schema)) return [1 / 3, 2 / 3].map((part) => sampleOf((schema as List).item, { ...sampled, part }))
  if (schema.type === 'strict_object') return membersOf((schema as ObjectSchema).entries, limits, part)
  const least = leastOf(schema as Step)
  if (least === undefined) throw new Error(`the profile has no limit for ${name}`)
  return least
}

type Step = { type: string; requirement?: number; pipe?: readonly Step[] }

/** Returns the least value that the schema of a number takes; undefined without a bound. */
function leastOf(step: Step): number | undefined {
  if (step.type === 'min_value') return step.requirement
  const inner = (step.pipe ?? []).filter((one) => one !== step)
  return inner.map(leastOf).find((least) => least !== undefined)
}

type ObjectSchema = v.StrictObjectSchema<Record<string, v.GenericSchema>, undefined>
type List = v.ArraySchema<v.GenericSchema, undefined>

export function stepped({ min, step }: Limit, wanted: number): number {
  return step ? Number((min + Math.round((wanted - min) / step) * step).toFixed(6)) : wanted
}
