// The types, units and limits that a workflow declares of its variables.

import { test } from 'tap'
import { compiled, says } from '../../testing/plans.ts'
import { checkVariables } from './check_variables.ts'
import { typesOfVariables } from './declared_variables.ts'

const withSpeed = (speed: object, more: object = {}) =>
  compiled({
    workflow: (d) => {
      d.variables = { speed, ...more }
      d.methods.shake_it[0].with = { speed: { variable: 'speed' }, duration: 5 }
      d.methods.shake_it[0].on = 'shaker-1'
    },
  })

test('a declaration that contradicts itself or its parameter is refused with its place', async (t) => {
  const at = 'workflow seal-and-spin: variables.speed'
  const refused: [object, string][] = [
    [{ type: 'string' }, `${at}: its type is string, and speed of shake at methods.shake_it[0] takes number`],
    [{ unit: 'Hz' }, `${at}: its unit is Hz, and speed of shake at methods.shake_it[0] takes rpm`],
    [{ minimum: 5, maximum: 2 }, `${at}: its minimum 5 is above its maximum 2`],
    [{ default: 100, minimum: 200 }, `${at}.default: is 100, and must be at least 200`],
    [{ example: 'fast', type: 'integer' }, `${at}.example: must be a whole number, not "fast"`],
    [{ one_of: [300, 'fast'], type: 'number' }, `${at}.one_of[1]: must be a number, not "fast"`],
    [{ default: 350, one_of: [300, 400], unit: 'rpm' }, `${at}.default: is 350 rpm, and must be one of 300, 400 rpm`],
    [{ example: null }, `${at}: its example is null, and it is not "nullable"`],
  ]
  for (const [speed, sentence] of refused) says(t, () => withSpeed(speed), sentence)
  says(
    t,
    () => withSpeed({}, { note: { type: 'string', minimum: 1 } }),
    'workflow seal-and-spin: variables.note: only numbers have a minimum and a maximum; give it "type": "number", not string',
  )
  t.same(Object.fromEntries(typesOfVariables(withSpeed({ type: 'integer', unit: 'rpm', one_of: [300, 400], default: 300 }))), {
    speed: 'integer',
  })
})

test('a submitted value is held against its declaration, with its limit and unit', async (t) => {
  const workflow = withSpeed(
    { type: 'integer', unit: 'rpm', minimum: 300, maximum: 900 },
    { plates: { type: 'string', one_of: ['a', 'b'] } },
  )
  const at = 'variables: workflow seal-and-spin'
  says(t, () => checkVariables(workflow, { speed: 1000 }), `${at}: speed is 1000 rpm, and must be at most 900 rpm`)
  says(t, () => checkVariables(workflow, { speed: '500' }), `${at}: speed must be a whole number, not "500"`)
  says(t, () => checkVariables(workflow, { speed: 500, plates: 'c' }), `${at}: plates is "c", and must be one of "a", "b"`)
  says(t, () => checkVariables(workflow, { speed: null }), `${at}: speed is null; give it a value, or declare it with "nullable": true`)
  checkVariables(workflow, { speed: 500, plates: 'a' })
})

test('each group is held against the declarations and the devices, and may give what the submission does not', async (t) => {
  const workflow = withSpeed({ unit: 'rpm', maximum: 4000 })
  const of = (...speeds: (number | undefined)[]) =>
    speeds.map((speed, i) => ({ group_id: `g${i + 1}`, ...(speed !== undefined && { variables: { speed } }) }))
  checkVariables(workflow, {}, of(300, 400))
  checkVariables(workflow, { speed: 500 }, of(300, undefined))
  says(
    t,
    () => checkVariables(workflow, {}, of(300, undefined)),
    'variables: workflow seal-and-spin wants a value for speed, which has no default, for the group g2',
  )
  says(
    t,
    () => checkVariables(workflow, {}, of(300, 4500)),
    'groups: g2.variables: workflow seal-and-spin: speed is 4500 rpm, and must be at most 4000 rpm',
  )
  says(
    t,
    () => checkVariables(workflow, {}, of(300, 3500)),
    'groups: g2.variables: workflow seal-and-spin: methods.shake_it[0].with: speed 3500 rpm is outside what shaker-1 takes: 200 to 3000 rpm',
  )
  says(t, () => checkVariables(workflow, {}, []), 'variables: workflow seal-and-spin wants a value for speed, which has no default')
})
