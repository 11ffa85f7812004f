import { test } from 'tap'
import { LabError } from '../src/errors.ts'
import { sleep, VirtualClock } from '../src/kit/clock.ts'
import { EarlyEnd, heardOrObeyed } from './early_end.ts'
import { keepTime, mustSlowDown, mustTurn, until } from './host_timed.ts'

const going = new AbortController().signal
const usual = () => ({ going, early: new EarlyEnd(), slowDown: async () => {} })

test('a run lasts as long as asked, and is looked at every two seconds and at its end', async (t) => {
  const clock = new VirtualClock()
  const looks: number[] = []
  await clock.run(keepTime({ ...usual(), clock, duration: 5 }, async (seconds) => void looks.push(seconds)))
  t.same(looks, [2, 4, 5])
  t.equal(clock.now(), 5000)
})

test('what a look throws ends the run, and so does an abort', async (t) => {
  const clock = new VirtualClock()
  const unwell = keepTime({ ...usual(), clock, duration: 60 }, async () => {
    throw new LabError('device_failed', 'unwell')
  })
  await t.rejects(clock.run(unwell), { message: 'unwell' })
  t.equal(clock.now(), 2000)
  const abort = new AbortController()
  const aborted = keepTime({ ...usual(), clock, duration: 60, going: abort.signal }, async () => {})
  abort.abort(new LabError('stopped', 'enough'))
  await t.rejects(aborted, { code: 'stopped' })
  t.equal(clock.timers, 0)
})

test('a run that is asked to end early ends when its instrument has slowed down, and tells how much was left', async (t) => {
  const clock = new VirtualClock()
  const early = new EarlyEnd()
  const looks: number[] = []
  const slowed: number[] = []
  const slowDown = async () => void slowed.push(clock.now())
  const running = keepTime({ ...usual(), early, slowDown, clock, duration: 60 }, async (seconds) => void looks.push(seconds))
  await clock.advance(4500)
  const [ended] = await clock.run(Promise.all([early.ask(), early.ask(), running]))
  t.same(ended, { seconds_left: 55.5 })
  t.same([looks, slowed, clock.now(), clock.timers], [[2, 4], [4500], 4500, 0])
})

test('a run whose instrument does not acknowledge the early end goes on to its time, and what else goes wrong ends it', async (t) => {
  for (const code of ['no_reply', 'device_failed'] as const) {
    const clock = new VirtualClock()
    const early = new EarlyEnd()
    const slowDown = () => Promise.reject(new LabError(code, 'not heard'))
    const running = keepTime({ ...usual(), early, slowDown, clock, duration: 10 }, async () => {})
    await clock.advance(3000)
    await t.rejects(early.ask(), { code })
    await clock.run(running)
    t.equal(clock.now(), 10_000)
  }
  const early = new EarlyEnd()
  const slowDown = () => Promise.reject(new LabError('disconnected', 'gone'))
  const asked = early.ask()
  await t.rejects(
    keepTime({ ...usual(), early, slowDown, clock: new VirtualClock(), duration: 10 }, async () => {}),
    { code: 'disconnected' },
  )
  await t.rejects(asked, { code: 'disconnected' })
})

test('a missed acknowledgement counts when the instrument is seen to have obeyed', async (t) => {
  const missed = () => Promise.reject(new LabError('no_reply', 'nothing'))
  await heardOrObeyed(missed, async () => true)
  await t.rejects(
    heardOrObeyed(missed, async () => false),
    { code: 'no_reply' },
  )
  const refused = () => Promise.reject(new LabError('device_failed', 'no'))
  await t.rejects(
    heardOrObeyed(refused, async () => true),
    { code: 'device_failed' },
  )
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

test('a motor that keeps its speed but for a few rpm has not obeyed a stop, and one that slows down has', async (t) => {
  const looking = (speeds: readonly number[]) => {
    const clock = new VirtualClock()
    let looks = 0
    const speed = async () => {
      await sleep(clock, 50)
      return speeds[looks++ % speeds.length]!
    }
    return clock.run(mustSlowDown(clock, 5, speed, async () => {}))
  }
  await t.rejects(looking([500, 498, 502]), { code: 'device_failed', message: /still turns at \d+ rpm after a stop/ })
  await t.rejects(looking([3000, 2985, 3010]), { code: 'device_failed' })
  await looking([500, 497, 494, 490])
  await looking([200, 400, 380])
})
