// The parameters with which `benchd bridge try` has an operation done.

import { test } from 'tap'
import * as v from 'valibot'
import { parameterValue, type TypedSchema } from '../../../src/clients/ts/parameter_value.ts'
import { NotTried } from './report.ts'
import { valuesFor } from './values.ts'

type Properties = Parameters<typeof valuesFor>[1]['params']['properties']

/** Finds values for all of these parameters, of which each is required. */
const valuesOf = (properties: object, typed: Record<string, string> = {}, seconds: Parameters<typeof valuesFor>[1]['seconds'] = 1) => {
  const any = v.strictObject(Object.fromEntries(Object.keys(properties).map((name) => [name, v.optional(v.any())])))
  const given = Object.fromEntries(
    Object.entries(typed).map(([name, text]) => [name, (schema: TypedSchema) => parameterValue(text, schema)]),
  )
  return valuesFor(
    'read',
    { params: { properties: properties as Properties, required: Object.keys(properties) }, seconds },
    { params: any },
    given,
  )
}

test('a parameter without a default gets its smallest value, and one that is the duration two seconds', (t) => {
  t.same(
    valuesOf({
      mode: { type: 'string', enum: ['fast', 'exact'] },
      speed: { type: 'integer', minimum: 200, maximum: 900 },
      target: { type: ['number', 'null'], minimum: 4 },
      dry: { type: 'boolean' },
      note: { type: 'string' },
      wells: { type: 'array', items: { type: 'integer', minimum: 1 }, minItems: 2 },
      plate: { type: 'object', properties: { rows: { type: 'integer', minimum: 8 }, name: { type: 'string' } }, required: ['rows'] },
      usual: { type: 'number', default: 7 },
    }),
    { mode: 'fast', speed: 200, target: null, dry: false, note: '', wells: [1, 1], plate: { rows: 8 } },
  )
  const lasting = (limits: object) => valuesOf({ duration: { type: 'number', ...limits } }, {}, { param: 'duration', plus: 5 })
  t.same(lasting({}), { duration: 2 })
  t.same(lasting({ minimum: 60 }), { duration: 60 })
  t.same(lasting({ maximum: 0.5, default: 0.1 }), { duration: 0.5 })
  t.end()
})

test('a value is given as JSON, or as text where it is one, and a list also with commas', (t) => {
  const properties = {
    ...{ count: { type: 'integer' }, name: { type: 'string' }, dry: { type: 'boolean' } },
    ...{ target: { type: ['number', 'null'] }, wells: { type: 'array', items: { type: 'string' } } },
  }
  const given = { count: '3', name: '7', dry: 'true', target: 'null', wells: '["A1","B2"]' }
  t.same(valuesOf(properties, given), { count: 3, name: '7', dry: true, target: null, wells: ['A1', 'B2'] })
  t.same(valuesOf({ wells: properties.wells, volumes: { type: 'array', items: { type: 'number' } } }, { wells: 'A1, B2', volumes: '37' }), {
    wells: ['A1', 'B2'],
    volumes: [37],
  })
  t.throws(
    () => valuesOf({ speed: { type: 'number' } }),
    new NotTried('read.speed has no default and no minimum; give it a value: --with read.speed=VALUE'),
  )
  t.throws(() => valuesOf({ speed: { type: 'number' } }, { sped: '3' }), {
    code: 'invalid',
    message: 'read has no parameter sped; it has: speed',
  })
  t.end()
})
