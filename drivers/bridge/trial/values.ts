// The parameters with which an operation of a bridge is tried: those that a person gives, else the defaults, else the smallest.

import type { Description, OwnOperation } from '../../../src/devices/description.ts'
import { isNumeric, kindsOf, mayBeNull } from '../../../src/devices/params_schema.ts'
import { LabError } from '../../../src/errors.ts'
import { checked } from '../../../src/kit/schema.ts'
import { NotTried } from './report.ts'

type Described = Description['operations'][string]
type Property = NonNullable<NonNullable<Described['params']>['properties']>[string]

/** The parameter that is the duration of an operation gets as many seconds, as far as it may. */
const short_s = 2

/** Returns the parameters. Throws `invalid` for a given value that the operation does not take, and `NotTried` if one has to be given. */
export function valuesFor(
  name: string,
  described: Described,
  own: OwnOperation,
  given: Readonly<Record<string, string>>,
): Record<string, unknown> {
  const { properties = {}, required = [] } = described.params ?? {}
  const duration = typeof described.seconds === 'number' ? undefined : described.seconds.param
  const unknown = Object.keys(given).find((param) => !Object.hasOwn(properties, param))
  if (unknown) throw new LabError('invalid', `${name} has no parameter ${unknown}; it has: ${Object.keys(properties).join(', ') || 'none'}`)
  const entries = Object.entries(properties).flatMap(([param, property]): [string, unknown][] => {
    const text = given[param]
    if (text !== undefined) return [[param, parsed(text, property)]]
    if (param === duration) return [[param, within(short_s, property)]]
    if (property.default !== undefined || !required.includes(param)) return []
    return [[param, smallest(property, `${name}.${param}`)]]
  })
  return checked(own.params, Object.fromEntries(entries), name) as Record<string, unknown>
}

/** Returns the value that a word means: JSON where the parameter takes that, else the word as text. */
function parsed(text: string, property: Property): unknown {
  if (kindsOf(property).every((kind) => kind === 'string') && !(text === 'null' && mayBeNull(property))) return text
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function within(value: number, { minimum = value, maximum = value }: Property): number {
  return Math.min(Math.max(value, minimum), maximum)
}

function smallest(property: Property, where: string): unknown {
  if (property.enum) return property.enum[0]
  // For a heater this means off.
  if (mayBeNull(property)) return null
  const usual = kindsOf(property).find((kind) => Object.hasOwn(usuals, kind))
  if (usual) return usuals[usual as keyof typeof usuals]
  if (property.minimum !== undefined) return property.minimum
  throw new NotTried(`${where} has no default and no minimum; give it a value: --with ${where}=VALUE`)
}

const usuals = { boolean: false, string: '' }

/** Names the numbers without both limits, for which the bench lets anything pass. */
export function unlimited({ operations }: Description): string[] {
  return Object.entries(operations).flatMap(([name, { params }]) =>
    Object.entries(params?.properties ?? {})
      .filter(([, property]) => isNumeric(property) && !property.enum)
      .filter(([, { minimum, maximum }]) => minimum === undefined || maximum === undefined)
      .map(([param]) => `${name}.${param}`),
  )
}
