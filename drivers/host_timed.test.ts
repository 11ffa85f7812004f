import { test } from 'tap'
import { LabError } from '../src/errors.ts'
import { VirtualClock } from '../src/kit/clock.ts'
import { keepTime, mustTurn, until } from './host_timed.ts'

const going = new AbortController().signal

test('a run lasts as long as asked, and is looked at every two seconds and at its end', async (t) => {
  const clock = new VirtualClock()
  const looks: number[] = []
  await clock.run(keepTime({ clock, duration: 5, going }, async (seconds) => void looks.push(seconds)))
  t.same(looks, [2, 4, 5])
  t.equal(clock.now(), 5000)
})

test('what a look throws ends the run, and so does an abort', async (t) => {
  const clock = new VirtualClock()
  const unwell = keepTime({ clock, duration: 60, going }, async () => {
    throw new LabError('device_failed', 'unwell')
  })
  await t.rejects(clock.run(unwell), { message: 'unwell' })
  t.equal(clock.now(), 2000)
  const abort = new AbortController()
  const aborted = keepTime({ clock, duration: 60, going: abort.signal }, async () => {})
  abort.abort(new LabError('stopped', 'enough'))
  await t.rejects(aborted, { code: 'stopped' })
  t.equal(clock.timers, 0)
})

test('a table has a second to begin to turn, and its ramp to be as fast as asked', (t) => {
  const turning = { asked: 500, tolerance: 20, ramp_s: 10 }
  mustTurn({ ...turning, actual: 0, seconds: 0.5 })
  mustTurn({ ...turning, actual: 100, seconds: 9 })
  mustTurn({ ...turning, actual: 481, seconds: 10 })
  t.throws(() => mustTurn({ ...turning, actual: 0, seconds: 1 }), { code: 'device_failed' })
  t.throws(() => mustTurn({ ...turning, actual: 479, seconds: 10 }), { message: /turns at 479 rpm after 10 s and should turn at 500 rpm/ })
  t.throws(() => mustTurn({ ...turning, actual: 521, seconds: 10 }), { code: 'device_failed' })
  t.end()
})

test('what does not come in time is said in words', async (t) => {
  const clock = new VirtualClock()
  const looking = { clock, going, within_s: 3, every_ms: 1000 }
  let seen = 0
  await clock.run(
    until(
      looking,
      async () => ++seen,
      (value) => value === 3,
      () => 'never',
    ),
  )
  t.equal(clock.now(), 2000)
  const late = until(
    looking,
    async () => 7,
    () => false,
    (value) => `it is ${value}`,
  )
  await t.rejects(clock.run(late), { code: 'device_failed', message: 'it is 7' })
})
