import { test } from 'tap'
import { askedSeconds } from './asked_time.ts'
import { profileSeconds } from './temperature_profile.ts'

const steps = [
  { temperature: 95, seconds: 30 },
  { temperature: 55, seconds: 20 },
]

test('a profile takes the time at its steps and the ramps between them, as often as it is repeated', (t) => {
  t.equal(profileSeconds({ steps: [{ temperature: 95, seconds: 30 }] }), 30)
  t.equal(profileSeconds({ steps }), 50 + 20)
  t.equal(profileSeconds({ steps, repetitions: 3 }), 3 * 50 + 5 * 20, 'there are two ramps back')
  t.equal(askedSeconds('run_profile', { steps, repetitions: 3 }), 250)
  t.end()
})

test('what a workflow does not know yet counts as nothing', (t) => {
  const unknown = { variable: 'x' }
  t.equal(askedSeconds('run_profile', {}), 0)
  t.equal(askedSeconds('run_profile', { steps: unknown }), 0)
  t.equal(
    askedSeconds('run_profile', {
      steps: [
        { temperature: unknown, seconds: 30 },
        { temperature: 55, seconds: unknown },
      ],
    }),
    30,
  )
  t.equal(askedSeconds('run_profile', { steps, repetitions: unknown }), 70)
  t.end()
})

test('other operations ask for their duration', (t) => {
  t.equal(askedSeconds('shake', { speed: 500, duration: 7 }), 7)
  t.equal(askedSeconds('open', {}), 0)
  t.equal(askedSeconds('read_plate', { duration: 7 }), 7)
  t.end()
})
