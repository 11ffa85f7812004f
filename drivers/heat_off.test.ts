// Heat is switched off without an emergency stop, with every driver that heats.

import { test } from 'tap'
import { conformanceOfHeat } from '../src/conformance/heat_conformance.ts'
import { driverNames, drivers } from './index.ts'

for (const name of driverNames) test(name, async (t) => conformanceOfHeat(t, await drivers[name](), {}))
