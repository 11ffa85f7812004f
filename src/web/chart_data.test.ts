// The data of charts: gaps, units, CSV and spans.

import { test } from 'tap'
import type { Reading } from '../clients/ts/benchd.ts'
import { csvOf, linesOf, moved, summaryOf, zoomed } from './chart_data.ts'

const pressure = (value: number) => ({ others: { pressure: { value, target: null, unit: 'mbar' } } })
const readings: Reading[] = [
  { at: 100, temperature: 21, target: null },
  { at: 110, temperature: 22, target: 37, ...pressure(1013) },
  { at: 300, temperature: Number.POSITIVE_INFINITY, target: Number.NaN, ...pressure(1014) },
]

test('each unit has lines of its own, with gaps where nothing was read and where a number is none', (t) => {
  t.strictSame(linesOf(readings, 45), [
    { unit: '°C', names: ['temperature'], at: [100, 110, 205, 300], values: [[21, 22, null, null]], targets: [[null, 37, null, null]] },
    {
      unit: 'mbar',
      names: ['pressure'],
      at: [100, 110, 205, 300],
      values: [[null, 1013, null, 1014]],
      targets: [[null, null, null, null]],
    },
  ])
  t.strictSame(linesOf([], 45), [])
  t.match(linesOf(readings, 200)[0], { at: [100, 110, 300] }, 'a short pause is no gap')
  t.end()
})

test('a chart is told in words to those who do not see it', (t) => {
  t.equal(summaryOf(linesOf(readings, 45)[0]!), 'temperature: from 21 to 22 °C, last 22 °C')
  t.end()
})

test('the CSV has a line for each value, in UTC', (t) => {
  t.equal(
    csvOf(readings.slice(0, 2)),
    [
      'at,name,value,target,unit',
      '1970-01-01T00:01:40.000Z,temperature,21,,°C',
      '1970-01-01T00:01:50.000Z,temperature,22,37,°C',
      '1970-01-01T00:01:50.000Z,pressure,1013,,mbar',
      '',
    ].join('\r\n'),
  )
  t.equal(
    csvOf([{ at: 0, temperature: null, target: null, others: { 'a,"b"': { value: 1, target: null, unit: '' } } }]).split('\r\n')[1],
    '1970-01-01T00:00:00.000Z,"a,""b""",1,,',
  )
  t.end()
})

test('a span is enlarged around a moment and moved, and stays within the whole', (t) => {
  const whole = { min: 0, max: 3600 }
  t.strictSame(zoomed(whole, 0.5, whole), { min: 900, max: 2700 })
  t.strictSame(zoomed(whole, 0.5, whole, 3600), { min: 1800, max: 3600 })
  t.strictSame(zoomed({ min: 0, max: 100 }, 2, whole), { min: 0, max: 200 }, 'at the edge it grows to the other side')
  t.strictSame(zoomed({ min: 0, max: 3000 }, 2, whole), whole)
  t.strictSame(zoomed({ min: 100, max: 112 }, 0.1, whole), { min: 101, max: 111 }, 'not shorter than 10 s')
  t.strictSame(moved({ min: 3000, max: 3500 }, 1000, whole), { min: 3100, max: 3600 })
  t.strictSame(moved({ min: 100, max: 200 }, -1000, whole), { min: 0, max: 100 })
  t.end()
})
