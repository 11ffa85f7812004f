// Stands between the service and a device of a driver of the lab's own: what the driver returns is checked, so that rubbish is a failure of this device alone.

import * as v from 'valibot'
import type { Device, Profile } from '../src/devices/device.ts'
import { operations } from '../src/devices/operations.ts'
import { LabError } from '../src/errors.ts'

const Word = v.nullable(v.string())
const Identity = v.nullish(v.object({ model: Word, serial_number: Word, firmware_version: Word }), null)
const Limits = v.record(
  v.string(),
  v.object({ min: v.number(), max: v.number(), unit: v.string(), step: v.exactOptional(v.union([v.number(), v.undefined()])) }),
)
const Names = v.optional(v.array(v.string()))
const ProfileForm = v.looseObject({
  model: v.string(),
  limits: Limits,
  features: v.record(v.string(), v.optional(v.boolean())),
  lowest_set_point: v.optional(v.number()),
  ends_early: Names,
  margin_seconds: v.optional(v.record(v.string(), v.optional(v.number()))),
})

/** The forms of the results that the service uses without a further look. */
const results: Readonly<Record<string, v.GenericSchema>> = {
  identify: Identity,
  initialize: v.nullish(v.looseObject({ identity: Identity, limits: v.optional(Limits) }), { identity: null }),
  underWay: v.nullish(v.object({ operation: v.picklist(Object.keys(operations)), seconds_left: v.pipe(v.number(), v.finite()) }), null),
  end: v.object({ seconds_left: v.number() }),
}
for (const [name, row] of Object.entries(operations))
  if ('returns' in row) Object.assign(results, { [name]: row.returns as v.GenericSchema })

/** The members that are functions, but no questions to the instrument. */
const immediate: ReadonlySet<PropertyKey> = new Set(['lacks', 'renew', 'halt'])
/** Members that are read at any moment. */
const shown = ['unhaltable', 'skills', 'points', 'unfit', 'choices', 'isNeverAsked', 'person'] as const

/** Throws `invalid`, naming the member, for a profile that is none. */
export function mustBeProfile(profile: unknown): Profile {
  return mustHaveForm(ProfileForm, profile, 'profile', 'invalid') as Profile
}

/** Returns the device with its results checked. `enter` makes each call of its code. Throws what reading its members throws. */
export function guardedDevice(device: Device, enter: <Value>(call: () => Value) => Value): Device {
  for (const name of shown) void device[name]
  const known = new Map<PropertyKey, { from: unknown; made: unknown }>()
  return new Proxy(device, {
    get(target, name) {
      const value = Reflect.get(target, name, target) as unknown
      if (typeof value !== 'function') return value
      const before = known.get(name)
      if (before?.from === value) return before.made
      const call = (...given: unknown[]) => enter(() => value.apply(target, given) as unknown)
      const made = immediate.has(name) ? call : async (...given: unknown[]) => checkedResult(String(name), await call(...given))
      known.set(name, { from: value, made })
      return made
    },
  })
}

function checkedResult(name: string, result: unknown): unknown {
  const form = Object.hasOwn(results, name) ? results[name] : undefined
  return form ? mustHaveForm(form, result, name, 'device_failed') : result
}

function mustHaveForm(form: v.GenericSchema, value: unknown, what: string, code: 'invalid' | 'device_failed'): unknown {
  const judged = v.safeParse(form, value)
  if (judged.success) return judged.output
  const [{ message, path }] = judged.issues
  const place = [what, ...(path ?? []).map(({ key }) => String(key))].join('.')
  throw new LabError(code, `its driver gave a wrong ${place}: ${message}; look for the mistake in the driver`)
}
