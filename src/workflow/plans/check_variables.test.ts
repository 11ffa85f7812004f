import { test } from 'tap'
import { compiled } from '../../testing/plans.ts'
import { typesOfVariables } from './declared_variables.ts'

test('a variable has the type of the parameters that take it, else that of its default', (t) => {
  const workflow = compiled({
    workflow: (d) => {
      d.variables = { speed: { default: 500 }, text: { default: '1E5' }, nothing: {}, protocol: { default: 'a' }, both: { default: true } }
      d.methods.shake_it[0].with = { speed: { variable: 'speed' }, duration: 5 }
      d.methods.wash[0].with = { protocol: { variable: 'protocol' } }
    },
  })
  t.same(Object.fromEntries(typesOfVariables(workflow)), { speed: 'number', text: 'string', protocol: 'string', both: 'boolean' })
  t.end()
})

test('without a default the parameter alone says the type', (t) => {
  const workflow = compiled({
    workflow: (d) => {
      d.variables = { speed: {}, duration: { default: '5' } }
      d.methods.shake_it[0].with = { speed: { variable: 'speed' }, duration: 5 }
    },
  })
  t.equal(typesOfVariables(workflow).get('speed'), 'number')
  t.end()
})
