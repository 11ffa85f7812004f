// How the tests of drivers try an operation: with which parameters, after which others, and what it does meanwhile. All of it follows from the table of
// operations, what a driver describes of its own, the profile of the device, and the record of its driver.

import type * as v from 'valibot'
import type { Trial } from '../../drivers/driver.ts'
import { askedSeconds } from '../devices/asked_time.ts'
import type { OwnOperation } from '../devices/description.ts'
import type { Device, Limit, Limits, Profile } from '../devices/device.ts'
import { heldOf, isList, isNullable, isOptional, type Leaves, operations, type Performable, rowOf } from '../devices/operations.ts'
import { marginSeconds } from '../devices/usual_time.ts'

/** An operation of the table that a driver can have a method for, or one of the driver's own. */
export type Name = string

/** A profile, with the operations that the driver describes of its own. */
export type TriedProfile = Profile & { own?: ReadonlyMap<string, OwnOperation> | undefined }
/** The part of a profile from which parameters are made. */
type Ranges = Pick<TriedProfile, 'limits' | 'own'>

/** The operations that prepare another one, so that it is allowed and really moves. Those that a device does not have are left out. */
const before: Readonly<Record<string, readonly Performable[]>> = {
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
export function preparing<Known extends string>(name: Known, has: (name: Known) => boolean): Known[] {
  return ((before[name] ?? []) as readonly string[] as readonly Known[]).filter(has)
}

/** Returns the operations of a device, without those that last until somebody ends them or need a teachpoint: the tests of its driver try these. */
export function namesOn(device: Device): Name[] {
  const names = Object.keys(operations).filter((name) => name !== 'stop' && !heldOf(name) && !rowOf(name)?.goes_to)
  return [...names.filter((name) => device[name as Performable] !== undefined), ...(device.described?.operations.keys() ?? [])]
}

/** Returns what an operation with these parameters leaves on by itself. */
export function leavesOf(name: Name, params: Readonly<Record<string, unknown>>, { own }: Pick<TriedProfile, 'own'>): Leaves {
  const described = own?.get(name)
  return described ? (described.leaves_on ?? undefined) : rowOf(name)?.leaves_on?.(params as never)
}

/** Whether an operation may leave something on. */
export function canLeaveOn(name: Name, { own }: Pick<TriedProfile, 'own'>): boolean {
  const described = own?.get(name)
  return described ? described.leaves_on === 'motion' || described.leaves_on === 'heat' : rowOf(name)?.leaves_on !== undefined
}

/** Whether an instrument goes on with the operation until it is stopped, or for so long that somebody would stop it. */
export function goesOn(name: Name, profile: Pick<TriedProfile, 'own'> = {}): boolean {
  return name !== 'initialize' && (canLeaveOn(name, profile) || usual_s(name, profile) >= 30)
}

/** Whether the operation is done only when the instrument has come to its end. */
export function takesTime(name: Name, profile: Pick<TriedProfile, 'own'> = {}): boolean {
  const described = profile.own?.get(name)
  return goesOn(name, profile) && (described ? described.longest_s > 1 : usual_s(name, profile) > 1)
}

/** Returns the seconds that an operation takes besides the time that it is asked for. */
export function usual_s(name: Name, { own }: Pick<TriedProfile, 'own'>): number {
  return own?.get(name)?.usual_s ?? operations[name as Performable].typical_seconds
}

/** Returns the seconds for which the parameters ask. */
export function lasting_s(name: Name, params: Readonly<Record<string, unknown>>, { own }: Pick<TriedProfile, 'own'>): number {
  const described = own?.get(name)
  return described ? described.seconds(params) - described.usual_s : askedSeconds(name, params)
}

/** Returns the seconds after which the service gives an operation up, besides the time for which it was asked. */
export function margin_s(name: Name, { own, margin_seconds }: TriedProfile): number {
  const described = own?.get(name)
  return described ? described.usual_s + described.margin_s : marginSeconds(name as Performable, margin_seconds)
}

/** The operations that neither move nor heat any instrument. */
const reading: ReadonlySet<string> = new Set(['initialize', 'scan', 'weigh', 'tare', 'zero', 'stop'])

/** Whether nothing that the device does moves or heats. A storage that scans its slots also stores, so it moves. */
export function onlyReads(device: Device): boolean {
  const names = [...Object.keys(operations), 'pick', 'place'].filter((name) => device[name as keyof Device] !== undefined)
  const own = [...(device.described?.operations.values() ?? [])]
  return names.every((name) => reading.has(name)) && own.every(({ leaves_on }) => leaves_on === null)
}

/** Returns the operation that the tests halt and unplug on a real line: the first of those that take longest, besides `initialize`. Virtual time covers all. */
export function tried(device: Device, trial: Trial | undefined): Name {
  if (trial?.operation) return trial.operation
  const profile = { own: device.described?.operations }
  const [first = 'initialize', ...others] = namesOn(device).filter((name) => name !== 'initialize')
  return others.reduce((longest, name) => (usual_s(name, profile) > usual_s(longest, profile) ? name : longest), first)
}

/** Returns parameters in the middle of their range, other than times and repetitions, which are short. A list has two records that differ. */
export function paramsOf(name: Name, { limits, own }: Ranges): Record<string, unknown> {
  const described = own?.get(name)
  if (described) return ownParams(name, described)
  return membersOf(operations[name as Performable].params.entries, limits, 1 / 2)
}

/** Returns the parameters of an operation with a long time, of at most `seconds`; for an operation of steps, with one step that is as long. */
export function longer(name: Name, profile: Ranges, seconds: number): Record<string, unknown> {
  const params = paramsOf(name, profile)
  const { steps } = params
  const described = profile.own?.get(name)
  if (described) return described.timed_by ? { ...params, ...ownTime(described, described.timed_by, seconds) } : params
  if (Array.isArray(steps)) return { ...params, steps: [{ ...steps[0], seconds }], repetitions: 1 }
  return { ...params, duration: Math.min(seconds, profile.limits.duration?.max ?? seconds) }
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

/** The part of a JSON Schema that tells which values a parameter takes. */
type OwnParam = {
  type?: string | readonly string[]
  default?: unknown
  enum?: readonly unknown[]
  minimum?: number
  maximum?: number
  multipleOf?: number
  items?: OwnParam
  minItems?: number
  properties?: Record<string, OwnParam>
}

function ownParams(name: Name, { schema, timed_by }: OwnOperation): Record<string, unknown> {
  const { properties = {} } = schema as OwnParam
  return Object.fromEntries(
    Object.entries(properties).map(([param, its]) => [
      param,
      ownSample(its, `${name}.${param}`, param === timed_by ? short.duration : undefined),
    ]),
  )
}

/** Returns the value of the time of an operation: `seconds`, or the most that it takes. */
function ownTime({ schema }: OwnOperation, param: string, seconds: number): Record<string, unknown> {
  const { minimum = 0, maximum = seconds } = (schema as OwnParam).properties?.[param] ?? {}
  return { [param]: Math.max(minimum, Math.min(seconds, maximum)) }
}

/** Returns a value in the middle of the range of a parameter; `most` above its minimum at most. */
function ownSample(param: OwnParam, place: string, most = Number.POSITIVE_INFINITY): unknown {
  const { type, minimum, maximum, multipleOf, enum: words } = param
  const [kind] = [type ?? 'number'].flat()
  if (words?.length) return words[0]
  if (kind === 'boolean') return param.default ?? false
  if (kind === 'array') return param.default ?? Array(Math.max(1, param.minItems ?? 1)).fill(ownSample(param.items ?? {}, `${place}[]`))
  if (kind === 'object')
    return Object.fromEntries(Object.entries(param.properties ?? {}).map(([name, its]) => [name, ownSample(its, `${place}.${name}`)]))
  if (kind === 'string') return param.default ?? 'a'
  if (minimum === undefined || maximum === undefined) {
    if (param.default !== undefined) return param.default
    throw new Error(`${place} has no minimum and maximum, and no default: the tests do not know which value it takes`)
  }
  const step = multipleOf ?? (kind === 'integer' ? 1 : undefined)
  return stepped({ min: minimum, max: maximum, unit: '', ...(step && { step }) }, Math.min((minimum + maximum) / 2, minimum + most))
}
