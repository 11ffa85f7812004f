// How the words of a program become those of the bench: the ranges of its parameters, its readings, and its errors.

import * as v from 'valibot'
import type { OwnOperation } from '../../src/devices/description.ts'
import type { Limits } from '../../src/devices/device.ts'
import { operations as table } from '../../src/devices/operations.ts'
import { LabError } from '../../src/errors.ts'
import { checked } from '../../src/kit/schema.ts'
import { OfferedFiles } from './files.ts'
import type { Refusal } from './json_rpc.ts'

/** Returns the ranges of parameters of operations that are also in the table. */
export function limitsOf(operations: ReadonlyMap<string, OwnOperation>): Limits {
  type Shown = Record<string, { minimum?: number; maximum?: number; unit?: string; multipleOf?: number }>
  const shared = [...operations].filter(([name]) => Object.hasOwn(table, name))
  const ranges = shared.flatMap(([, { schema }]) => Object.entries(schema.properties as Shown))
  return Object.fromEntries(
    ranges.flatMap(([name, { minimum: min, maximum: max, unit = '', multipleOf: step }]) =>
      min === undefined || max === undefined ? [] : [[name, { min, max, unit, ...(step !== undefined && { step }) }]],
    ),
  )
}

const codes = { interlock: 'interlock', invalid: 'invalid', busy: 'busy', device_failed: 'device_failed' } as const

/** Converts the error of a program to an error of the device. */
export function refused({ message, reason = '', hint }: Refusal): LabError {
  const code = Object.hasOwn(codes, reason) ? codes[reason as keyof typeof codes] : 'device_failed'
  const advice = hint ?? (code === 'device_failed' ? 'see to it, then initialize' : undefined)
  return new LabError(code, advice ? `${message}; ${advice}` : message)
}

const Value = v.object({ value: v.pipe(v.number(), v.finite()), target: v.optional(v.nullable(v.number()), null) })

/** Parses the answer to a reading. Throws `device_failed`. A right answer is recognized quickly; the slower schema runs only to word a mistake. */
export function valueIn(answer: unknown): v.InferOutput<typeof Value> {
  const { value, target } = Object(answer)
  if (Number.isFinite(value) && (target === null || Number.isFinite(target))) return { value, target }
  return checked(Value, answer, 'its answer to read', 'device_failed')
}

/** The answer to `perform`. */
export const Performed = v.object({
  message: v.optional(v.nullable(v.pipe(v.string(), v.maxLength(1000)))),
  data: v.optional(v.unknown()),
  files: OfferedFiles,
})
/** The notification `progress`. */
export const Progressed = v.object({
  operation_id: v.string(),
  fraction: v.optional(v.nullable(v.pipe(v.number(), v.minValue(0), v.maxValue(1))), null),
  message: v.optional(v.nullable(v.pipe(v.string(), v.maxLength(300))), null),
})
