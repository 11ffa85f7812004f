import { test } from 'tap'
import { capabilities } from './capabilities.ts'
import type { Limits, Margins } from './device.ts'
import { checkLimits } from './limits.ts'

const peeling: Limits = { parameter_set: { min: 1, max: 8, unit: '', step: 1 }, adhere: { min: 1, max: 4, unit: '', step: 1 } }

function operationsOf(limits: Limits, name: 'peel' | 'seal', margins?: Margins) {
  const about = { device_id: 'd', driver: 'd', model: 'd', simulated: true, source: 'model', features: {} } as const
  return capabilities({ ...about, type: 'peeler', limits }, [name], {
    ends_early: [],
    typical: undefined,
    margins,
    own: new Map(),
    readings: {},
    choices: {},
  }).operations[0]
}

test('what may be left out of a body is not required, and its default is told', (t) => {
  const peel = operationsOf(peeling, 'peel')
  t.same(peel?.params.required, [])
  t.match(peel, {
    name: 'peel',
    method: 'POST',
    params: {
      additionalProperties: false,
      properties: {
        parameter_set: { type: 'integer', minimum: 1, maximum: 8, default: 4, description: /set of the instrument/ },
        adhere: { type: 'integer', minimum: 1, maximum: 4, default: 1 },
      },
    },
  })
  t.end()
})

test('a model may lengthen the time after which an operation is given up, and not shorten it', (t) => {
  t.equal(operationsOf(peeling, 'peel')?.max_seconds, 90)
  t.equal(operationsOf(peeling, 'peel', { peel: 1800 })?.max_seconds, 1800)
  t.equal(operationsOf(peeling, 'peel', { peel: 5 })?.max_seconds, 90)
  t.end()
})

test('a quantity is required, has its unit and its limits, and no default', (t) => {
  const limits: Limits = { temperature: { min: 20, max: 235, unit: '°C', step: 1 }, duration: { min: 0.5, max: 12, unit: 's', step: 0.1 } }
  const seal = operationsOf(limits, 'seal')
  t.same(seal?.params.required, ['temperature', 'duration'])
  const { temperature } = seal?.params.properties as Record<string, object>
  t.same(temperature, {
    type: 'integer',
    description: 'Temperature of the sealing plate',
    unit: '°C',
    minimum: 20,
    maximum: 235,
    step: 1,
  })
  t.end()
})

test('a number without a unit is told as it is', (t) => {
  t.throws(() => checkLimits('peeler-1', { parameter_set: 9 }, peeling), {
    code: 'invalid',
    message: 'parameter_set 9 is outside what peeler-1 takes: 1 to 8',
  })
  t.doesNotThrow(() => checkLimits('peeler-1', { parameter_set: 4, adhere: 1 }, peeling))
  t.end()
})
