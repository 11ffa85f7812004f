import { test } from 'tap'
import { table } from './table.ts'

test('a table says the zone of its times once, in the head of their column', (t) => {
  const rows = [
    ['2026-01-31T09:00+01:00', 'a'],
    ['-', 'b'],
    ['2026-01-31T09:01:07.123+01:00', 'c'],
  ]
  t.equal(table(['TIME', 'WHAT'], rows).split('\n')[0], 'TIME (+01:00)            WHAT')
  t.match(table(['TIME', 'WHAT'], rows), /\n2026-01-31T09:00 +a\n- +b\n2026-01-31T09:01:07.123 +c$/)
  t.match(table(['TIME'], [['2026-01-31T08:00Z']]), /^TIME \(UTC\)\n2026-01-31T08:00$/)
  t.end()
})

test('times of several zones, and texts that only hold a time, keep their zone', (t) => {
  const summer = [['2026-10-24T09:00+02:00'], ['2026-10-26T09:00+01:00']]
  t.equal(table(['TIME'], summer), 'TIME\n2026-10-24T09:00+02:00\n2026-10-26T09:00+01:00')
  t.match(table(['STATE'], [['until 2026-10-24T09:00+02:00']]), /^STATE\nuntil 2026-10-24T09:00\+02:00$/)
  t.end()
})
