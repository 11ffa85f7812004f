// Gives the device of a driver the operations and readings of its own that the driver describes, by the path that bridges use.

import type * as v from 'valibot'
import { BridgeType, Operations, type OwnOperation, ownOperations, Readings } from '../src/devices/description.ts'
import type { AskedOperation, Device, SelfDescribed } from '../src/devices/device.ts'
import { operations as table } from '../src/devices/operations.ts'
import { measurements } from '../src/devices/reading_table.ts'
import { LabError, messageOf } from '../src/errors.ts'
import { checked } from '../src/kit/schema.ts'
import type { LineDriver, OwnAsked, PinsDriver } from './driver.ts'

type AnyDriverOf<Settings> = LineDriver<Settings> | PinsDriver<Settings>

/** The methods without which no device works. */
const needed = ['initialize', 'identify', 'check', 'halt'] as const
/** Members of a device that mean something else. */
const taken: ReadonlySet<string> = new Set([
  ...needed,
  ...['described', 'gripper', 'skills', 'person', 'points', 'unfit', 'choices', 'lacks', 'renew', 'end', 'unhaltable', 'pick', 'place'],
])

/** Makes the device, and adds what its driver describes. `wrap` replaces the device. Throws `invalid` for a device that lacks a method. */
export function opened<At extends { settings: Settings }, Settings>(
  driver: Pick<AnyDriverOf<Settings>, 'own'> & { open(at: At): Device },
  at: At,
  wrap = (device: Device) => device,
): Device {
  const made = driver.open(at)
  for (const name of needed) mustHave(made, name, 'every device has it')
  const device = wrap(made)
  const own = ownOf(driver, at.settings)
  if (own) Object.defineProperty(device, 'described', { value: describedBy(device, own), configurable: true })
  return device
}

type Described = { operations: ReadonlyMap<string, OwnOperation>; readings: Readonly<Record<string, { unit: string }>> }

/** Returns the operations and readings of a driver's own; undefined without such. Throws `invalid`, naming the place. */
export function ownOf<Settings>(driver: Pick<AnyDriverOf<Settings>, 'own'>, settings: Settings): Described | undefined {
  const own = driver.own?.(settings)
  if (!own) return undefined
  const operations = checked(Operations, own.operations ?? {}, 'operations')
  const readings = checked(Readings, own.readings ?? {}, 'readings')
  for (const name of [...Object.keys(operations), ...Object.keys(readings)]) {
    if (taken.has(name)) throw new LabError('invalid', `the name ${name} has a meaning of its own; take another`)
    if (Object.hasOwn(table, name))
      throw new LabError('invalid', `${name} is an operation of every bench: leave out its description, a method of that name is enough`)
    if (Object.hasOwn(operations, name) && Object.hasOwn(readings, name))
      throw new LabError('invalid', `${name} is an operation and a reading; rename one of them`)
  }
  const known = measurements().find(({ name }) => Object.hasOwn(readings, name))
  if (known)
    throw new LabError('invalid', `readings.${known.name}: every bench has it, leave out its description; its method is ${known.question}`)
  const all = ownOperations({ operations })
  for (const { params } of all.values()) void params
  return { operations: all, readings }
}

/** Throws `invalid` for a type that is no word. */
export function mustBeType(type: unknown): void {
  checked(BridgeType as v.GenericSchema, type, 'type')
}

function describedBy(device: Device, { operations, readings }: Described): SelfDescribed {
  const methods = device as unknown as Record<string, (...given: unknown[]) => Promise<unknown>>
  for (const name of operations.keys()) mustHave(device, name, 'its driver describes it')
  for (const name of Object.keys(readings)) mustHave(device, name, 'its driver describes it')
  return {
    ...{ operations, readings, isKnown: true, isProgram: false },
    accept: () => false,
    fetching: () => undefined,
    async perform({ operation, params, operation_id, progressed }: AskedOperation, signal) {
      const asked: OwnAsked = { operation_id, progressed }
      const data = await methods[operation]!(params, signal, asked)
      return data === undefined ? {} : { data: plain(data) }
    },
    async read(reading) {
      const answer = await methods[reading]!()
      const { value, target = null } =
        typeof answer === 'number' ? { value: answer } : ({ ...Object(answer) } as { value: number; target?: number | null })
      if (Number.isFinite(value) && (target === null || Number.isFinite(target))) return { value, target }
      throw new LabError('device_failed', `its driver gave ${value} as ${reading}; look for the mistake in the driver`)
    },
  }
}

/** The longest result of an operation, in characters of JSON. */
const longestData = 1024 * 1024

/** Returns the values that an operation gives as JSON has them. Throws `device_failed` for anything that no record can hold. */
function plain(data: unknown): unknown {
  let text: string | undefined
  try {
    text = JSON.stringify(data)
  } catch (error) {
    throw new LabError('device_failed', `its driver gave values that are no JSON (${messageOf(error)}); look for the mistake in the driver`)
  }
  if (text === undefined || typeof data !== 'object')
    throw new LabError('device_failed', `its driver gave a ${typeof data} in place of values by name; look for the mistake in the driver`)
  if (text.length > longestData)
    throw new LabError('device_failed', 'its driver gave values of more than 1 MiB; return numbers and short texts')
  return JSON.parse(text) as unknown
}

function mustHave(device: Device | undefined, name: string, why: string): void {
  if (typeof (device as unknown as Record<string, unknown> | undefined)?.[name] === 'function') return
  throw new LabError('invalid', `its device has no method ${name}, and ${why}`)
}
