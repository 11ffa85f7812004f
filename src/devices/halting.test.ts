import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'tap'
import { systemClock } from '../kit/clock.ts'
import { inTime, promised } from './halting.ts'

test('an answer that takes a few turns more counts as one in time after the process stood still', async (t) => {
  const answered = (async () => {
    for (let i = 0; i < 4; i++) await turn()
  })()
  const acknowledged = inTime(systemClock, answered, 400)
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600)
  t.equal(await acknowledged, true)
})

test('a halt that returns no promise counts as not heard', async (t) => {
  await t.rejects(
    promised(() => undefined as never),
    { code: 'device_failed', message: /no promise from halt/ },
  )
})
