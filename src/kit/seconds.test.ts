import { test } from 'tap'
import { inSeconds } from './seconds.ts'

test('seconds have no tail of digits that nobody measured', async (t) => {
  t.same([0.1 + 0.2 + 0.3, 5, 0.0049, 1e7, 1 / 3].map(inSeconds), ['0.6 s', '5 s', '0.005 s', '10000000 s', '0.333 s'])
})
