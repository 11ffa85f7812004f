// Every driver of the catalogue, on its simulator, in virtual time.

import { type Test, test } from 'tap'
import * as v from 'valibot'
import { conformance, conformanceInVirtualTime, saysWhatToDo } from '../src/testing/drivers/conformance.ts'
import { conformanceOfHalts } from '../src/testing/drivers/halt_conformance.ts'
import { conformanceOfHeat } from '../src/testing/drivers/heat_conformance.ts'
import { conformanceOfIdling, conformanceOfRestarts } from '../src/testing/drivers/idle_conformance.ts'
import { conformanceOfStops } from '../src/testing/drivers/stop_conformance.ts'
import { type Timed, virtualSubject } from '../src/testing/drivers/virtual_subject.ts'
import { conformanceOnTheWire } from '../src/testing/drivers/wire_conformance.ts'
import type { AnyDriver } from './driver.ts'
import { driverNames, drivers } from './index.ts'
import { reports } from './reported.ts'

/** No instrument has an error of this number. */
const strange = 99_999

for (const name of driverNames) {
  const driver: AnyDriver = await drivers[name]()
  for (const settings of settingsOf(driver)) {
    test(`${name} ${JSON.stringify(settings)} keeps what every driver promises`, async (t) => {
      const make = () => virtualSubject(driver, settings)
      await conformance(t, make)
      await conformanceInVirtualTime(t, make)
      await conformanceOnTheWire(t, make)
      await conformanceOfStops(t, make)
      await conformanceOfHalts(t, driver, settings)
      await conformanceOfHeat(t, driver, settings)
      await conformanceOfIdling(t, driver, settings)
      await conformanceOfRestarts(t, driver, settings)
      await leavesNoTimer(t, make)
    })
  }
}

for (const name of driverNames) {
  test(`${name} tells the errors that its instrument numbers in words, with what to do`, async (t) => {
    const driver: AnyDriver = await drivers[name]()
    for (const settings of settingsOf(driver)) {
      const table = driver.errors?.(v.parse(driver.settings, settings))
      if (!table) continue
      for (const code of [...Object.keys(table.codes).map(Number), strange]) saysWhatToDo(t, reports(table, [code]), `${name} ${code}`)
      for (const [words, action] of Object.values(table.codes)) t.match([words, action], [/\w{2}/, /^[A-Z].*[^.]$/])
      t.match(reports(table, [strange]).message, new RegExp(`not known to benchd.*Look .*${strange} up in ${table.manual}`))
    }
  })
}

function settingsOf({ trial }: AnyDriver): readonly object[] {
  return [{}, ...(trial?.variants ?? [])]
}

async function leavesNoTimer(t: Test, make: () => Promise<Timed>): Promise<void> {
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
