import { test } from 'tap'
import { variableValue } from './variable_value.ts'

test('the type of a variable decides what its text stands for', async (t) => {
  for (const text of ['0123', '1E5', '123', 'true', '12345678901234567890']) t.equal(variableValue(text, 'string'), text)
  t.same([variableValue('1E5', 'number'), variableValue('600', 'integer'), variableValue('true', 'boolean')], [100_000, 600, true])
  // The service refuses it with the name of the parameter.
  t.same([variableValue('fast', 'number'), variableValue('1', 'boolean')], ['fast', '1'])
})

test('an array is typed as JSON, or as a list with commas', async (t) => {
  t.same(
    [variableValue('["A1","B2"]', 'array'), variableValue('A1, B2', 'array'), variableValue('1,2', 'array')],
    [
      ['A1', 'B2'],
      ['A1', 'B2'],
      [1, 2],
    ],
  )
  t.same([variableValue('A1', 'array'), variableValue('[1', 'array'), variableValue('{"rows":8}', 'object')], [['A1'], '[1', { rows: 8 }])
})

test('without a type, text that reads as JSON stands for that', async (t) => {
  t.same([variableValue('5'), variableValue('true'), variableValue('[1]')], [5, true, [1]])
})

test('without a type no digit is lost and no form is changed', async (t) => {
  for (const text of ['0123', '1E5', '1.0', '12345678901234567890', 'plate', '{bad']) t.equal(variableValue(text), text)
  t.same(
    [variableValue('123'), variableValue('-0.5'), variableValue('[1]'), variableValue('null'), variableValue('true')],
    [123, -0.5, [1], null, true],
  )
})
