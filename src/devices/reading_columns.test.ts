// A day of readings in columns, and how they are thinned.

import { test } from 'tap'
import { ReadingColumns, thinned, valuesOf } from './reading_columns.ts'
import type { Reading } from './records.ts'

test('readings come back as they were added, with the values that come and go', (t) => {
  const columns = new ReadingColumns()
  const readings: Reading[] = [
    { at: 100, temperature: 21.37, target: null },
    { at: 110, temperature: 21.4, target: 37, others: { co2: { value: 5.03, target: 5, unit: '%' } } },
    { at: 120, temperature: null, target: null, others: { co2: { value: 5.1, target: null, unit: '%' } } },
    { at: 130, temperature: 22, target: 37, others: { co2: { value: 4e-7, target: null, unit: 'ppm' } } },
  ]
  for (const [n, reading] of readings.entries()) columns.add(n * 10_000, reading)
  columns.add(31_000, { at: 131, temperature: 99, target: null })
  t.strictSame(columns.between(0, 1000), readings, 'without the one that came a second after another')
  t.strictSame(columns.between(110, 130), readings.slice(1, 3))
  t.end()
})

test('thinned readings hold every peak of every value', (t) => {
  const readings: Reading[] = Array.from({ length: 8640 }, (_, n) => ({
    at: n * 10,
    temperature: n === 5000 ? 99 : 20 + (n % 7) / 10,
    target: null,
    others: { mass: { value: n === 7001 ? -3 : n / 1000, target: null, unit: 'g' } },
  }))
  for (const most of [10, 100, 2000]) {
    const few = thinned(readings, most)
    t.ok(few.length <= most && few.length > most / 3, `${few.length} of ${most}`)
    t.ok(few.some(({ temperature }) => temperature === 99))
    t.ok(few.some((reading) => valuesOf(reading).some(([name, { value }]) => name === 'mass' && value === -3)))
  }
  t.equal(thinned(readings, 8640).length, 8640)
  t.end()
})
