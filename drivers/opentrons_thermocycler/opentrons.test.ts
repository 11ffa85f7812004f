// Opentrons' drivers for the Thermocycler use our simulators, and our driver uses Opentrons' emulator: OPENTRONS names a checkout.

import { test } from 'tap'
import { calm } from '../../src/testing/drivers.ts'
import { drivenByOpentrons, noCheckout, noClient, onEmulator } from '../../src/testing/opentrons.ts'
import { serveOnPty } from '../serve.ts'
import { driver } from './driver.ts'

const generations = {
  GEN1: { driver: 'ThermocyclerDriver', info: { model: 'v02' }, refused: /do not support/ },
  GEN2: { driver: 'ThermocyclerDriverV2', info: { model: 'Opentrons-thermocycler-gen2' }, refused: /ERR507/ },
} as const

for (const [model, expected] of Object.entries(generations)) {
  test(`Opentrons tells that the simulator is ${model}, moves its lid, holds a temperature, heats the lid and switches it off`, {
    skip: noClient,
  }, async (t) => {
    const served = await serveOnPty(driver, { model }, { time_scale: 20 })
    t.teardown(() => served.close())
    t.match(await drivenByOpentrons('thermocycler', served.path), {
      ...expected,
      info: { ...expected.info, serial: 'SIM-0001', version: 'v0.0.0-simulated' },
      lids: ['CLOSED', 'OPEN', 'CLOSED'],
      ...{ idle: { current: 22, target: null, hold: null }, held: { target: 50 }, falls: true, reached: true },
      ...{ lid: 105, block_off: null, lid_on: 105, lid_off: null },
    })
    t.match(served.simulator.world, { heating: false, moving: false, lid: 'closed' })
  })
}

test('our driver uses the emulator of Opentrons, a GEN1', { skip: noCheckout }, async (t) => {
  const device = await onEmulator(t, driver, { module: 'thermocycler', time_scale: 20 })
  t.same(await device.initialize({}, calm), {
    identity: { model: 'Thermocycler GEN1 (v02)', serial_number: 'emulator', firmware_version: 'v2.0.1' },
  })
  await device.close!({}, calm)
  await device.set_lid_temperature!({ lid_temperature: 45 }, calm)
  const steps = [
    { temperature: 60, seconds: 3 },
    { temperature: 40, seconds: 2 },
  ]
  await device.run_profile!({ steps, repetitions: 2 }, calm)
  t.same(await device.get_temperature!(), { temperature: 40, target: 40 })
  t.same(await device.get_lid_temperature!(), { lid_temperature: 45, target: 45 })
  await device.set_temperature!({ temperature: null }, calm)
  t.match(await device.get_temperature!(), { target: null })
  t.match(await device.get_lid_temperature!(), { target: 45 })
  await device.open!({}, calm)
  await t.rejects(device.run_profile!({ steps, repetitions: 1 }, calm), { code: 'interlock', message: /close the lid first/ })
  await device.halt()
  t.match(await device.get_lid_temperature!(), { target: null })
})
