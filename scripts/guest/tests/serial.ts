// Real serial ports: 16550s, which keep seven bits and parity and have modem lines, as pseudo-terminals have not.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { driver as bioshake } from '../../../drivers/bioshake/driver.ts'
import { driver as ika } from '../../../drivers/ika_shaker/driver.ts'
import type { SerialSettings } from '../../../drivers/transports/line.ts'
import { serialPort } from '../../../drivers/transports/serial_port.ts'
import { systemClock } from '../../../src/kit/clock.ts'
import { calm } from '../../../src/testing/drivers.ts'
import { crossed, framing, instrumentAt, opened, raised, reading } from './serial_lines.ts'
import { until } from './waiting.ts'

const { host, instrument } = crossed

test('every byte there is crosses a real port in both directions, unchanged', async (t) => {
  const [near, far] = [await opened(t, host, { baud: 115_200 }), await opened(t, instrument, { baud: 115_200 })]
  const bytes = Buffer.from(Array.from({ length: 1024 }, (_, i) => i & 0xff))
  const [there, back] = [reading(far), reading(near)]
  near.write(bytes)
  far.write(bytes)
  await until('all of it is there', () => there.text.length === 1024 && back.text.length === 1024)
  assert.equal(there.text, bytes.toString('latin1'))
  assert.equal(back.text, bytes.toString('latin1'))
})

const framings: [SerialSettings, string][] = [
  [{ baud: 9600 }, '9600 baud -parenb -parodd cs8 -cstopb'],
  [{ baud: 9600, data_bits: 7, parity: 'even' }, '9600 baud parenb -parodd cs7 -cstopb'],
  [{ baud: 19_200, data_bits: 8, parity: 'odd', stop_bits: 2 }, '19200 baud parenb parodd cs8 cstopb'],
]
for (const [serial, expected] of framings) {
  test(`a port is opened as its instrument wants it: ${expected}`, async (t) => {
    const [near, far] = [await opened(t, host, serial), await opened(t, instrument, serial)]
    assert.equal(framing(host), expected)
    const there = reading(far)
    near.write(Buffer.from('IN_NAME \r\n'))
    await until('the words are there', () => there.text === 'IN_NAME \r\n')
  })
}

test('the speed of a real port changes after what was written has gone out, and is what it was at the next opening', async (t) => {
  const [near, far] = [await opened(t, host, { baud: 9600 }), await opened(t, instrument, { baud: 9600 })]
  const there = reading(far)
  near.write(Buffer.alloc(2000, 'before '))
  await near.setBaud(57_600)
  assert.match(framing(host), /^57600 baud/)
  await until('all of it is there', () => there.text.length === 2000)
  await near.close()
  await near.open()
  assert.match(framing(host), /^9600 baud/)
})

test('modem lines of a real port are raised by opening, and set one by one', async (t) => {
  const near = await opened(t, host, { baud: 9600 })
  const outputs = () => raised(host).filter((line) => line === 'RTS' || line === 'DTR')
  assert.deepEqual(outputs(), ['RTS', 'DTR'])
  assert.equal(await near.setModem({ rts: false }), true)
  assert.deepEqual(outputs(), ['DTR'])
  assert.equal(await near.setModem({ dtr: false }), true)
  assert.deepEqual(outputs(), [])
  assert.equal(await near.setModem({ rts: true }), true)
  assert.deepEqual(outputs(), ['RTS'])
})

test('a real port has one opener; the second is told so', async (t) => {
  const near = await opened(t, host, { baud: 9600 })
  await assert.rejects(serialPort({ path: host, serial: { baud: 9600 } }).open(), { code: 'disconnected', message: /another program has/ })
  assert.equal(near.state, 'open')
})

test('a BioShake at the end of a real cable locks, shakes and halts', async (t) => {
  const simulator = await instrumentAt(t, instrument, bioshake, { model: '3000-T elm', acceleration: null })
  const line = await opened(t, host, bioshake.serial)
  const device = bioshake.open({ line, clock: systemClock, settings: { model: '3000-T elm', acceleration: null } })
  const { identity } = await device.initialize({}, calm)
  assert.match(String(identity?.model), /^BIOSHAKE 3000-T elm/)
  await device.lock_plate?.({}, calm)
  const going = new AbortController()
  const shaking = assert.rejects(device.shake!({ speed: 500, duration: 600 }, going.signal))
  await until('it shakes', () => simulator.world.moving)
  const halted = device.halt()
  going.abort(new Error('stopped'))
  await halted
  await shaking
  await until('it stands', () => !simulator.world.moving)
})

test('an IKA shaker, which takes seven bits and even parity, is initialized over a real cable', async (t) => {
  await instrumentAt(t, instrument, ika, { model: 'MATRIX ORBITAL' })
  const line = await opened(t, host, ika.serial)
  const device = ika.open({ line, clock: systemClock, settings: { model: 'MATRIX ORBITAL' } })
  const { identity } = await device.initialize({}, calm)
  assert.match(String(identity?.model), /MATRIX/)
  assert.equal(framing(host), '9600 baud parenb -parodd cs7 -cstopb')
})
