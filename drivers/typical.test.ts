// The typical times that drivers declare, against their simulators, in the simulators' own time.

import { test } from 'tap'
import { takesAsDeclared } from '../src/conformance/suite.ts'
import { driverNames, drivers } from './index.ts'

for (const name of driverNames) {
  test(`${name} takes as long to initialize and to heat as its driver declares`, async (t) => takesAsDeclared(t, await drivers[name]()))
}
