import { test } from 'tap'
import * as v from 'valibot'
import { Condition, holds, valuesIn, wordsOf } from './conditions.ts'

const values: Record<string, number | string | boolean> = { od: 0.5, label: 'good', sealed: true }
const lookUp = (name: string) => values[name]!
const isSo = (input: unknown) => holds(v.parse(Condition, input), lookUp)

test('comparisons of numbers, texts and truth values, each with its limit', (t) => {
  t.same(
    [0.4, 0.5, 0.6].map((above) => isSo({ value: 'od', above })),
    [true, false, false],
  )
  t.same(
    [0.4, 0.5, 0.6].map((below) => isSo({ value: 'od', below })),
    [false, false, true],
  )
  t.same(
    [0.4, 0.5, 0.6].map((at_least) => isSo({ value: 'od', at_least })),
    [true, true, false],
  )
  t.same(
    [0.4, 0.5, 0.6].map((at_most) => isSo({ value: 'od', at_most })),
    [false, true, true],
  )
  t.same([isSo({ value: 'label', equals: 'good' }), isSo({ value: 'label', equals: 'bad' })], [true, false])
  t.same([isSo({ value: 'sealed', equals: true }), isSo({ value: 'sealed', equals: 'true' })], [true, false])
  t.same([isSo({ value: 'label', one_of: ['fair', 'good'] }), isSo({ value: 'od', one_of: [0.4] })], [true, false])
  t.same([isSo({ value: 'od', above: 0.4, below: 0.6 }), isSo({ value: 'od', above: 0.4, below: 0.45 })], [true, false])
  t.end()
})

test('conditions are joined with all and any, in any depth', (t) => {
  const [yes, no] = [
    { value: 'od', above: 0 },
    { value: 'od', below: 0 },
  ]
  t.same(
    [isSo({ all: [yes, yes] }), isSo({ all: [yes, no] }), isSo({ any: [no, yes] }), isSo({ any: [no, no] })],
    [true, false, true, false],
  )
  const nested = { any: [{ all: [yes, no] }, { all: [yes, { value: 'label', equals: 'good' }] }] }
  t.equal(isSo(nested), true)
  t.same(valuesIn(v.parse(Condition, nested)), ['od', 'od', 'od', 'label'])
  t.equal(wordsOf(v.parse(Condition, nested)), '(od above 0 and od below 0) or (od above 0 and label equals "good")')
  t.equal(wordsOf(v.parse(Condition, { value: 'od', at_least: 1, at_most: 2 })), 'od at least 1 and od at most 2')
  t.end()
})

test('a text is not compared with a number, and a condition without a comparison is refused', (t) => {
  t.throws(() => isSo({ value: 'label', above: 1 }), new TypeError('label is "good", which cannot be compared with 1'))
  for (const input of [
    { value: 'od' },
    { value: 'od', over: 1 },
    { all: [] },
    {},
    null,
    { value: 'od', above: '1' },
    { all: [{}], any: [] },
  ])
    t.equal(v.is(Condition, input), false, JSON.stringify(input))
  t.end()
})
