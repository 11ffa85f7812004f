// For tests: Opentrons' own drivers and emulators. OPENTRONS names a checkout of their repository; `python3` needs pyserial for the drivers.

import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import * as v from 'valibot'
import type { Driver } from '../../drivers/driver.ts'
import { tcpLine } from '../../drivers/transports/tcp_line.ts'
import type { Device } from '../devices/device.ts'
import { scaled } from '../kit/clock.ts'
import { stallFreeClock } from './drivers.ts'

const checkout = process.env.OPENTRONS
// Tests run from `dist`.
const script = fileURLToPath(new URL('../../../src/testing/opentrons.test.py', import.meta.url))

type OpentronsModule = 'temperature_module' | 'thermocycler'

/** Says why a test with an emulator cannot run here, or false. */
export const noCheckout = checkout ? false : 'OPENTRONS names no checkout of Opentrons'
/** Says why a test with a driver cannot run here, or false. */
export const noClient = noCheckout || (spawnSync('python3', ['-c', 'import serial']).status !== 0 && 'python3 has no pyserial')

/** Has Opentrons' driver use the module at a port, and returns what it reports. */
export async function drivenByOpentrons(module: OpentronsModule, port: string): Promise<Record<string, unknown>> {
  const { stdout } = await promisify(execFile)('python3', [script, checkout!, 'client', module, port])
  return JSON.parse(stdout.trim().split('\n').at(-1)!)
}

/** Connects our driver with Opentrons' emulator. Its time is `time_scale` times as fast as real time; the emulator has no time and counts questions. */
export async function onEmulator<Settings>(
  t: Test,
  driver: Driver<Settings>,
  { module, time_scale }: { module: OpentronsModule; time_scale: number },
): Promise<Device> {
  const child = spawn('python3', [script, checkout!, 'emulate', module], { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'close')
  const failed = ended.then(() => Promise.reject(new Error('the emulator of Opentrons has ended')))
  const [port] = await Promise.race([once(createInterface({ input: child.stdout }), 'line'), failed])
  failed.catch(() => undefined)
  const realClock = stallFreeClock()
  const line = tcpLine({ host: '127.0.0.1', port: Number(port), serial: driver.serial, clock: realClock })
  t.teardown(async () => {
    await line.close()
    child.kill('SIGKILL')
    await ended
  })
  await line.open()
  return driver.open({ line, clock: scaled(realClock, time_scale), settings: v.parse(driver.settings, {}) })
}
