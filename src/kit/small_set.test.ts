import { test } from 'tap'
import { SmallSet } from './small_set.ts'

test('each thing is there once, in the order it came', async (t) => {
  const few = new SmallSet<string>()
  for (const name of ['b', 'a', 'b', 'c']) few.add(name)
  t.same([...few], ['b', 'a', 'c'])
  t.equal(few.size, 3)
  few.delete('a')
  few.delete('nowhere')
  t.same([...few], ['b', 'c'])
  t.equal(few.shift(), 'b')
  t.equal(few.shift(), 'c')
  t.equal(few.shift(), undefined)
  t.equal(few.size, 0)
})
