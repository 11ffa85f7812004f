// Every driver of the catalogue, on its simulator, in virtual time.

import { type Test, t, test } from 'tap'
import * as v from 'valibot'
import { conformance, conformanceInVirtualTime, type Subject } from './conformance.ts'
import type { Driver } from './driver.ts'
import { type DriverName, driverNames, drivers } from './index.ts'
import { onSimulator } from './testing.ts'

/** All drivers together take longer than tap gives a file. */
t.setTimeout(300_000)

/** Settings beside the defaults that change what a driver can do. */
const variants: Partial<Record<DriverName, object[]>> = {
  bioshake: [{ model: '3000' }, { model: 'Heatplate' }],
  ika_shaker: [{ model: 'KS 260 control' }],
  inheco_incubator_shaker: [{ model: 'MP' }],
  alps: [{ model: '5000' }],
  ultraseal: [{ model: 'XT Pro' }],
}

for (const name of driverNames) {
  for (const settings of [{}, ...(variants[name] ?? [])]) {
    test(`${name} ${JSON.stringify(settings)} keeps what every driver promises`, async (t) => {
      const driver = await drivers[name]()
      const make = () => subject(driver, settings)
      await conformance(t, make)
      await conformanceInVirtualTime(t, make)
      await leavesNoTimer(t, make)
    })
  }
}

async function subject(driver: Driver, settings: object): Promise<Subject & { timers(): number }> {
  const { device, line, clock, written, run } = await onSimulator(driver, settings)
  return {
    device,
    profile: driver.profile(v.parse(driver.settings, settings)),
    simulator: line.simulator,
    link: line,
    written,
    write: (bytes) => line.write(bytes),
    setFault: (fault) => line.setFault(fault),
    clearFaults: () => line.clearFaults(),
    run,
    pass: (ms) => clock.advance(ms),
    now: () => clock.now(),
    timers: () => clock.timers,
  }
}

async function leavesNoTimer(t: Test, make: () => Promise<Subject & { timers(): number }>): Promise<void> {
  for (const moment of [0, 1000, 120_000]) {
    await t.test(`switched off ${moment / 1000} s after it began to initialize, it leaves no timer`, async (t) => {
      const { device, simulator, pass, timers } = await make()
      const initializing = device.initialize({}, new AbortController().signal).catch(() => {})
      await pass(moment)
      simulator.powerOff()
      await pass(300_000)
      await initializing
      t.equal(timers(), 0)
    })
  }
}
