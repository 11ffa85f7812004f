import { test } from 'tap'
import { bodyOf, fieldsOf, targetsOf } from './fields.ts'
import { takesNull } from './forms.ts'

const params = {
  type: 'object',
  properties: {
    speed: { type: 'number', 'x-unit': 'rpm' },
    duration: { type: 'number', minimum: 1, maximum: 60, 'x-unit': 's' },
    direction: { enum: ['left', 'right'] },
    wells: { type: 'integer', enum: [96, 384], unit: 'wells' },
    gentle: { type: 'boolean' },
    note: { type: 'string' },
  },
  required: ['speed', 'duration'],
}
const operation = { name: 'shake', method: 'POST' as const, params, typical_seconds: 1, max_seconds: 2, can_end_early: false }
const limits = { speed: { min: 200, max: 3000, unit: 'rpm', step: 10 } }

test('a form comes from the capabilities alone: units, limits, steps, and the values of the last time', (t) => {
  t.match(fieldsOf(operation, limits, { duration: 7 }), [
    {
      name: 'speed',
      label: 'speed (rpm)',
      kind: 'number',
      required: true,
      min: 200,
      max: 3000,
      step: 10,
      initial: '',
      hint: '200 to 3000 rpm',
    },
    { name: 'duration', label: 'duration (s)', kind: 'number', min: 1, max: 60, initial: '7' },
    { name: 'direction', kind: 'choice', choices: ['left', 'right'], initial: 'left' },
    { name: 'wells', label: 'wells (wells)', kind: 'choice', choices: ['96', '384'], initial: '96' },
    { name: 'gentle', kind: 'boolean', required: false },
    { name: 'note', label: 'note', kind: 'text', initial: '' },
  ])
  t.same(fieldsOf({ ...operation, params: {} }, {}), [])
  t.end()
})

test('a body has what was filled in, as the API takes it, and a mistake is a sentence', (t) => {
  const fields = fieldsOf(operation, limits)
  const filled = { speed: '500', duration: '2,5', direction: 'right', wells: '384', gentle: 'true', note: '' }
  t.same(bodyOf(fields, filled), { speed: 500, duration: 2.5, direction: 'right', wells: 384, gentle: true })
  t.throws(() => bodyOf(fields, { ...filled, speed: 'fast' }), { message: 'speed (rpm) must be a number' })
  t.throws(() => bodyOf(fields, { ...filled, speed: '' }), { message: 'speed (rpm) must be a number' })
  t.throws(() => bodyOf(fields, { ...filled, speed: '3001' }), { message: 'speed (rpm) must be from 200 to 3000' })
  t.throws(() => bodyOf(fields, { ...filled, duration: '0' }), { message: 'duration (s) must be from 1 to 60' })
  t.end()
})

test('a number that may be null is a number in the form, and an empty field is no null', (t) => {
  const warm = { ...operation, params: { properties: { temperature: { type: ['number', 'null'] } }, required: ['temperature'] } }
  const fields = fieldsOf(warm, {})
  t.match(fields, [{ name: 'temperature', kind: 'number', required: true }])
  t.throws(() => bodyOf(fields, { temperature: '' }), { message: 'temperature must be a number' })
  t.same([takesNull(warm, 'temperature'), takesNull(warm, 'speed'), takesNull(operation, 'speed')], [true, false, false])
  t.end()
})

test('a field begins with the last value, else with the target that is set, else with the default of the device, else empty', (t) => {
  const params = {
    properties: { temperature: { type: 'number', minimum: 50 }, set: { type: 'integer', default: 4 }, pressure: { type: 'number' } },
  }
  const press = { ...operation, params }
  const initials = (...known: (Record<string, unknown> | undefined)[]) => fieldsOf(press, {}, ...known).map(({ initial }) => initial)
  const targets = targetsOf(
    { heating: { target: 165, is_lowest: false } },
    { at: 1, temperature: 20, target: null, others: { pressure: { value: 1, target: 900, unit: 'mbar' } } },
  )
  t.same(initials(), ['', '4', ''], 'never the minimum')
  t.same(initials(undefined, targets), ['165', '4', '900'])
  t.same(initials({ temperature: 170, set: 2 }, targets), ['170', '2', '900'])
  t.same(initials({ temperature: null }, targets), ['165', '4', '900'], 'heat that was switched off is no value')
  t.same(targetsOf({ heating: null }, undefined), { temperature: undefined })
  t.end()
})

test('an array or an object is typed as JSON, an array of words also with commas, and a mistake is told beside the field', (t) => {
  const properties = {
    wells: { type: 'array', items: { type: 'string' }, minItems: 1, default: ['A1', 'B2'] },
    volumes: { type: ['array', 'null'], items: { type: 'number' } },
    plate: { type: 'object', default: { rows: 8 } },
    speed: { type: ['number', 'string'] },
    mode: { type: ['string', 'null'], enum: ['fast', 'slow'] },
    protocol: {
      type: 'object',
      properties: {
        stages: {
          type: 'array',
          items: { type: 'object', properties: { temperature: { type: 'number' }, rate: {} }, required: ['temperature'] },
        },
      },
    },
    part: { type: 'string', description: 'wells such as A1:H12' },
  }
  const fields = fieldsOf({ ...operation, params: { properties, required: ['wells'] } }, {}, { volumes: [1, 2.5] })
  t.match(fields, [
    { name: 'wells', kind: 'json', initial: 'A1, B2', hint: 'With commas between, or as JSON (1 to any number of items)' },
    { name: 'volumes', kind: 'json', initial: '1, 2.5' },
    { name: 'plate', kind: 'json', initial: '{"rows":8}', hint: 'As JSON, such as {"name":1}' },
    { name: 'speed', kind: 'json' },
    { name: 'mode', kind: 'choice', choices: ['fast', 'slow'] },
    { name: 'protocol', kind: 'json', hint: 'As JSON, such as {"stages":[{"temperature":1}]}' },
    { name: 'part', kind: 'text', hint: 'wells such as A1:H12' },
  ])
  const typed = { wells: 'A1,B2', volumes: '[1, 2]', plate: '{"rows": 16}', speed: 'fast', mode: 'slow' }
  t.same(bodyOf(fields, typed), { wells: ['A1', 'B2'], volumes: [1, 2], plate: { rows: 16 }, speed: 'fast', mode: 'slow' })
  t.same(bodyOf(fields, { wells: 'A1', volumes: 'null', speed: '500' }), { wells: ['A1'], volumes: null, speed: 500 })
  const [, volumes, plate] = fields
  t.throws(() => volumes!.parse!('1, two'), { message: 'volumes [1] must be a number, not two' })
  t.throws(() => plate!.parse!('{"rows"'), /^Error: plate is not JSON: |plate is not JSON: /)
  t.equal(fieldsOf(operation, limits)[0]!.parse, undefined)
  t.end()
})
