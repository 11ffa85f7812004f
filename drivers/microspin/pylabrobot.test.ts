// PyLabRobot and the MicroSpin: its own class drives our simulator, and our driver its stand-in of the instrument. PYLABROBOT names a checkout of it.

import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { test } from 'tap'
import * as v from 'valibot'
import { scaled, sleep, systemClock } from '../../src/kit/clock.ts'
import { calm } from '../../src/testing/drivers.ts'
import { networkLine } from '../attach.ts'
import { serveOnTcp } from '../serve.ts'
import { driver } from './driver.ts'

const checkout = process.env.PYLABROBOT
const skip = checkout ? false : 'PYLABROBOT names no checkout of PyLabRobot'
// Tests run from `dist`.
const script = fileURLToPath(new URL('../../../drivers/microspin/pylabrobot.test.py', import.meta.url))

test('PyLabRobot homes the simulator, opens it, spins, and aborts over a second connection', { skip }, async (t) => {
  const served = await serveOnTcp(driver, {}, { port: 0, time_scale: 60 })
  t.teardown(() => served.close())
  const { stdout } = await promisify(execFile)('python3', [script, checkout!, `${served.port}`])
  t.same(JSON.parse(stdout.trim().split('\n').at(-1)!), {
    ...{ homed_before: false, refused: '-12: device is not homed', homed: true, serial: 'SIM-0001', open: '19242', spun: 'ok' },
    ...{ closed: '-258', homed_meanwhile: true, ended: 'aborted', latched: 'aborted', rests: ['Door Position', 'Spindle Position'] },
    ...{ again: 'ok', errors: 1 },
  })
  t.match(served.simulator.world, { moving: false, homed: true, latched: false })
})

/** The stand-in of PyLabRobot spins for 5 ms in a second that it is asked for. */
const pace = 300

test('the driver initializes the stand-in of PyLabRobot, opens it, spins and stops it, and waits while another client spins', {
  skip,
}, async (t) => {
  const module = 'pylabrobot.legacy.centrifuge.highres.mock_server'
  const standIn = spawn('python3', ['-u', '-m', module, '--port', '0'], { cwd: checkout, stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => standIn.kill('SIGKILL'))
  const [words] = (await once(createInterface({ input: standIn.stdout }), 'line')) as [string]
  const port = Number(/:(\d+) /.exec(words)![1])
  const line = networkLine(driver, { host: '127.0.0.1', port })
  const clock = scaled(systemClock, pace)
  const device = driver.open({ line, clock, settings: v.parse(driver.settings, {}) })
  t.teardown(() => line.close())
  await line.open()
  const { identity } = await device.initialize({}, calm)
  t.same(identity, { model: 'MicroSpin', serial_number: 'HRB-MOCK-0000001', firmware_version: 'MS-1.3.3-mock' })
  await device.open!({}, calm)
  await device.centrifuge!({ g: 500, duration: 60 }, calm)
  await device.close!({}, calm)
  await device.check()

  const spinning = device.centrifuge!({ g: 500, duration: 3000 }, calm)
  spinning.catch(() => undefined)
  await sleep(clock, 60_000)
  await device.halt()
  await t.rejects(spinning, { code: 'stopped' })
  await t.rejects(device.open!({}, calm), { code: 'device_failed', message: /was stopped at its front panel, or by another client/ })
  await device.initialize({}, calm)
  await device.open!({}, calm)

  const other = connect(port, '127.0.0.1')
  t.teardown(() => other.destroy())
  other.write('spin 500 50 50 3600\r\n')
  await once(other, 'data')
  await t.rejects(device.initialize({}, calm), { code: 'interlock', message: /it moves/ })
  await device.halt()
  await device.initialize({}, calm)
})
