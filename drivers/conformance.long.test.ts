// Every driver of the catalogue, on its simulator, in virtual time.

import { test } from 'tap'
import { keepsPromises, settingsOf, tellsErrors } from '../src/conformance/suite.ts'
import type { AnyDriver } from './driver.ts'
import { driverNames, drivers } from './index.ts'

for (const name of driverNames) {
  const driver: AnyDriver = await drivers[name]()
  for (const settings of settingsOf(driver))
    test(`${name} ${JSON.stringify(settings)} keeps what every driver promises`, (t) => keepsPromises(t, driver, settings))
}

for (const name of driverNames) {
  test(`${name} tells the errors that its instrument numbers in words, with what to do`, async (t) => {
    tellsErrors(t, await drivers[name](), name)
  })
}
