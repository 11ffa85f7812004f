import { test } from 'tap'
import * as v from 'valibot'
import { jsonSchema, jsonSchemas } from './json_schema.ts'

test('a unit stands in x-unit and, once, in the description', async (t) => {
  const speed = v.pipe(v.number(), v.description('Speed'), v.metadata({ unit: 'rpm' }))
  t.same(jsonSchema(speed), { type: 'number', description: 'Speed, in rpm', 'x-unit': 'rpm' })
  const after = v.pipe(v.number(), v.description('Seconds to wait'), v.metadata({ unit: 's' }))
  t.equal(jsonSchema(after).description, 'Seconds to wait')
})

test('what may be null is one schema', async (t) => {
  t.same(jsonSchema(v.nullable(v.string())), { type: ['string', 'null'] })
  t.same(jsonSchema(v.nullable(v.picklist(['a', 'b']))), { type: ['string', 'null'], enum: ['a', 'b', null] })
})

test('named schemas are pointed at, and a choice between them says by which member', async (t) => {
  const cat = v.strictObject({ kind: v.literal('cat'), lives: v.number() })
  const dog = v.strictObject({ kind: v.literal('dog') })
  const { Pet } = jsonSchemas({ Cat: cat, Dog: dog, Pet: v.variant('kind', [cat, dog]) }, { at: '#/s/' })
  t.same(Pet, {
    oneOf: [{ $ref: '#/s/Cat' }, { $ref: '#/s/Dog' }],
    discriminator: { propertyName: 'kind', mapping: { cat: '#/s/Cat', dog: '#/s/Dog' } },
  })
})

test('a text that is read as a number is a number', async (t) => {
  const whole = v.pipe(v.string(), v.regex(/^\d+$/), v.transform(Number), v.minValue(1))
  t.same(jsonSchema(whole, { side: 'output' }), { type: 'integer', minimum: 1 })
  const decimal = v.pipe(v.string(), v.regex(/^\d+(\.\d+)?$/), v.transform(Number))
  t.same(jsonSchema(decimal, { side: 'output' }), { type: 'number' })
})

test('members keep their names, also those that are words of JSON Schema', async (t) => {
  const odd = v.strictObject({ unit: v.string(), required: v.boolean(), anyOf: v.number() })
  t.same(jsonSchema(odd).properties, { unit: { type: 'string' }, required: { type: 'boolean' }, anyOf: { type: 'number' } })
})

test('what cannot be said in JSON Schema is an error, not left out in silence', async (t) => {
  t.throws(() => jsonSchema(v.date()), /cannot be converted/)
})
