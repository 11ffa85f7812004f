import { test } from 'tap'
import { HandClock } from '../../src/testing/hand_clock.ts'
import { Exchange } from './exchange.ts'
import { patient } from './patient.ts'
import { simulatedLine } from './simulated_line.ts'

/** Keeps the computer busy: nothing is read and no timer rings meanwhile. */
function busy(ms: number): void {
  const end = performance.now() + ms
  while (performance.now() < end);
}

test('an answer that came while the computer was busy counts, though its deadline rings before it is read', async (t) => {
  const line = simulatedLine({
    serial: { baud: 115_200 },
    settings: {},
    simulate: ({ send }) => ({
      receive() {
        setImmediate(() => send(Buffer.from('ok\n')))
        busy(200)
      },
      setFault: () => false,
      powerOff() {},
      world: { moving: false, heating: false },
    }),
  })
  const exchange = new Exchange<string, string>(line, {
    framer: (buffer) => (buffer.includes('\n') ? { used: buffer.length, frame: buffer.toString().trim() } : undefined),
    encode: (question) => Buffer.from(`${question}\n`),
    gap_ms: 0,
    resync: { question: 'where', recognises: () => true },
  })
  await line.open()
  t.equal(await exchange.command('heat', { deadline_ms: 20 }), 'ok')
  await line.close()
})

test('a timer that rings in time calls at once, one that rings late after a few turns, unless it was called off', async (t) => {
  for (const [late_ms, turns] of [
    [0, 1],
    [500, 11],
  ] as const) {
    const clock = new HandClock()
    let called = 0
    patient(clock).after(100, () => called++)
    const cancel = patient(clock).after(100, () => t.fail('it was called off'))
    clock.stall(100 + late_ms)
    for (let turn = 1; turn <= turns; turn++) {
      t.equal(called, 0)
      if (turn === turns) cancel()
      clock.ring()
    }
    t.same([called, clock.timers], [1, 0])
  }
})
