// A null that switches something off stands in the workflow itself, or its variable is declared nullable.

import { test } from 'tap'
import { compiled, type Loose, says } from '../../testing/plans.ts'
import { checkVariables } from './check_variables.ts'

/** With a washer that heats. */
const withWarmth = (workflow: (document: Loose) => void) => {
  const topology = (document: Loose) => {
    document.devices.washer.operations.set_temperature = {}
  }
  return compiled({ topology, workflow })
}

const warmed = (more: object) => ({ do: 'set_temperature', on: 'washer', labware: [], ...more })

const withVariable = (variable: object) =>
  withWarmth((document) => {
    document.variables.target = variable
    document.methods.wash.unshift(warmed({ with: { temperature: { variable: 'target' } } }))
  })

test('a null as temperature is taken where it is written, and not out of a variable that is not nullable', (t) => {
  t.ok(withWarmth((document) => document.methods.wash.unshift(warmed({ with: { temperature: null } }))))
  t.ok(withVariable({ default: null, nullable: true }))
  const sentence = 'the variable target is null, and null switches off; give it a value, or declare it with "nullable": true'
  t.throws(() => withVariable({ default: null }), { code: 'invalid', message: new RegExp(`${sentence}$`) })
  t.throws(() => withVariable({ default: 37, nullable: 'yes' }), { code: 'invalid' })
  const given = withVariable({ default: 37 })
  t.throws(() => checkVariables(given, { target: null, nothing: 1 }), { code: 'invalid', message: new RegExp(`temperature: ${sentence}$`) })
  checkVariables(withVariable({ nullable: true }), { target: null, nothing: 1 })
  t.end()
})

test('a variable without a value switches nothing off, though it is nullable', (t) => {
  const workflow = withVariable({ nullable: true })
  says(t, () => checkVariables(workflow, {}), 'variables: workflow seal-and-spin wants a value for target, which has no default')
  t.end()
})

test('an action without a temperature is refused, and so is a seal at null', (t) => {
  t.throws(() => withWarmth((document) => document.methods.wash.unshift(warmed({}))), { message: /set_temperature wants temperature too/ })
  const cold = (document: Loose) => {
    document.methods.seal_it[0].with.temperature = null
  }
  t.throws(() => compiled({ workflow: cold }), { code: 'invalid' })
  t.end()
})
