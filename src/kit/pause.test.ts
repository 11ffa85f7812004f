import { test } from 'tap'
import { VirtualClock } from './clock.ts'
import { Pause } from './pause.ts'

test('a pause is over when its time is, or when somebody ends it', async (t) => {
  const clock = new VirtualClock()
  const pause = new Pause(clock, 50)
  let isOver = false
  const taken = () => {
    isOver = false
    return pause.taken().then(() => (isOver = true))
  }
  const first = taken()
  await clock.advance(49)
  t.notOk(isOver)
  await clock.advance(1)
  await first
  const second = taken()
  pause.end()
  await second
  pause.end()
})
