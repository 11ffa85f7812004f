// I2C parts on real buses: sensors, port expanders and throttles, and parts that are not there.

import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { beforeEach, test } from 'node:test'
import { Expanders } from '../../../drivers/parts/expanders.ts'
import { Mcp4725 } from '../../../drivers/parts/mcp4725.ts'
import { Pca9685 } from '../../../drivers/parts/pca9685.ts'
import { Thermometer } from '../../../drivers/parts/thermometer.ts'
import { i2cBus } from '../../../drivers/transports/i2c_bus.ts'
import { controller, getByte, registerFiles, setByte, setWord, written } from './i2c_parts.ts'
import { forget } from './kernel_trace.ts'

const at = { mcp9808: 0x18, mcp23017: 0x20, pcf8574: 0x27, pca9685: 0x40, tmp117: 0x48, mcp4725: 0x60 }
const files = registerFiles(Object.values(at))
const real = controller()
const bus = i2cBus(files)
const memory = 0x50

/** What was lost. */
let lost: string[] = []
const noted = (reason: string) => lost.push(reason)

beforeEach(() => {
  lost = []
  forget()
})

test('a TMP117 is known by its identity and read in degrees, below zero too', async () => {
  const thermometer = new Thermometer('tmp117', bus.device(at.tmp117))
  await assert.rejects(thermometer.mustBeThere(), { code: 'device_failed', message: /0x48 on I2C bus \d+ is no TMP117/ })
  setWord(files, at.tmp117, 0x0f, 0x1117)
  await thermometer.mustBeThere()
  setWord(files, at.tmp117, 0x00, 0x0c80)
  assert.equal(await thermometer.read(), 25)
  setWord(files, at.tmp117, 0x00, 0xff00)
  assert.equal(await thermometer.read(), -2)
})

test('a temperature that the part cannot measure is a fault of the sensor', async () => {
  setWord(files, at.tmp117, 0x00, 0x8000)
  await assert.rejects(new Thermometer('tmp117', bus.device(at.tmp117)).read(), { code: 'device_failed', message: /cannot measure/ })
})

test('an MCP9808 is known by its identity and read in degrees, below zero too', async () => {
  const thermometer = new Thermometer('mcp9808', bus.device(at.mcp9808))
  await assert.rejects(thermometer.mustBeThere(), { code: 'device_failed' })
  setWord(files, at.mcp9808, 0x06, 0x0054)
  setWord(files, at.mcp9808, 0x07, 0x0400)
  await thermometer.mustBeThere()
  setWord(files, at.mcp9808, 0x05, 0xc194)
  assert.equal(await thermometer.read(), 25.25)
  setWord(files, at.mcp9808, 0x05, 0x1ff0)
  assert.equal(await thermometer.read(), -1)
})

test('a relay on an MCP23017 that is on at the low level is off before its pin is an output', async () => {
  for (const register of [0x00, 0x01]) setByte(files, at.mcp23017, register, 0xff)
  setByte(files, at.mcp23017, 0x14, 0x04)
  const place = { part: 'mcp23017', bus: files, address: at.mcp23017 } as const
  forget()
  const relay = await new Expanders(() => bus).at(place).open('A0', { mode: 'out', active_low: true }, noted)
  const all = written(files, at.mcp23017)
  assert.deepEqual([all[0], all.at(-1)], ['14: 05', '0: fe'])
  assert.equal(await relay.read(), false)
  await relay.write(true)
  assert.equal(getByte(files, at.mcp23017, 0x14), 0x04)
  assert.equal(await relay.read(), true)
  const off = relay.writeNow(false)
  assert.equal(getByte(files, at.mcp23017, 0x14), 0x05, 'before the answer')
  await off
})

test('a switch on an MCP23017 is read as it is wired, and other pins stay as they are', async () => {
  setByte(files, at.mcp23017, 0x01, 0xff)
  const place = { part: 'mcp23017', bus: files, address: at.mcp23017 } as const
  const lid = await new Expanders(() => bus).at(place).open('B3', { mode: 'in', active_low: true, pull: 'up' }, noted)
  assert.equal(getByte(files, at.mcp23017, 0x0d), 0x08)
  assert.equal(await lid.read(), true)
  setByte(files, at.mcp23017, 0x13, 0x08)
  assert.equal(await lid.read(), false)
  assert.equal(getByte(files, at.mcp23017, 0x01), 0xff)
})

