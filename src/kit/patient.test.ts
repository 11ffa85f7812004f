import { test } from 'tap'
import { HandClock } from '../testing/hand_clock.ts'
import { patient } from './patient.ts'

/** The number of times that the timers ring until the deadline of `patient` is over, where the computer stands still before these. */
function ringsWith(...stalled: number[]): number {
  const clock = new HandClock()
  let isOver = false
  patient(clock).after(1000, () => {
    isOver = true
  })
  let rings = 0
  for (; !isOver; rings++) {
    clock.stall(stalled.includes(rings) ? 60_000 : 100)
    clock.ring()
  }
  return rings
}

test('a time in which the computer stands still counts as half of the deadline at most, and in the last part as none', async (t) => {
  t.equal(ringsWith(), 10)
  for (let part = 0; part < 5; part++) t.equal(ringsWith(part), 6, `part ${part}`)
  for (let part = 5; part < 10; part++) t.equal(ringsWith(part), part + 2, `part ${part}`)
  t.equal(ringsWith(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10), 3, 'and it ends on a computer that is busy all the time')
})

test('a computer that is a little late at each part adds that up once', async (t) => {
  const clock = new HandClock()
  let isOver = false
  patient(clock).after(1000, () => {
    isOver = true
  })
  const began = clock.now()
  while (!isOver) {
    clock.stall(200)
    clock.ring()
  }
  t.ok(clock.now() - began <= 1200)
})

test('a deadline that is called off does not ring, whichever part it is in', async (t) => {
  for (let parts = 0; parts <= 10; parts++) {
    const clock = new HandClock()
    const cancel = patient(clock).after(1000, () => t.fail('it was called off'))
    for (let rings = 0; rings < parts; rings++) {
      clock.stall(rings === 9 ? 60_000 : 100)
      clock.ring()
    }
    cancel()
    clock.ring()
    t.equal(clock.timers, 0)
  }
})
