// The service as a process of its own, on real ports and pins: what becomes of them when it is killed, and when a cable is pulled out.

import assert from 'node:assert/strict'
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { driver as bioshake } from '../../../drivers/bioshake/driver.ts'
import { ask } from '../../../src/cli/client.ts'
import { GpioChip } from './gpio_chip.ts'
import { registerFiles } from './i2c_parts.ts'
import { instrumentAt } from './serial_lines.ts'
import { adapter, farEnd, plugIn, unplug } from './usb_adapter.ts'
import { until } from './waiting.ts'

const run = promisify(execFile)
const program = fileURLToPath(new URL('../../../bundle/main.js', import.meta.url))
const [enable, lid] = [17, 27]

afterEach(async () => {
  if (!existsSync(adapter)) await plugIn()
})

type State = { state: string; fault: { message: string } | null }

class Service {
  readonly #folder = mkdtempSync(join(tmpdir(), 'benchd-'))
  readonly places = ['--config', `${this.#folder}/config.json`, '--data-dir', `${this.#folder}/data`]

  constructor(device: object) {
    const config = { format: 1, listen: { host: '127.0.0.1', port: 0 }, devices: [{ device_id: 'shaker-1', ...device }] }
    writeFileSync(`${this.#folder}/config.json`, JSON.stringify(config))
  }

  /** Resolves when it listens. It is killed at the end of the test. */
  async start(t: TestContext): Promise<ChildProcess> {
    const child = spawn(process.execPath, [program, 'serve', ...this.places], { stdio: ['ignore', 'pipe', 'inherit'] })
    t.after(() => child.kill('SIGKILL'))
    for await (const line of createInterface({ input: child.stdout })) if (line.includes('listens on')) break
    child.stdout.resume()
    return child
  }

  call(operation: string, body: object = {}): Promise<unknown> {
    return ask({ socket_of: `${this.#folder}/data` }, 'POST', `/api/devices/shaker-1/${operation}`, body)
  }

  device(): Promise<State> {
    return ask({ socket_of: `${this.#folder}/data` }, 'GET', '/api/devices/shaker-1')
  }

  /** What it says, well or not. */
  async safeOff(): Promise<string> {
    const ended = run(process.execPath, [program, 'safe-off', ...this.places])
    return (await ended.catch((error: { stdout: string }) => error)).stdout
  }
}

test('pins that were on when the service was killed are off after `benchd safe-off`, and nothing clicks on at the next start', async (t) => {
  const chip = new GpioChip('pinctrl-bcm2711', 58)
  chip.pull(enable, 'up')
  chip.pull(lid, 'down')
  const settings = {
    pins: { enable: { bcm: enable, active_low: true }, lid: { bcm: lid, active_low: true } },
    i2c: { speed: { part: 'pca9685', bus: registerFiles([0x40]), address: 0x40 } },
  }
  const service = new Service({ driver: 'gpio_shaker', transport: { kind: 'pins' }, settings })
  const first = await service.start(t)
  await until('it can be initialized', async () => (await service.device()).state === 'not_initialized')
  await service.call('initialize')
  assert.ok(chip.driven(enable).every(({ level }) => level === 1))
  service.call('shake', { speed: 500, duration: 600 }).catch(() => undefined)
  await until('it is on', () => chip.level(enable) === 0)
  first.kill('SIGKILL')
  await once(first, 'exit')
  assert.equal(chip.level(enable), 0, 'a pin of sysfs stays as it was')
  // In the guest the time that it gives itself may go by while it loads; then it says so, and is called again.
  await until('it is switched off', async () => (await service.safeOff()) === 'shaker-1 was left on; it is off\n')
  assert.equal(chip.level(enable), 1)

  const before = chip.driven(enable).length
  const second = await service.start(t)
  await until('it can be initialized', async () => ['not_initialized', 'faulted', 'stopped'].includes((await service.device()).state))
  assert.ok(
    chip
      .driven(enable)
      .slice(before)
      .every(({ level }) => level === 1),
  )
  assert.equal(chip.level(enable), 1)
  second.kill()
  await once(second, 'exit')
})

test('an adapter that is pulled out in a run is noticed at once, comes back by its name, and moves nothing until it is initialized', async (t) => {
  const simulator = await instrumentAt(t, farEnd, bioshake, { model: '3000-T elm', acceleration: null })
  const service = new Service({ driver: 'bioshake', transport: { kind: 'serial', path: adapter } })
  const child = await service.start(t)
  await until('it can be initialized', async () => (await service.device()).state === 'not_initialized')
  await service.call('initialize')
  await service.call('lock_plate')
  const shaking = assert.rejects(service.call('shake', { speed: 500, duration: 600 }))
  await until('it shakes', () => simulator.world.moving)
  await unplug()
  const took = await until('it is noticed', async () => (await service.device()).state === 'disconnected', 2000)
  t.diagnostic(`noticed after ${took.toFixed(0)} ms`)
  await shaking
  await plugIn()
  const back = await until('it is back', async () => (await service.device()).state !== 'disconnected')
  t.diagnostic(`back ${back.toFixed(0)} ms after it was plugged in: ${JSON.stringify((await service.device()).fault)}`)
  await assert.rejects(service.call('shake', { speed: 500, duration: 1 }))
  await service.call('stop')
  await until('it stands', () => !simulator.world.moving)
  await service.call('initialize')
  assert.equal((await service.device()).state, 'ready')
  child.kill()
  await once(child, 'exit')
})
