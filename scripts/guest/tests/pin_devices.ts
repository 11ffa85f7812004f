// The devices that hang on pins, on real ones: what their interlocks and their sensor do to their relays.

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, beforeEach, type TestContext, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import * as v from 'valibot'
import { attached } from '../../../drivers/attach.ts'
import type { PinsDriver } from '../../../drivers/driver.ts'
import { driver as sealer } from '../../../drivers/gpio_sealer/driver.ts'
import { driver as shaker } from '../../../drivers/gpio_shaker/driver.ts'
import { thisComputer } from '../../../drivers/transports/hardware.ts'
import type { Probe } from '../../../drivers/transports/pin.ts'
import { probeGpiod } from '../../../drivers/transports/pin_gpiod.ts'
import { probeOnoff } from '../../../drivers/transports/pin_onoff.ts'
import type { Device } from '../../../src/devices/device.ts'
import { systemClock } from '../../../src/kit/clock.ts'
import { calm } from '../../../src/testing/drivers.ts'
import { GpioChip } from './gpio_chip.ts'
import { getByte, registerFiles, setWord } from './i2c_parts.ts'
import { forget, now_ms } from './kernel_trace.ts'
import { until } from './waiting.ts'

const chip = new GpioChip('pinctrl-bcm2711', 58)
const at = { pca9685: 0x40, tmp117: 0x48 }
const bus = registerFiles(Object.values(at))
/** The high byte of a channel's OFF: 0x10 is off. */
const channelOff = 0x09

after(() => chip.remove())
beforeEach(() => forget())

/** How often what has to be quick is measured. */
const rounds = 5
/** From an interlock or a stop to the relay, on the clock of the guest, which the load of its host does not change. */
const limit_ms = 100

for (const name of ['onoff', 'gpiod'] as const) {
  const { probe, pins } = {
    onoff: { probe: probeOnoff, pins: { enable: 17, lid: 27 } },
    gpiod: { probe: probeGpiod, pins: { enable: 22, lid: 23 } },
  }[name]
  const settings = {
    pins: { enable: { bcm: pins.enable, active_low: true }, lid: { bcm: pins.lid, active_low: true } },
    i2c: { speed: { part: 'pca9685', bus, address: at.pca9685 } },
    coast_s: 0.5,
  }
  const open = (t: TestContext) => opened(t, { driver: shaker, settings: v.parse(shaker.settings, settings), probe })
  const turns = () => until('it turns', () => getByte(bus, at.pca9685, channelOff) !== 0x10)

  test(`${name}: nothing clicks on while a shaker is opened and initialized; a run ends as it should`, async (t) => {
    const device = await open(t)
    await device.initialize({}, calm)
    assert.ok(!levels(pins.enable).includes(0), 'its relay, which is on at the low level')
    const running = device.shake!({ speed: 500, duration: 1 }, calm)
    await until('it is on', () => chip.level(pins.enable) === 0)
    await running
    assert.equal(chip.level(pins.enable), 1)
    assert.equal(getByte(bus, at.pca9685, channelOff), 0x10)
  })

  test(`${name}: a lid that is opened in a run switches the motor off, and it stays off`, async (t) => {
    const device = await open(t)
    const times: number[] = []
    while (times.length < rounds) {
      await device.initialize({}, calm)
      const failed = assert.rejects(device.shake!({ speed: 500, duration: 600 }, calm), { code: 'device_failed', message: /its lid/ })
      await turns()
      const opened_ms = now_ms()
      chip.pull(pins.lid, 'up')
      await failed
      times.push((await offAt(pins.enable)) - opened_ms)
      assert.equal(getByte(bus, at.pca9685, channelOff), 0x10)
      chip.pull(pins.lid, 'down')
      await assert.rejects(device.check(), { code: 'device_failed', message: /its lid/ })
      assert.equal(chip.level(pins.enable), 1)
    }
    quick(t, times)
  })

  test(`${name}: in a run hardly a process is begun to look at the lid`, async (t) => {
    const device = await open(t)
    await device.initialize({}, calm)
    const failed = assert.rejects(device.shake!({ speed: 500, duration: 600 }, calm), { code: 'stopped' })
    await turns()
    const before = processesBegun()
    await pause(4000)
    const begun = processesBegun() - before
    t.diagnostic(`${begun} in 4 s`)
    assert.ok(begun <= 20)
    await device.halt()
    await failed
  })

  test(`${name}: a stop switches the motor off`, async (t) => {
    const device = await open(t)
    const times: number[] = []
    while (times.length < rounds) {
      await device.initialize({}, calm)
      const failed = assert.rejects(device.shake!({ speed: 500, duration: 600 }, calm), { code: 'stopped' })
      await turns()
      const stopped_ms = now_ms()
      await Promise.all([device.halt(), failed])
      times.push((await offAt(pins.enable)) - stopped_ms)
    }
    quick(t, times)
  })
}

