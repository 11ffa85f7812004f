// Each part by its bytes: what a data sheet says is held against what goes over the wire.

import { test } from 'tap'
import { VirtualClock } from '../../src/kit/clock.ts'
import { type SimulatedChip, simulatedI2c } from '../transports/simulated_i2c.ts'
import { Expanders } from './expanders.ts'
import { simulatedThermometer, simulatedThrottle } from './simulated_parts.ts'
import { Thermometer, type ThermometerName } from './thermometer.ts'
import type { ThrottleName } from './throttle.ts'
import { throttle } from './throttles.ts'

const address = 0x20

/** A bus with one chip on it, and all that was written to it, in hex. */
function withChip(chip: SimulatedChip) {
  const clock = new VirtualClock()
  const { bus, put, setUnplugged } = simulatedI2c(1, clock)
  const written: string[] = []
  put(address, {
    write(bytes) {
      written.push(Buffer.from(bytes).toString('hex'))
      chip.write(bytes)
    },
    read: (length) => chip.read(length),
  })
  return { part: bus.device(address), bus, clock, written, setUnplugged }
}

/** A chip that answers each register with the same bytes. */
function answering(registers: Record<number, number[]>): SimulatedChip {
  let register = 0
  return {
    write([first = 0]) {
      register = first
    },
    read: (length) => Uint8Array.from(registers[register] ?? []).subarray(0, length),
  }
}

function thermometer(name: ThermometerName, registers: Record<number, number[]>) {
  const { part, clock } = withChip(answering(registers))
  const sensor = new Thermometer(name, part)
  return { read: () => clock.run(sensor.read()), mustBeThere: () => clock.run(sensor.mustBeThere()) }
}

test('a TMP117 has 7.8125 millidegrees a step, the high byte first', async (t) => {
  for (const [bytes, celsius] of [
    [[0x0c, 0x80], 25],
    [[0xff, 0x80], -1],
    [[0x4b, 0x00], 150],
    [[0xe4, 0x80], -55],
  ] as const) {
    t.equal(await thermometer('tmp117', { 0: [...bytes] }).read(), celsius)
  }
})

test('an MCP9808 has sixteenths, and flags above the sign', async (t) => {
  for (const [bytes, celsius] of [
    [[0xc1, 0x94], 25.25],
    [[0x1f, 0xf0], -1],
    [[0x07, 0xd0], 125],
  ] as const) {
    t.equal(await thermometer('mcp9808', { 5: [...bytes] }).read(), celsius)
  }
})

test('what a sensor cannot measure is a fault of the sensor', async (t) => {
  const notYet = thermometer('tmp117', { 0: [0x80, 0x00] })
  await t.rejects(notYet.read(), { code: 'device_failed', message: /0x20 on simulated I2C bus 1 says -256 °C, which it cannot measure/ })
  await t.rejects(thermometer('tmp117', { 0: [0x4b, 0x01] }).read(), { code: 'device_failed' })
  await t.rejects(thermometer('mcp9808', { 5: [0x07, 0xd1] }).read(), { code: 'device_failed' })
})

test('a sensor says what it is, and another one is refused', async (t) => {
  await t.resolves(thermometer('tmp117', { 15: [0x11, 0x17] }).mustBeThere())
  await t.rejects(thermometer('tmp117', { 15: [0x01, 0x16] }).mustBeThere(), { code: 'device_failed', message: /no TMP117: it says 0x116/ })
  await t.resolves(thermometer('mcp9808', { 6: [0x00, 0x54], 7: [0x04, 0x00] }).mustBeThere())
  await t.rejects(thermometer('mcp9808', { 6: [0x00, 0x54], 7: [0x05, 0x00] }).mustBeThere(), { code: 'device_failed' })
})

test('the simulated sensors say what these read', async (t) => {
  for (const name of ['tmp117', 'mcp9808'] as const) {
    const { part, clock } = withChip(simulatedThermometer(name, () => -12.5))
    const sensor = new Thermometer(name, part)
    await clock.run(sensor.mustBeThere())
    t.equal(await clock.run(sensor.read()), -12.5)
  }
})

