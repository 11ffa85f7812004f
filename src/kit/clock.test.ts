import { test } from 'tap'
import { scaled, sleep, VirtualClock } from './clock.ts'

test('timers ring in the order of their moments, and of their setting', async (t) => {
  const clock = new VirtualClock()
  const rung: string[] = []
  clock.after(20, () => rung.push('second'))
  clock.after(10, () => rung.push('first'))
  clock.after(20, () => rung.push('third'))
  await clock.advance(15)
  t.same(rung, ['first'])
  await clock.advance(5)
  t.same(rung, ['first', 'second', 'third'])
})

test('a timer that was called off does not ring', async (t) => {
  const clock = new VirtualClock()
  clock.after(10, () => t.fail('it rang'))()
  await clock.advance(20)
})

test('a promise on the virtual clock takes no time of ours', async (t) => {
  const clock = new VirtualClock()
  await clock.run(sleep(clock, 3_600_000))
  t.equal(clock.now(), 3_600_000)
})

test('a sleep ends at once when its signal is aborted', async (t) => {
  const stop = new AbortController()
  const waiting = sleep(new VirtualClock(), 1000, stop.signal)
  stop.abort(new Error('enough'))
  await t.rejects(waiting, { message: 'enough' })
})

test('a scaled clock is so many times as fast', async (t) => {
  const clock = new VirtualClock()
  const fast = scaled(clock, 10)
  await clock.run(sleep(fast, 1000))
  t.equal(clock.now(), 100)
  t.equal(fast.now(), 1000)
})
