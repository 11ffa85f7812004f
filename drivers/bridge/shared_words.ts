// How the words of a program become those of the bench: the ranges of its parameters, and its errors.

import type { OwnOperation } from '../../src/devices/description.ts'
import type { Limits } from '../../src/devices/device.ts'
import { operations as table } from '../../src/devices/operations.ts'
import { LabError } from '../../src/errors.ts'
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
