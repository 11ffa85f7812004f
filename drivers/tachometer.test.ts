import { test } from 'tap'
import { VirtualClock } from '../src/kit/clock.ts'
import { Tachometer } from './tachometer.ts'
import type { Pin } from './transports/pin.ts'

/** A tachometer of so many pulses a turn, and the wire it is on. */
function wired(pulsesPerTurn = 1) {
  const clock = new VirtualClock()
  let listener = (_: boolean) => {}
  const pin: Pin = {
    read: async () => false,
    write: async () => {},
    writeNow: async () => {},
    onEdge(listen) {
      listener = listen
      return () => {
        listener = () => {}
      }
    },
    close: async () => {},
  }
  const tach = new Tachometer(pin, clock, pulsesPerTurn)
  tach.begin()
  const pulse = () => {
    listener(true)
    listener(false)
  }
  const turn = async (interval_ms: number, times: number) => {
    for (let i = 0; i < times; i++) {
      await clock.advance(interval_ms)
      pulse()
    }
  }
  return { clock, tach, pulse, turn }
}

test('the speed is what lies between the pulses', async (t) => {
  for (const [pulsesPerTurn, interval_ms, rpm] of [
    [1, 100, 600],
    [1, 600, 100],
    [6, 10, 1000],
  ] as const) {
    const { tach, turn } = wired(pulsesPerTurn)
    await turn(interval_ms, 30)
    t.equal(Math.round(tach.rpm), rpm)
  }
})

test('pulses that are told late and together do not make it faster', async (t) => {
  const { tach, clock, pulse } = wired()
  for (let i = 0; i < 4; i++) {
    await clock.advance(500)
    for (let n = 0; n < 5; n++) pulse()
  }
  t.equal(Math.round(tach.rpm), 600)
})

test('a pulse that does not come is seen before it comes, and none for a second and a half is rest', async (t) => {
  const { tach, clock, turn } = wired()
  t.equal(tach.rpm, 0)
  await turn(100, 10)
  await clock.advance(400)
  t.equal(Math.round(tach.rpm), 150)
  await clock.advance(1101)
  t.equal(tach.rpm, 0)
})

test('what came before it began to count does not count', async (t) => {
  const { tach, clock, turn } = wired()
  await turn(100, 10)
  tach.begin()
  t.equal(tach.rpm, 0)
  tach.end()
  await turn(100, 10)
  t.equal(tach.rpm, 0)
  t.equal(clock.timers, 0)
})
