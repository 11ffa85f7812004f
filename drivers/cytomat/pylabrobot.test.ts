// PyLabRobot's own class for the Cytomat drives our simulator: PYLABROBOT names a checkout of it.

import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { test } from 'tap'
import { serveOnPty } from '../serve.ts'
import { driver } from './driver.ts'

const checkout = process.env.PYLABROBOT
// Tests run from `dist`.
const script = fileURLToPath(new URL('../../../drivers/cytomat/pylabrobot.test.py', import.meta.url))

test('PyLabRobot sets the simulator up, stores and fetches a plate with it, shakes, and is refused by it', {
  skip: checkout ? false : 'PYLABROBOT names no checkout of PyLabRobot',
}, async (t) => {
  const served = await serveOnPty(driver, { model: 'Cytomat 2 C450 Shake' }, { time_scale: 20 })
  t.teardown(() => served.close())
  const { places } = served.simulator
  places!.put('station')
  const { stdout } = await promisify(execFile)('python3', [script, checkout!, served.path])
  const { temperature, ...rest } = JSON.parse(stdout.trim().split('\n').at(-1)!)
  t.ok(temperature >= 22 && temperature <= 37, 'a temperature')
  t.same(rest, {
    ...{ humidity: 95, co2: 5 },
    stored: [false, false, false, true],
    'nothing to store': 'CytomatTransferStationEmptyError',
    'no plate in the slot': 'CytomatNoMtpLoadedOnHandlerShovelError',
    fetched: [true, false, false],
    'station is taken': 'CytomatTransferStationOccupiedError',
    'no such slot': 'CytomatUnknownLocationError',
    ...{ gate: [true, false], waits: true, warning: 'NO_WARNING' },
  })
  t.same([places!.has('station'), places!.has(25)], [true, false])
})
