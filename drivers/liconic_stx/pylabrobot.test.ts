// PyLabRobot's own class for the Liconic STX drives our simulator: PYLABROBOT names a checkout of it.

import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { test } from 'tap'
import { serveOnPty } from '../serve.ts'
import { driver } from './driver.ts'

const checkout = process.env.PYLABROBOT
// Tests run from `dist`.
const script = fileURLToPath(new URL('../../../drivers/liconic_stx/pylabrobot.test.py', import.meta.url))
const settings = { racks: [{ slots: 22 }, { slots: 10 }], shaker: true, speed_unit: '0.1 Hz' }

test('PyLabRobot sets the simulator up, stores and fetches a plate with it, sets its climate, and is refused by it', {
  skip: checkout ? false : 'PYLABROBOT names no checkout of PyLabRobot',
}, async (t) => {
  const served = await serveOnPty(driver, settings, { time_scale: 20 })
  t.teardown(() => served.close())
  const { places } = served.simulator
  places!.put('station')
  const { stdout } = await promisify(execFile)('python3', [script, checkout!, served.path])
  const { temperature, ...rest } = JSON.parse(stdout.trim().split('\n').at(-1)!)
  t.ok(temperature >= 22 && temperature <= 37, 'a temperature')
  t.same(rest, {
    before: [true, false],
    stored: [false, false],
    written: ['00002', '00003', '01713', '00010'],
    fetched: [true, false],
    'station is taken': ['0', '1', '00013'],
    'its error': 'LiconicHandlerGeneralError',
    ...{ target: 30, humidity: 0.9, speed: 10 },
    unknown: ['LiconicControllerRelayError', 'LiconicControllerCommandError'],
  })
  t.same([places!.has('station'), places!.has(25)], [true, false])
})