function throttleOn(name: ThrottleName, channel = 0) {
  const chip = simulatedThrottle(name, channel, () => {})
  const bench = withChip(chip)
  return { ...bench, chip, motor: throttle(name, bench.part, channel) }
}

test('an MCP4725 takes its value in two bytes, and is written to nothing when it is prepared', async (t) => {
  const { motor, chip, clock, written } = throttleOn('mcp4725')
  t.ok(chip.fraction > 0.49, 'as it comes from the factory')
  await clock.run(motor.prepare())
  t.equal(chip.fraction, 0)
  await clock.run(motor.set(1))
  await clock.run(motor.set(0.5))
  t.same(written, ['0000', '0fff', '0800'])
})

test('a PCA9685 has its outputs off before it wakes, and one more write sets a channel', async (t) => {
  const { motor, chip, clock, written } = throttleOn('pca9685', 2)
  await clock.run(motor.prepare())
  const sent = written.filter((bytes) => bytes.length > 2)
  t.same(sent, ['0030', '0e00000010', 'fe05', '0104', '0020'])
  await clock.run(motor.set(0.25))
  t.equal(written.at(-1), '0e00000004')
  t.equal(chip.fraction, 0.25)
  await clock.run(motor.set(1))
  t.equal(chip.fraction, 1)
})

for (const name of ['mcp4725', 'pca9685'] as const) {
  test(`a stop sets a ${name} to nothing at once, whatever was under way or waits`, async (t) => {
    const { motor, chip, clock } = throttleOn(name)
    await clock.run(motor.prepare())
    await clock.run(motor.set(0.5))
    const setting = [motor.set(1), motor.set(0.75)]
    await clock.advance(0.1)
    const off = motor.offNow()
    t.equal(chip.fraction, 0)
    await clock.run(Promise.all([...setting, off]))
    t.equal(chip.fraction, 0)
  })

  test(`a ${name} whose supply dipped is found out`, async (t) => {
    const { motor, part, chip, clock } = throttleOn(name)
    await clock.run(motor.prepare())
    await clock.run(motor.set(0.5))
    await clock.run(motor.mustHold())
    if (name === 'mcp4725') chip.write(Uint8Array.of(0x01, 0x00))
    else await clock.run(part.writeByte(0, 0x10))
    await t.rejects(clock.run(motor.mustHold()), { code: 'device_failed', message: /it was reset|was reset/ })
  })
}

/** The registers of an MCP23017, or the port of a PCF8574. */
function expander(part: 'mcp23017' | 'pcf8574', powerUp: Record<number, number> = {}) {
  const registers = new Uint8Array(32)
  for (const [register, value] of Object.entries(powerUp)) registers[Number(register)] = value
  const bench = withChip({
    write([first = 0, ...values]) {
      if (part === 'pcf8574') registers[0] = first
      else registers.set(values, first)
      at = first
    },
    read: (length) => registers.subarray(part === 'pcf8574' ? 0 : at, (part === 'pcf8574' ? 0 : at) + length),
  })
  let at = 0
  const chip = new Expanders(() => bench.bus).at({ part, bus: 1, address })
  return { ...bench, registers, chip }
}

const relay = { mode: 'out', active_low: true } as const

test('an MCP23017 has the level in its latch before a pin is an output, and leaves the other pins alone', async (t) => {
  const { chip, clock, written } = expander('mcp23017', { 0: 0xff, 1: 0xfe, 21: 0x80 })
  await clock.run(chip.open('B3', relay))
  const writes = written.filter((bytes) => bytes.length > 2)
  t.same(writes, ['1588', '0d00', '01f6'])
})

