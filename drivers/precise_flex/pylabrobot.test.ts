// PyLabRobot's own class for PreciseFlex robots drives our simulator: PYLABROBOT names a checkout of it.

import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { test } from 'tap'
import { serveOnTcp } from '../serve.ts'
import { driver } from './driver.ts'

const checkout = process.env.PYLABROBOT
// Tests run from `dist`.
const script = fileURLToPath(new URL('../../../drivers/precise_flex/pylabrobot.test.py', import.meta.url))

test('PyLabRobot sets the simulator up, moves, picks and places with it, is refused by it and stops it', {
  skip: checkout ? false : 'PYLABROBOT names no checkout of PyLabRobot',
}, async (t) => {
  const served = await serveOnTcp(driver, {}, { port: 0 })
  t.teardown(() => served.close())
  const { stdout } = await promisify(execFile)('python3', [script, checkout!, `${served.port}`])
  t.match(JSON.parse(stdout.trim().split('\n').at(-1)!), {
    ...{ state: 21, name: 'PF400 simulated', reach: 'extended', joints: [250, 30, 120], agrees: true, refused: -1012 },
    ...{ stopped: true, stands: true, short: true },
  })
  t.match(served.simulator.world, { powered: false, moving: false, gripper: 'empty' })
})
