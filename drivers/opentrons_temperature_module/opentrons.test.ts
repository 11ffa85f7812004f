// Opentrons' driver for the Temperature Module uses our simulator, and our driver uses Opentrons' emulator: OPENTRONS names a checkout.

import { test } from 'tap'
import { calm } from '../../src/testing/drivers.ts'
import { drivenByOpentrons, noCheckout, noClient, onEmulator } from '../../src/testing/opentrons.ts'
import { serveOnPty } from '../serve.ts'
import { driver } from './driver.ts'

test('Opentrons identifies the simulator, heats it, cools it and switches it off', { skip: noClient }, async (t) => {
  const served = await serveOnPty(driver, {}, { time_scale: 20 })
  t.teardown(() => served.close())
  t.match(await drivenByOpentrons('temperature_module', served.path), {
    info: { serial: 'SIM-0001', model: 'temp_deck_v20', version: 'v0.0.0-simulated' },
    ...{ idle: { current: 22, target: null }, set: { target: 60 }, off: { target: null }, cold: { target: 4 } },
  })
  t.match(served.simulator.world, { heating: false })
})

test('our driver uses the emulator of Opentrons', { skip: noCheckout }, async (t) => {
  const device = await onEmulator(t, driver, { module: 'temperature_module', time_scale: 20 })
  t.same(await device.initialize({}, calm), {
    identity: { model: 'Temperature Module GEN2 (temp_deck_v20)', serial_number: 'emulator', firmware_version: 'v2.0.1' },
  })
  t.same(await device.get_temperature!(), { temperature: 23, target: null })
  await device.set_temperature!({ temperature: 37.5 }, calm)
  for (let looks = 0; looks < 10; looks++) await device.check()
  t.same(await device.get_temperature!(), { temperature: 37.5, target: 37.5 })
  await device.set_temperature!({ temperature: null }, calm)
  t.match(await device.get_temperature!(), { target: null })
  await device.set_temperature!({ temperature: 4 }, calm)
  await device.halt()
  t.match(await device.get_temperature!(), { target: null })
})
