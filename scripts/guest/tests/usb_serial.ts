// A USB serial adapter that is pulled out and plugged in again, idle and in the middle of things.

import assert from 'node:assert/strict'
import { existsSync, realpathSync } from 'node:fs'
import { afterEach, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { driver as bioshake } from '../../../drivers/bioshake/driver.ts'
import type { Line } from '../../../drivers/transports/line.ts'
import { portWarning } from '../../../drivers/transports/port_path.ts'
import { systemClock } from '../../../src/kit/clock.ts'
import { calm } from '../../../src/testing/drivers.ts'
import { framing, instrumentAt, opened, reading } from './serial_lines.ts'
import { adapter, farEnd, plugIn, unplug } from './usb_adapter.ts'
import { until } from './waiting.ts'

const serial = { baud: 9600 }

afterEach(async () => {
  if (!existsSync(adapter)) await plugIn()
})

/** What a line says each time it is lost. */
function losses(line: Line): string[] {
  const reasons: string[] = []
  line.onLost((reason) => reasons.push(reason))
  return reasons
}

test('an adapter that is named by a number is warned of, with the name that lasts', async () => {
  assert.equal(await portWarning(adapter), undefined)
  assert.match(String(await portWarning(realpathSync(adapter))), new RegExp(`; use ${adapter}, which stays the same`))
})

test('bytes cross an adapter, at seven bits too, and its modem lines can be set', async (t) => {
  const line = await opened(t, adapter, { baud: 9600, data_bits: 7, parity: 'even' })
  const far = await opened(t, farEnd, serial)
  const [there, back] = [reading(far), reading(line)]
  line.write(Buffer.from('IN_NAME \r\n'))
  far.write(Buffer.from('MATRIX ORBITAL\r\n'))
  await until('both have come', () => there.text === 'IN_NAME \r\n' && back.text === 'MATRIX ORBITAL\r\n')
  assert.equal(framing(adapter), '9600 baud parenb -parodd cs7 -cstopb')
  assert.equal(await line.setModem({ rts: false, dtr: false }), true)
})

test('an idle adapter that is unplugged is lost within two seconds, once', async (t) => {
  const line = await opened(t, adapter, serial)
  const lost = losses(line)
  await unplug()
  const took = await until('it is noticed', () => lost.length, 2000)
  t.diagnostic(`noticed after ${took.toFixed(0)} ms: ${lost[0]}`)
  assert.equal(line.state, 'lost')
  assert.throws(() => line.write(Buffer.from('shakeOn\r')), { code: 'disconnected' })
  await pause(1500)
  assert.equal(lost.length, 1)
})

for (const round of [1, 2, 3]) {
  test(`an adapter that is unplugged while it sends is lost within two seconds, and nothing spins afterwards (${round} of 3)`, async (t) => {
    const line = await opened(t, adapter, serial)
    const [lost, read] = [losses(line), reading(line)]
    const far = await opened(t, farEnd, { baud: 115_200 })
    const flood = setInterval(() => far.write(Buffer.alloc(32, 'status ')), 5)
    t.after(() => clearInterval(flood))
    await until('data comes in', () => read.text.length > round * 1000)
    await unplug()
    clearInterval(flood)
    const took = await until('it is noticed', () => lost.length, 2000)
    t.diagnostic(`noticed after ${took.toFixed(0)} ms: ${lost[0]}`)
    await line.close()
    const before = process.cpuUsage()
    await pause(1000)
    const { user, system } = process.cpuUsage(before)
    t.diagnostic(`${((user + system) / 10_000).toFixed(0)} % of a processor in the second after`)
    assert.ok(user + system < 500_000)
    // What is still on its way has to come out, or the far end takes half a minute to close.
    await plugIn()
    await line.open()
    await far.close()
    assert.equal(lost.length, 1)
  })
}

test('an adapter is opened again by its name, and nothing written before comes out of it then', async (t) => {
  const line = await opened(t, adapter, serial)
  const lost = losses(line)
  await unplug()
  await until('it is noticed', () => lost.length, 2000)
  assert.throws(() => line.write(Buffer.from('shakeOn\r')), { code: 'disconnected' })
  await assert.rejects(line.open(), { code: 'disconnected', message: /there is no/ })
  await plugIn()
  const far = await opened(t, farEnd, serial)
  const there = reading(far)
  await line.open()
  line.write(Buffer.from('getShakeState\r'))
  await until('the question is there', () => there.text.endsWith('getShakeState\r'))
  assert.equal(there.text, 'getShakeState\r')
  const back = reading(line)
  far.write(Buffer.from('3\r\n'))
  await until('the answer is there', () => back.text === '3\r\n')
  assert.equal(lost.length, 1)
})

test('a BioShake whose cable is pulled out in a run fails it, and is initialized again when it is back', async (t) => {
  const settings = { model: '3000-T elm', acceleration: null } as const
  const simulator = await instrumentAt(t, farEnd, bioshake, settings)
  const line = await opened(t, adapter, bioshake.serial)
  const device = bioshake.open({ line, clock: systemClock, settings })
  await device.initialize({}, calm)
  await device.lock_plate?.({}, calm)
  const shaking = device.shake!({ speed: 500, duration: 600 }, calm)
  shaking.catch(() => undefined)
  await until('it shakes', () => simulator.world.moving)
  await unplug()
  await assert.rejects(shaking, { code: 'disconnected' })
  await assert.rejects(async () => device.halt(), { code: 'stop_not_sent' })
  await plugIn()
  await line.open()
  await device.halt()
  await until('it stands', () => !simulator.world.moving)
  await device.initialize({}, calm)
})
