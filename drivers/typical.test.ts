// The typical times that drivers declare, against their simulators, in the simulators' own time.

import { type Test, test } from 'tap'
import { calm, onPins, onSimulator } from '../src/testing/drivers.ts'
import { isOnPins } from './driver.ts'
import { driverNames, drivers } from './index.ts'

const seal = { temperature: 150, duration: 3 }

function agree(t: Test, declared: number, seen: number, what: string): void {
  t.ok(Math.abs(declared - seen) <= Math.max(0.5, seen / 10), `${what}: ${declared} s are declared, and it takes ${seen} s`)
}

for (const name of driverNames) {
  test(`${name} takes as long to initialize and to heat as its driver declares`, async (t) => {
    const driver = await drivers[name]()
    const { device, clock, run } = isOnPins(driver) ? await onPins(driver) : await onSimulator(driver)
    const timed = async (operation: Promise<unknown>) => {
      const began = clock.now()
      await run(operation)
      return (clock.now() - began) / 1000
    }
    const { initialize_s, heating_s } = driver.typical
    agree(t, initialize_s, await timed(device.initialize({}, calm)), 'initialize')
    t.equal(heating_s !== undefined, device.seal !== undefined && device.get_temperature !== undefined)
    if (heating_s === undefined) return
    const { temperature } = await run(device.get_temperature!())
    const cold = await timed(device.seal!(seal, calm))
    const warm = await timed(device.seal!(seal, calm))
    agree(t, heating_s * (seal.temperature - temperature), cold - warm, 'heating')
  })
}
