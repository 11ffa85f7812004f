// Parameters of any JSON shape: which descriptions are taken, and which values.

import { test } from 'tap'
import { checked } from '../kit/schema.ts'
import { readDescription } from './description.ts'
import { ParamsDescription, paramsSchema } from './params_schema.ts'

const described = (properties: object, more: object = {}) => checked(ParamsDescription, { properties, ...more }, 'params')
const schemaOf = (properties: object, more: object = {}) => paramsSchema(described(properties, more), 'params')
const taken = (property: object, value: unknown) => checked(schemaOf({ p: property }), { p: value }, 'with').p

test('each type of JSON is taken, alone and in a list, with and without null', (t) => {
  const values = { number: 1.5, integer: 2, string: 'A1', boolean: true, array: [1, 'x', { a: null }], object: { any: [1] } }
  for (const [type, value] of Object.entries(values)) {
    t.same(taken({ type }, value), value, type)
    t.same(taken({ type: [type, 'null'] }, null), null, type)
    t.throws(() => taken({ type }, null), /with: p must be/, type)
  }
  const any = { type: ['number', 'string', 'array', 'null'] }
  for (const value of [1, 'x', [1], null]) t.same(taken(any, value), value)
  t.throws(() => taken(any, {}), /with: p must be a number or a text or an array/)
  t.same(taken({ type: ['integer', 'number'] }, 1.5), 1.5)
  t.end()
})

test('a keyword is about values of its own type', (t) => {
  const speed = { type: ['number', 'string', 'null'], minimum: 10, maxLength: 4 }
  for (const value of [10, 'fast', null]) t.same(taken(speed, value), value)
  t.throws(() => taken(speed, 9), /p must be at least 10, not 9/)
  t.throws(() => taken(speed, 'too fast'), /p must have at most 4 characters/)
  const mode = { type: ['string', 'integer', 'array', 'null'], enum: ['fast', 3, null] }
  for (const value of ['fast', 3, null, ['anything']]) t.same(taken(mode, value), value)
  t.throws(() => taken(mode, 'slow'), /p must be one of "fast", 3/)
  t.end()
})

test('arrays and objects are checked inside, and a mistake names its place', (t) => {
  const wells = { type: 'array', items: { type: 'string', maxLength: 3 }, minItems: 2, maxItems: 3 }
  t.same(taken(wells, ['A1', 'B12']), ['A1', 'B12'])
  t.throws(() => taken(wells, ['A1', 'B1', 3]), /with: p\[2\] must be a text, not 3/)
  t.throws(() => taken(wells, ['A1', 'B1', 'C1000']), /with: p\[2\] must have at most 3 characters/)
  t.throws(() => taken(wells, ['A1']), /p must have at least 2 members, not 1/)
  t.throws(() => taken(wells, { 0: 'A1' }), /p must be an array/)
  const plate = {
    type: 'object',
    properties: { name: { type: 'string' }, rows: { type: 'integer', minimum: 1, default: 8 } },
    required: ['name'],
    additionalProperties: false,
  }
  t.same(taken(plate, { name: 'x' }), { name: 'x', rows: 8 })
  t.throws(() => taken(plate, { rows: 8 }), /p\.name is missing/)
  t.throws(() => taken(plate, { name: 'x', row: 1 }), /there is no member p\.row; did you mean "rows"/)
  t.throws(() => taken({ type: 'object' }, [1]), /p must be an object, not an array/)
  const { additionalProperties: _, ...open } = plate
  t.same(taken(open, { name: 'x', colour: 'red' }), { name: 'x', rows: 8, colour: 'red' })
  t.throws(() => taken({ type: 'array', items: plate }, [{ name: 'x' }, { name: 7 }]), /p\[1\]\.name must be a text/)
  t.end()
})

test('a default may be any value that fits', (t) => {
  for (const [property, value] of [
    [{ type: 'array', items: { type: 'number' } }, [1, 2]],
    [{ type: ['object', 'null'] }, null],
    [{ type: 'object', properties: { a: { type: 'number' } } }, { a: 1 }],
  ] as const)
    t.same(checked(schemaOf({ p: { ...property, default: value } }), {}, 'with'), { p: value })
  t.throws(
    () => schemaOf({ p: { type: 'array', items: { type: 'number' }, default: ['x'] } }),
    /params\.p: its default \["x"\] is no value/,
  )
  t.end()
})

test('a description that means nothing is refused at its place', (t) => {
  for (const [property, words] of [
    [{ type: 'string', minimum: 1 }, /params\.p: minimum means nothing for a string/],
    [{ type: ['number', 'integer'], items: {} }, /params\.p: items means nothing for a number or a integer/],
    [{ type: ['null'] }, /params\.p: its type is null alone/],
    [{ type: 'array', minItems: 3, maxItems: 2 }, /params\.p: minItems 3 is above maxItems 2/],
    [{ type: 'array', items: { type: 'text' } }, /params\.p\.items: type must be number, integer/],
    [{ type: 'array', items: { type: 'number', pattern: 'x' } }, /params\.p\.items: there is no member pattern/],
    [{ type: 'object', properties: { a: { type: 'number' } }, required: ['b'] }, /params\.p: b is required, and is not among/],
    [{ type: 'number', enum: [1, 'x'] }, /params\.p: "x" of enum is no number/],
  ] as const)
    t.throws(() => schemaOf({ p: property }), words)
  t.throws(() => described({ p: { type: 'date' } }), /p\.type must be number, integer, string, boolean, array or object, or a list/)
  const nested = (levels: number): object => (levels === 1 ? { type: 'number' } : { type: 'array', items: nested(levels - 1) })
  t.ok(schemaOf({ p: nested(6) }))
  t.throws(() => schemaOf({ p: nested(9) }), /it is nested deeper than 8 levels/)
  t.end()
})

test('the largest classes of a library fit: a thousand operations, names of 64 characters, 128 parameters', (t) => {
  const long = 'a'.repeat(64)
  const properties = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`p${i}`, { type: 'number' }]))
  const operations = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`o${i}`, { seconds: 1 }]))
  const description = (its: object) => readDescription({ protocol: 1, type: 'reader', model: 'x', operations: its })
  t.ok(description(operations(1000)))
  t.throws(() => description(operations(1001)), /has more than 1000 operations/)
  t.ok(description({ [long]: { seconds: 1, params: { properties: { ...properties(127), [long]: { type: 'string' } } } } }))
  t.throws(() => description({ [`${long}a`]: { seconds: 1 } }), /at most 64 in all/)
  t.throws(() => description({ a: { seconds: 1, params: { properties: properties(129) } } }), /has more than 128 parameters/)
  t.throws(() => description({ a: { seconds: 1, params: { properties: { [`${long}a`]: { type: 'number' } } } } }), /at most 64 in all/)
  t.end()
})