const [heater, clamp, estop] = [5, 6, 19]

async function openedSealer(t: TestContext): Promise<Device> {
  setWord(bus, at.tmp117, 0x0f, 0x0117)
  setWord(bus, at.tmp117, 0x00, 0x0c80)
  const low = (bcm: number) => ({ bcm, active_low: true })
  const settings = {
    pins: { heater: low(heater), clamp: low(clamp), estop: low(estop) },
    i2c: { sensor: { bus, address: at.tmp117 } },
  }
  const device = await opened(t, { driver: sealer, settings: v.parse(sealer.settings, settings), probe: probeOnoff })
  await device.initialize({}, calm)
  assert.ok(!levels(heater).includes(0), 'its relay, which is on at the low level')
  return device
}

async function heats(device: Device): Promise<void> {
  await device.set_temperature!({ temperature: 150 }, calm)
  await until('it heats', () => chip.level(heater) === 0)
}

test('an emergency stop that is pressed switches a heater off', async (t) => {
  const device = await openedSealer(t)
  const times: number[] = []
  while (times.length < rounds) {
    await heats(device)
    const pressed_ms = now_ms()
    chip.pull(estop, 'up')
    times.push((await offAt(heater)) - pressed_ms)
    await assert.rejects(device.set_temperature!({ temperature: 150 }, calm))
    chip.pull(estop, 'down')
    await device.initialize({}, calm)
  }
  quick(t, times)
})

test('a sensor that says nonsense switches a heater off, and it stays off', async (t) => {
  const device = await openedSealer(t)
  await heats(device)
  setWord(bus, at.tmp117, 0x00, 0x8000)
  await until('it is off', () => chip.level(heater) === 1, 4000)
  await assert.rejects(device.check(), { code: 'device_failed' })
  assert.equal(chip.level(heater), 1)
})

/** Since the guest began, by whoever. */
function processesBegun(): number {
  return Number(/^processes (\d+)/m.exec(readFileSync('/proc/stat', 'utf8'))![1])
}

/** Most of the times are within the limit: a lid that opens while a new gpiomon is begun is seen later, see the README of the transports. */
function quick(t: TestContext, times: number[]): void {
  const words = `off after ${times.map((time) => time.toFixed(1)).join(', ')} ms`
  t.diagnostic(words)
  assert.ok(times.filter((time) => time <= limit_ms).length > rounds / 2, words)
}

type Way = { probe: () => Promise<Probe> }

/** A relay board pulls its inputs up: off. */
async function opened<Settings>(
  t: TestContext,
  { driver, settings, probe }: { driver: PinsDriver<Settings>; settings: Settings } & Way,
): Promise<Device> {
  for (const pin of Object.values(driver.plan(settings).pins)) {
    if ('bcm' in pin) chip.pull(pin.bcm, pin.mode === 'out' ? 'up' : 'down')
  }
  const hardware = thisComputer(async () => [await probe()])
  const { device, link } = attached(driver as PinsDriver, { transport: { kind: 'pins' }, settings, clock: systemClock, hardware })
  t.after(async () => {
    await device.halt().catch(() => undefined)
    await link.close()
  })
  await link.open()
  return device
}

function levels(line: number): number[] {
  return chip.driven(line).map(({ level }) => level)
}

/** When the relay, which is on at the low level, was driven off last. By the tools it floats before that, and its resistor has it off. */
async function offAt(line: number): Promise<number> {
  const off = () => {
    const all = chip.driven(line)
    return all[all.findLastIndex(({ level }) => level === 0) + 1]
  }
  await until('it is off', off)
  return off()!.at_ms
}
