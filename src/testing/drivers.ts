// For tests: a device on its simulator with a virtual clock, and a clock for tests in real time.

import { type Bench, calm } from '../conformance/on_simulator.ts'
import { type Clock, systemClock } from '../kit/clock.ts'

export { type Bench, calm, onPins, onSimulator, type PinsBench } from '../conformance/on_simulator.ts'

/**
 * Seals, and stops the device after it has sent `words` messages and `turns` turns of the microtask queue have passed. Resolves after the device was
 * checked, with the frames that were written from the stop on.
 */
export async function sealedUntilStop({ device, run, clock, line }: Bench, words: number, turns: number): Promise<string[]> {
  const after: string[] = []
  let heard = 0
  let halted: Promise<void> | undefined
  const halt = async () => {
    for (let turn = 0; turn < turns; turn++) await Promise.resolve()
    after.length = 0
    await device.halt()
  }
  line.onWire((direction, bytes) => {
    if (direction === 'to_host' && ++heard === words) halted = halt()
    if (direction === 'to_device') after.push(Buffer.from(bytes).toString('latin1'))
  })
  const sealing = device.seal!({ temperature: 100, duration: 3 }, calm).catch(() => {})
  await clock.advance(40_000)
  await Promise.all([sealing, halted])
  await run(device.check())
  return after
}

const tick_ms = 5
/** If more than this passes between two ticks, the process was busy or suspended. */
const stall_ms = 4 * tick_ms

/**
 * Returns the system clock without the times when this process was stalled. After a stall, Node runs timers before it reads input, so on the system
 * clock an answer that has arrived would count as late. The clock does not keep the process alive.
 */
export function stallFreeClock(): Clock {
  let last = systemClock.now()
  let stalled = 0
  const look = () => {
    const now = systemClock.now()
    stalled += Math.max(0, now - last - stall_ms)
    last = now
  }
  setInterval(look, tick_ms).unref()
  const clock: Clock = {
    now() {
      look()
      return last - stalled
    },
    after(ms, call) {
      const due = clock.now() + ms
      let cancel = systemClock.after(ms, function ring() {
        const left = due - clock.now()
        if (left <= 0) call()
        else cancel = systemClock.after(left, ring)
      })
      return () => cancel()
    },
  }
  return clock
}
