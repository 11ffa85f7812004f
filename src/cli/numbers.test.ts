import { test } from 'tap'
import { decimal, numberOf } from './numbers.ts'

test('a number is decimal', async (t) => {
  t.same(['12.5', '-.5', '+3.', '1e3', ' 7 '].map(decimal), [12.5, -0.5, 3, 1000, 7])
  for (const text of ['0x10', '0b11', '0o7', '', ' ', '1_000', '1,5', 'Infinity', '5mm']) {
    t.ok(Number.isNaN(decimal(text)), text)
    t.throws(() => numberOf('--x', text), { exit: 'usage', message: /is not a number/ })
  }
})
