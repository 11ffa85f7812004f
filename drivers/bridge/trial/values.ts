// The parameters with which an operation of a bridge is tried: those that a person gives, else the defaults, else the smallest.

import type { Description, OwnOperation } from '../../../src/devices/description.ts'
import { isNumeric, kindsOf, mayBeNull, type ParamsDescription } from '../../../src/devices/params_schema.ts'
import { LabError } from '../../../src/errors.ts'
import { checked } from '../../../src/kit/schema.ts'
import { NotTried } from './report.ts'

type Described = Description['operations'][string]
type Property = ParamsDescription['properties'][string]

/** Returns what a person has typed as a value of a parameter. A value that does not fit is refused later, by its name. */
export type GivenValue = (schema: Property) => unknown

/** The parameter that is the duration of an operation gets as many seconds, as far as it may. */
const short_s = 2

/** Returns the parameters. Throws `invalid` for a given value that the operation does not take, and `NotTried` if one has to be given. */
export function valuesFor(
  name: string,
  { params, seconds }: Pick<Described, 'params' | 'seconds'>,
  own: Pick<OwnOperation, 'params'>,
  given: Readonly<Record<string, GivenValue>>,
): Record<string, unknown> {
  const { required = [] } = params
  const properties: Readonly<Record<string, Property>> = params.properties
  const duration = typeof seconds === 'number' ? undefined : seconds.param
  const unknown = Object.keys(given).find((param) => !Object.hasOwn(properties, param))
  if (unknown) throw new LabError('invalid', `${name} has no parameter ${unknown}; it has: ${Object.keys(properties).join(', ') || 'none'}`)
  const entries = Object.entries(properties).flatMap(([param, property]): [string, unknown][] => {
    const value = given[param]
    if (value) return [[param, value(property)]]
    if (param === duration) return [[param, within(short_s, property)]]
    if (property.default !== undefined || !required.includes(param)) return []
    return [[param, smallest(property, `${name}.${param}`)]]
  })
  return checked(own.params, Object.fromEntries(entries), name) as Record<string, unknown>
}

function within(value: number, { minimum = Number.NEGATIVE_INFINITY, maximum = Number.POSITIVE_INFINITY }: Property): number {
  return Math.min(Math.max(value, minimum), maximum)
}

function smallest(property: Property, where: string): unknown {
  const [kind] = kindsOf(property)
  if (property.default !== undefined) return property.default
  if (property.enum) return property.enum[0]
  // For a heater this means off.
  if (mayBeNull(property)) return null
  if (kind === 'boolean') return false
  if (kind === 'string') return ''
  if (kind === 'array') return Array.from({ length: property.minItems ?? 0 }, () => smallest(property.items as Property, where))
  if (kind === 'object') {
    const members = (property.properties ?? {}) as Record<string, Property>
    return Object.fromEntries((property.required ?? []).map((name) => [name, smallest(members[name]!, where)]))
  }
  if (property.minimum !== undefined) return property.minimum
  throw new NotTried(`${where} has no default and no minimum; give it a value: --with ${where}=VALUE`)
}

/** Names the numbers without both limits, for which the bench lets anything pass. */
export function unlimited({ operations }: Description): string[] {
  return Object.entries(operations).flatMap(([name, { params }]) =>
    Object.entries(params.properties)
      .filter(([, property]) => isNumeric(property) && !property.enum)
      .filter(([, { minimum, maximum }]) => minimum === undefined || maximum === undefined)
      .map(([param]) => `${name}.${param}`),
  )
}
