import { test } from 'tap'
import { LabError } from '../../src/errors.ts'
import { VirtualClock } from '../../src/kit/clock.ts'
import { Expanders } from '../parts/expanders.ts'
import { board, type Hardware } from './board.ts'
import type { Pin, PinUse } from './pin.ts'
import { simulatedI2c } from './simulated_i2c.ts'
import type { BoardPlan } from './wiring.ts'

const plan: BoardPlan = {
  pins: { relay: { bcm: 17, mode: 'out', active_low: true }, lid: { bcm: 27, mode: 'in', active_low: true, pull: 'up' } },
  i2c: { sensor: { part: 'tmp117', bus: 1, address: 0x48 } },
}

/** Hardware that notes what is asked of it. `missing` is the number of a pin that is not there. */
function bench({ missing }: { missing?: number } = {}) {
  const clock = new VirtualClock()
  const seen: string[] = []
  const lose: ((reason: string) => void)[] = []
  const { bus, put, setUnplugged } = simulatedI2c(1, clock)
  put(0x48, { write() {}, read: (length) => new Uint8Array(length).fill(3) })
  const broken: { why: string | undefined } = { why: undefined }
  const works = () => {
    if (broken.why) throw new Error(broken.why)
  }
  const pin = (number: number, { mode }: PinUse): Pin => ({
    async read() {
      works()
      return true
    },
    async write(active) {
      works()
      seen.push(`${number} ${active}`)
    },
    async writeNow(active) {
      works()
      seen.push(`${number} ${active} now`)
    },
    onEdge: () => () => {},
    close: async () => void seen.push(`${number} closed, an ${mode}put`),
  })
  const hardware: Hardware = {
    bus: () => bus,
    expanders: new Expanders(() => bus),
    async openPin(place, use, lost) {
      const number = 'bcm' in place ? place.bcm : place.line
      if (number === missing) throw new LabError('disconnected', `there is no GPIO ${number}`)
      seen.push(`${number} opened ${JSON.stringify(use)}`)
      lose.push(lost)
      return pin(number, use)
    },
  }
  const wired = board(plan, hardware, clock)
  const wire: string[] = []
  wired.onWire((direction, bytes) => wire.push(`${direction === 'to_device' ? '>' : '<'} ${Buffer.from(bytes).toString('latin1')}`))
  return { wired, clock, seen, lose, wire, setUnplugged, broken }
}

test('it opens the pins of its plan as they are wired, and leaves outputs inactive when it is closed', async (t) => {
  const { wired, seen } = bench()
  await wired.open()
  t.equal(wired.state, 'open')
  t.same(seen, ['17 opened {"mode":"out","active_low":true}', '27 opened {"mode":"in","active_low":true,"pull":"up"}'])
  await wired.close()
  t.same(seen.slice(2), ['17 false', '17 closed, an output', '27 closed, an input'])
  t.equal(wired.state, 'closed')
})

test('a pin that cannot be had is named, and what was opened before it is closed again', async (t) => {
  const { wired, seen } = bench({ missing: 27 })
  await t.rejects(wired.open(), { code: 'disconnected', message: 'lid: there is no GPIO 27' })
  t.equal(wired.state, 'closed')
  t.equal(seen.at(-1), '17 closed, an output')
})

test('what is not open can neither be read nor stopped', async (t) => {
  const { wired, wire } = bench()
  await t.rejects(wired.pin('lid').read(), { code: 'disconnected' })
  await t.rejects(wired.pin('relay').write(true), { code: 'disconnected' })
  t.throws(() => wired.pin('relay').writeNow(false), { code: 'stop_not_sent', message: /relay is not open/ })
  t.same(wire, [], 'and nothing is told as if it had passed')
})

test('a pin that is lost loses the board, whose outputs can still be switched off; opened again it is as new', async (t) => {
  const { wired, seen, lose } = bench()
  const reasons: string[] = []
  wired.onLost((reason) => reasons.push(reason))
  await wired.open()
  lose[1]?.('its gpiomon has ended')
  lose[0]?.('its gpioset has ended')
  t.equal(wired.state, 'lost')
  t.same(reasons, ['lid: its gpiomon has ended'])
  await wired.pin('relay').writeNow(false)
  t.equal(seen.at(-1), '17 false now')
  await wired.open()
  t.equal(wired.state, 'open')
  lose[0]?.('late word of the pin before')
  t.equal(wired.state, 'open')
})

test('a pin whose file fails loses the board, so that it is opened anew, and a stop that did not reach it is not sent', async (t) => {
  const { wired, broken, seen } = bench()
  const reasons: string[] = []
  wired.onLost((reason) => reasons.push(reason))
  for (const fail of [async () => void (await wired.pin('lid').read()), () => wired.pin('relay').write(true)]) {
    await wired.open()
    broken.why = 'ENODEV: no such device, read'
    await t.rejects(fail(), { code: 'disconnected', message: /the connection was lost: (lid|relay): ENODEV.*, then initialize/ })
    t.equal(wired.state, 'lost')
    broken.why = undefined
  }
  await wired.open()
  broken.why = 'EIO: i/o error, write'
  await t.rejects(wired.pin('relay').writeNow(false), { code: 'stop_not_sent', message: /relay: EIO/ })
  t.same(reasons, ['lid: ENODEV: no such device, read', 'relay: ENODEV: no such device, read', 'relay: EIO: i/o error, write'])
  broken.why = undefined
  await wired.open()
  await wired.pin('relay').write(true)
  t.equal(seen.at(-1), '17 true')
})

test('what passes can be seen, pins by their names, and what they say when it is something else', async (t) => {
  const { wired, clock, wire } = bench()
  await wired.open()
  await wired.pin('relay').write(true)
  for (let times = 0; times < 3; times++) await wired.pin('lid').read()
  await clock.run(wired.part('sensor').readWord(0))
  await clock.run(wired.part('sensor').writeByte(1, 0x80))
  await wired.pin('relay').writeNow(false)
  t.same(wire, ['> relay = 1', '< lid is 1\n', '> read 1/0x48 00', '< 03 03\n', '> write 1/0x48 01 80', '> relay = 0'])
})

test('it has what its plan has', (t) => {
  const { wired } = bench()
  t.same(
    ['relay', 'sensor', 'direction'].map((name) => wired.has(name)),
    [true, true, false],
  )
  t.throws(() => wired.pin('direction'), { code: 'internal' })
  t.end()
})
