import { test } from 'tap'
import { bodyOf, fieldsOf, takesNull, titled } from './forms.ts'

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

test('names are titles', (t) => {
  t.equal(titled('lock_plate'), 'Lock plate')
  t.end()
})
