// The time that is left while something warms up.

import { test } from 'tap'
import { changeOf, secondsUntil } from './temperature_trend.ts'

/** A reading every two seconds. */
const every2s = (temperatures: readonly (number | null)[]) => temperatures.map((temperature, i) => ({ at: 1000 + 2 * i, temperature }))
const flat = Array.from({ length: 27 }, () => 25)

test('the time before a device began to heat does not count', (t) => {
  const readings = every2s([...flat, 25.7, 26.4])
  t.equal(Math.round(secondsUntil(165, readings)), 396, 'at 0.35 °C a second, not at the 1.4 °C of a minute')
  t.equal(Math.round(changeOf(readings) * 10) / 10, 1.4)
  t.end()
})

test('a slow rise is measured over a minute', (t) => {
  const readings = every2s(Array.from({ length: 60 }, (_, i) => 30 + i * 0.02))
  t.equal(Math.round(secondsUntil(37, readings)), 582)
  t.end()
})

test('nothing is said without a rise, without a target, and at the target', (t) => {
  t.equal(secondsUntil(165, every2s(flat)), 0)
  t.equal(secondsUntil(165, every2s([25, 24, 23])), 0, 'it cools')
  t.equal(secondsUntil(null, every2s([25, 30])), 0)
  t.equal(secondsUntil(30, every2s([25, 30])), 0)
  t.equal(secondsUntil(30, []), 0)
  t.equal(secondsUntil(30, every2s([null, 25])), 0)
  t.equal(secondsUntil(30, every2s([20, null])), 0)
  t.equal(changeOf([]), 0)
  t.end()
})
