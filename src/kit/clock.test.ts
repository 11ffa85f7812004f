import { mock } from 'node:test'
import { test } from 'tap'
import { type Clock, scaled, sleep, systemClock, VirtualClock } from './clock.ts'

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

test('a timer that is longer than one of Node may be rings at its moment, and not before', (t) => {
  const node = timersOfNode()
  t.teardown(node.restore)
  const month_ms = 30 * 86_400_000
  let rung = 0
  systemClock.after(month_ms, () => rung++)
  let passed_ms = 0
  for (let next = node.next(); next; next = node.next()) {
    t.ok(next.ms <= 2 ** 31 - 1, `${next.ms} ms`)
    t.equal(rung, 0)
    passed_ms += next.ms
    next.ring()
  }
  t.equal(rung, 1)
  t.equal(passed_ms, month_ms)
  t.end()
})

test('a long timer that was called off in its second part does not ring', (t) => {
  const node = timersOfNode()
  t.teardown(node.restore)
  const callOff = systemClock.after(2 ** 32, () => t.fail('it rang'))
  node.next()!.ring()
  callOff()
  t.equal(node.next(), undefined)
  t.end()
})

/** Timers of Node that ring when the test rings them. */
function timersOfNode() {
  const timers: { ms: number; ring(): void }[] = []
  const set = (call: (...args: unknown[]) => void, ms: number, ...args: unknown[]) => {
    const timer = { ms, ring: () => call(...args) }
    timers.push(timer)
    return timer
  }
  const clear = (timer: (typeof timers)[number]) => timers.splice(timers.indexOf(timer), 1)
  const mocks = [mock.method(globalThis, 'setTimeout', set as never), mock.method(globalThis, 'clearTimeout', clear as never)]
  return { next: () => timers.shift(), restore: () => mocks.forEach((one) => void one.mock.restore()) }
}

test('a scaled clock is so many times as fast', async (t) => {
  const clock = new VirtualClock()
  const fast = scaled(clock, 10)
  await clock.run(sleep(fast, 1000))
  t.equal(clock.now(), 100)
  t.equal(fast.now(), 1000)
})

test('the time of a scaled clock does not pass a timer that rings late', async (t) => {
  const late = lateClock()
  const fast = scaled(late.clock, 200)
  const seen: number[] = []
  const tick = () => {
    seen.push(fast.now())
    fast.after(1000, tick)
  }
  fast.after(1000, tick)
  // 60 seconds of the fast clock.
  await late.pass(300)
  t.same(seen, [1000])
  t.ok(fast.now() <= 2000, `${fast.now()} ms`)
})

test('what waits for a timer that rang late still finds the time of that timer', async (t) => {
  const late = lateClock()
  const fast = scaled(late.clock, 200)
  const waiting = sleep(fast, 1000).then(async () => {
    await Promise.resolve()
    return fast.now()
  })
  await late.pass(300)
  t.equal(await waiting, 1000)
})

test('a scaled clock makes up for a short delay, and for no more than a second of a long one', async (t) => {
  for (const [delay_ms, shown] of [
    [300, 3000],
    // The timer was due after 1 ms.
    [60_000, 10_010],
  ] as const) {
    const late = lateClock()
    const fast = scaled(late.clock, 10)
    fast.after(10, () => {})
    await late.pass(delay_ms)
    t.equal(fast.now(), shown, `${delay_ms} ms`)
  }
})

test('timers of a scaled clock ring in the order of their moments, however late', async (t) => {
  const late = lateClock()
  const fast = scaled(late.clock, 200)
  const rung: (readonly [string, number])[] = []
  const ring = (name: string) => () => rung.push([name, fast.now()])
  fast.after(3000, ring('third'))
  const callOff = fast.after(2500, ring('called off'))
  fast.after(2000, ring('second'))
  fast.after(1000, () => {
    ring('first')()
    callOff()
  })
  await late.pass(100)
  t.same(rung, [
    ['first', 1000],
    ['second', 2000],
    ['third', 3000],
  ])
})

test('a timer of a scaled clock that rings early rings at its moment', async (t) => {
  const late = lateClock()
  const fast = scaled(late.clock, 200)
  let seen = 0
  fast.after(1000, () => {
    seen = fast.now()
  })
  await late.pass(4, { early_ms: 1 })
  t.equal(seen, 1000)
})

/** A clock of a computer that is busy: its timers ring when it comes to it, in the order in which they were set. */
function lateClock() {
  let now = 0
  let timers: { at: number; call(): void }[] = []
  const clock: Clock = {
    now: () => now,
    after(ms, call) {
      const timer = { at: now + ms, call }
      timers.push(timer)
      return () => {
        timers = timers.filter((other) => other !== timer)
      }
    },
  }
  /** Lets so much time go by at once; then what is due rings. */
  const pass = async (ms: number, { early_ms = 0 } = {}) => {
    now += ms
    const due = timers.filter(({ at }) => at <= now + early_ms)
    for (const timer of due) {
      if (!timers.includes(timer)) continue
      timers = timers.filter((other) => other !== timer)
      timer.call()
      // As after each timer of Node.
      await Promise.resolve()
    }
    await new Promise(setImmediate)
  }
  return { clock, pass }
}
