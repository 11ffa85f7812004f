import { test } from 'tap'
import { someOf } from './listed.ts'

test('a long list is named in part, and never in part for the sake of one member', (t) => {
  t.same(someOf([]), [])
  t.same(someOf(['1', '2', '3', '4', '5', '6']), ['1', '2', '3', '4', '5', '6'])
  t.same(someOf(Array.from({ length: 1000 }, (_, i) => `${i}`)), ['0', '1', '2', '3', '4', 'and 995 more'])
  t.end()
})