test('an MCP23017 that lost its supply is found out', async () => {
  const place = { part: 'mcp23017', bus: files, address: at.mcp23017 } as const
  const relay = await new Expanders(() => bus).at(place).open('A1', { mode: 'out', active_low: false }, noted)
  await relay.write(true)
  setByte(files, at.mcp23017, 0x00, 0xff)
  setByte(files, at.mcp23017, 0x14, 0x00)
  await assert.rejects(relay.read(), { code: 'device_failed', message: /it was reset/ })
  assert.equal(lost.length, 1)
})

test('a PCF8574 is sent bytes without a register', async () => {
  const place = { part: 'pcf8574', bus: files, address: at.pcf8574 } as const
  const relay = await new Expanders(() => bus).at(place).open('P7', { mode: 'out', active_low: false }, noted)
  await relay.write(true)
  await relay.writeNow(false)
  const levels = written(files, at.pcf8574).map((entry) => Number.parseInt(entry, 16) & 0x80)
  // A stop is written once more when nothing can come after it.
  assert.deepEqual(levels, [0, 0x80, 0, 0])
})

test('a PCA9685 is prepared at nothing, set, and seen to have lost what it was set to', async () => {
  const throttle = new Pca9685(bus.device(at.pca9685), 2)
  await throttle.prepare()
  assert.equal(getByte(files, at.pca9685, 0x11), 0x10)
  await throttle.set(0.5)
  assert.deepEqual([getByte(files, at.pca9685, 0x10), getByte(files, at.pca9685, 0x11)], [0x00, 0x08])
  await throttle.mustHold()
  const off = throttle.offNow()
  assert.equal(getByte(files, at.pca9685, 0x11), 0x10, 'before the answer')
  await off
  setByte(files, at.pca9685, 0x00, 0x11)
  await assert.rejects(throttle.mustHold(), { code: 'device_failed', message: /it was reset/ })
})

test('an MCP4725 is sent its two bytes; an adapter that cannot read them back is named', async () => {
  const throttle = new Mcp4725(bus.device(at.mcp4725))
  await throttle.set(1)
  await throttle.offNow()
  assert.deepEqual(written(files, at.mcp4725), ['f: ff', '0: 00', '0: 00'])
  await assert.rejects(throttle.mustHold(), { code: 'device_failed', message: /knows SMBus alone/ })
})

test('a part that does not answer is named, and the others on its bus go on', async () => {
  const bus = i2cBus(real)
  const there = bus.device(memory)
  await there.writeByte(3, 0x5a)
  const missing = new Thermometer('tmp117', bus.device(0x48))
  const [said, read] = await Promise.allSettled([missing.read(), there.readByte(3)])
  assert.ok(said.status === 'rejected')
  assert.equal(said.reason.code, 'no_reply')
  assert.match(said.reason.message, /^nothing answers at 0x48 on I2C bus \d+; see its power/)
  assert.deepEqual(read, { status: 'fulfilled', value: 0x5a })
  await assert.rejects(bus.device(0x48).writeByte(0, 0), { code: 'no_reply' })
  assert.throws(() => bus.device(0x48).writeNow(() => ({ verb: 'write_byte', register: 0, value: 0 })), { code: 'stop_not_sent' })
  assert.equal(await there.readByte(3), 0x5a)
})

test('a part that a driver of the kernel has is left to it', async () => {
  writeFileSync(`/sys/bus/i2c/devices/i2c-${real}/new_device`, `dummy 0x${(memory + 1).toString(16)}`)
  await assert.rejects(
    i2cBus(real)
      .device(memory + 1)
      .readByte(0),
    { code: 'device_failed', message: /a driver of the kernel has/ },
  )
})

test('a bus that is not there is told so at its opening', async () => {
  await assert.rejects(i2cBus(77).open(), { code: 'disconnected', message: /^there is no \/dev\/i2c-77/ })
})