test('a pin of an MCP23017 is set in the latch and read at the pin', async (t) => {
  const { chip, clock, registers } = expander('mcp23017', { 0: 0xff, 1: 0xff })
  const lock = await clock.run(chip.open('A7', relay))
  await clock.run(lock.write(true))
  t.equal(registers[0x14], 0x00)
  t.equal(await clock.run(lock.read()), true)
  const lid = await clock.run(chip.open('A0', { mode: 'in', active_low: true, pull: 'up' }))
  t.equal(registers[0x0c], 0x01)
  t.equal(await clock.run(lid.read()), true)
  registers[0x12] = 0x01
  t.equal(await clock.run(lid.read()), false)
})

for (const [part, pins, port] of [
  ['mcp23017', ['A0', 'A1'], 0x14],
  ['pcf8574', ['P0', 'P1'], 0],
] as const) {
  test(`a stop on one pin of a ${part} wins over writes that wait, and keeps those of others`, async (t) => {
    const { chip, clock, registers } = expander(part, part === 'mcp23017' ? { 0: 0xff } : { 0: 0xff })
    const [one, other] = [await clock.run(chip.open(pins[0], relay)), await clock.run(chip.open(pins[1], relay))]
    const writing = [one.write(true), other.write(true)]
    await clock.advance(0.05)
    const stopped = one.writeNow(false)
    t.equal(registers[port]! & 1, 1)
    await clock.run(Promise.all([...writing, stopped]))
    t.equal(registers[port]! & 3, 1)
  })

  test(`a ${part} that was reset counts as lost`, async (t) => {
    const { chip, clock, registers } = expander(part, { 0: 0xff })
    const lost: string[] = []
    const pin = await clock.run(chip.open(pins[0], relay, (reason) => lost.push(reason)))
    await clock.run(pin.write(true))
    await clock.run(pin.read())
    registers[0] = 0xff
    await t.rejects(clock.run(pin.read()), { code: 'device_failed', message: /was reset/ })
    t.match(lost, [/the expander 0x20 on simulated I2C bus 1 .* was reset; see its supply/])
  })
}

test('an MCP23017 that was reset pulls nothing up any more: its inputs are lost, too', async (t) => {
  const { chip, clock, registers } = expander('mcp23017', { 0: 0xff })
  const lost: string[] = []
  const lid = await clock.run(chip.open('A0', { mode: 'in', active_low: true, pull: 'up' }, (reason) => lost.push(reason)))
  await clock.run(lid.read())
  registers[0x0c] = 0
  await t.rejects(clock.run(lid.read()), { code: 'device_failed', message: /was reset/ })
  t.equal(lost.length, 1)
})

test('an input of an expander is looked at every 50 ms', async (t) => {
  const { chip, clock, registers } = expander('pcf8574', { 0: 0xff })
  const lid = await clock.run(chip.open('P4', { mode: 'in', active_low: true }))
  registers[0] = 0xef
  const seen: [number, boolean][] = []
  const end = lid.onEdge((active) => seen.push([Math.floor(clock.now()), active]))
  await clock.advance(20)
  registers[0] = 0xff
  await clock.advance(60)
  registers[0] = 0xef
  await clock.advance(50)
  t.same(
    seen.map(([, active]) => active),
    [false, true],
  )
  t.ok(seen[0]![0] <= 60)
  end()
  t.equal(clock.timers, 0)
})

test('two different parts at one address are refused', (t) => {
  const expanders = new Expanders(() => simulatedI2c(1, new VirtualClock()).bus)
  expanders.at({ part: 'mcp23017', bus: 1, address: 32 })
  t.throws(() => expanders.at({ part: 'pcf8574', bus: 1, address: 32 }), { code: 'config', message: /a mcp23017 and a pcf8574/ })
  t.end()
})

test('what a part does not answer is said once it was asked three times', async (t) => {
  const { part, clock, setUnplugged } = withChip(answering({}))
  setUnplugged(true)
  const reading = part.readByte(0)
  await t.rejects(clock.run(reading), { code: 'no_reply', message: /nothing answers at 0x20/ })
})
