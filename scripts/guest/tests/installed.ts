// The package on a bench computer that has never seen it: installed, killed, hung, crashed again and again. What needs no hardware:
// administration.ts.
// Its tests are one story and run in this order. What they are about: service-test.sh.

import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, copyFileSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { driver as bioshake } from '../../../drivers/bioshake/driver.ts'
import { bridgesAreConfined } from './bridges.ts'
import { GpioChip } from './gpio_chip.ts'
import { registerFiles } from './i2c_parts.ts'
import { instrumentAt } from './serial_lines.ts'
import {
  benchd,
  dpkg,
  firstPackage,
  installedVersion,
  journal,
  nextPackage,
  property,
  service,
  systemctl,
  typed,
  version,
  whenBack,
} from './service_unit.ts'
import { adapter, farEnd } from './usb_adapter.ts'
import { until } from './waiting.ts'

const [enable, lid] = [17, 27]
const slow_ms = 120_000
/** In the guest, which is slow, the time that it gives itself may go by; the start after it then switches off. */
const toldBySafeOff = /shaker-1 (was left on; it is off|may still be on.*)/
let chip: GpioChip
let api_key = ''

type Device = { state: string; fault: { message: string } | null }
const device = (device_id: string) => service<Device>('GET', `/api/devices/${device_id}`)
const call = (device_id: string, operation: string, body: object = {}) => service('POST', `/api/devices/${device_id}/${operation}`, body)

/** Shakes for as long as the tests could take; resolves when its pin is on. */
async function shaking(): Promise<void> {
  await until('it is connected', async () => (await device('shaker-1')).state !== 'disconnected', slow_ms)
  if ((await device('shaker-1')).state !== 'ready') await call('shaker-1', 'initialize')
  call('shaker-1', 'shake', { speed: 500, duration: 3000 }).catch(() => undefined)
  await until('the pin is on', () => chip.level(enable) === 0, slow_ms)
}

test('the README leads from the package to the first shake, without a network, and the service is ready when apt is', async (t) => {
  const [, section = ''] = /^## On a Raspberry Pi\n(.*?)^## /ms.exec(readFileSync('/project/README.md', 'utf8')) ?? []
  const [, block = ''] = /```sh\n(.*?)```/s.exec(section) ?? []
  const [install = '', init = '', ...others] = block.trim().split('\n')
  const from = performance.now()
  const copied = '/root/copied'
  mkdirSync(copied)
  copyFileSync(firstPackage, `${copied}/${basename(firstPackage)}`)
  const said = await typed(install, copied)
  t.diagnostic(`installed and started in ${((performance.now() - from) / 1000).toFixed(1)} s`)
  assert.match(said, /benchd is running: http:[\s\S]*sudo benchd init/)
  assert.equal(property('ActiveState'), 'active')
  assert.deepEqual(await service('GET', '/api/devices'), { devices: [] })
  const { status } = await service<{ status: string }>('GET', '/health')
  assert.equal(status, 'ok')
  assert.equal(execFileSync('systemctl', ['is-enabled', 'benchd'], { encoding: 'utf8' }).trim(), 'enabled')

  const path = '/etc/benchd/config.json'
  const empty = readFileSync(path)
  // At its own pace: a run of ten seconds that ends sooner is a fault.
  const simulator = await instrumentAt(t, farEnd, bioshake, { model: '3000-T elm', acceleration: null }, 1)
  // Behind the end of the simulator: its port cannot be closed once nobody has the other end open.
  t.after(async () => {
    writeFileSync(path, empty)
    await systemctl('restart', 'benchd')
  })
  assert.match(await answered(init, (question) => (question.includes(adapter) ? 'bioshake' : '')), /devices shaker-1[\s\S]*: bk_/)
  await until('it is connected', async () => (await device('shaker-1')).state !== 'disconnected', slow_ms)
  assert.equal(others.length, 3)
  for (const command of others.slice(0, -1)) await typed(command)
  const shaken = typed(others.at(-1)!)
  await until('it shakes', () => simulator.world.moving, slow_ms)
  await shaken

  api_key = (await benchd('key', 'create', '--name', 'laptop', '--scope', 'operate')).stdout.trim()
  const answer = await fetch('http://127.0.0.1:8520/api/devices', { headers: { 'X-API-Key': api_key } })
  assert.equal(answer.status, 200)
})

/** A line of the README at a terminal, where somebody answers each question. */
async function answered(line: string, answer: (question: string) => string): Promise<string> {
  const child = spawn('script', ['-qec', line.replace('sudo ', ''), '/dev/null'], { stdio: ['pipe', 'pipe', 'inherit'] })
  const prompt = /leave it out: |by hand\): /g
  let [shown, read] = ['', 0]
  for await (const part of child.stdout) {
    shown += part
    for (prompt.lastIndex = read; prompt.test(shown); read = prompt.lastIndex)
      child.stdin.write(`${answer(shown.slice(read, prompt.lastIndex))}\n`)
  }
  return shown
}

test(
  'the program of a bridge has a user and a sandbox of its own, and is gone when it ends, eats memory, or the service ends',
  bridgesAreConfined,
)

test('it reaches pins, I2C, a USB adapter and pseudo-terminals under its own hardening, and nothing else', async () => {
  chip = new GpioChip('pinctrl-bcm2711', 58)
  chip.pull(enable, 'up')
  chip.pull(lid, 'down')
  const bus = registerFiles([0x40])
  const settings = {
    pins: { enable: { bcm: enable, active_low: true }, lid: { bcm: lid, active_low: true } },
    i2c: { speed: { part: 'pca9685', bus, address: 0x40 } },
  }
  const devices = [
    { device_id: 'shaker-1', driver: 'gpio_shaker', transport: { kind: 'pins' }, settings },
    { device_id: 'arm-1', driver: 'external' },
  ]
  writeFileSync('/etc/benchd/config.json', JSON.stringify({ format: 1, devices }))
  // Open to all by their modes, so that only the unit can be what forbids them.
  writeFileSync('/etc/open-to-all', '')
  for (const path of ['/etc/open-to-all', '/dev/ttyS4', '/dev/kmsg', '/dev/vda']) chmodSync(path, 0o666)
  const probe = fileURLToPath(new URL('probe.js', import.meta.url))
  mkdirSync('/etc/systemd/system/benchd.service.d', { recursive: true })
  writeFileSync(
    '/etc/systemd/system/benchd.service.d/probe.conf',
    `[Service]\nExecStartPre=/usr/bin/node ${probe} /dev/i2c-${bus} /dev/${chip.name} ${adapter} /dev/ptmx /dev/ttyS4 /dev/kmsg /dev/vda /etc/open-to-all /usr/lib/benchd/package.json\n`,
  )
  await systemctl('daemon-reload')
  await systemctl('restart', 'benchd')
  assert.deepEqual(JSON.parse(readFileSync('/var/lib/benchd/probe.json', 'utf8')), {
    [`/dev/i2c-${bus}`]: 'opened',
    [`/dev/${chip.name}`]: 'opened',
    [adapter]: 'opened',
    '/dev/ptmx': 'opened',
    '/dev/ttyS4': 'EPERM',
    '/dev/kmsg': 'EACCES',
    '/dev/vda': 'EPERM',
    '/etc/open-to-all': 'EROFS',
    '/usr/lib/benchd/package.json': 'EACCES',
  })
  rmSync('/etc/systemd/system/benchd.service.d', { recursive: true })
  await systemctl('daemon-reload')

  await shaking()
  await call('shaker-1', 'stop')
  await until('the pin is off', () => chip.level(enable) === 1, slow_ms)
})

test('after a SIGKILL in a run, safe-off has switched off what was on, and the service is back', async (t) => {
  await shaking()
  const before = property('MainPID')
  process.kill(Number(before), 'SIGKILL')
  const off = await until('the pin is off', () => chip.level(enable) === 1, slow_ms)
  const back = await whenBack(before)
  t.diagnostic(`off after ${(off / 1000).toFixed(1)} s, back after ${((off + back) / 1000).toFixed(1)} s`)
  assert.match(journal(), toldBySafeOff)
  assert.equal(property('NRestarts'), '1')
  assert.equal(chip.level(enable), 1)
})

test('a service that hangs in a run is ended by the watchdog, switched off and begun anew', async (t) => {
  await shaking()
  const before = property('MainPID')
  process.kill(Number(before), 'SIGSTOP')
  const off = await until('the pin is off', () => chip.level(enable) === 1, slow_ms)
  const back = await whenBack(before)
  t.diagnostic(`off after ${(off / 1000).toFixed(1)} s, back after ${((off + back) / 1000).toFixed(1)} s`)
  assert.match(journal(), /Watchdog timeout/)
  t.diagnostic(`safe-off: ${journal().match(new RegExp(toldBySafeOff, 'g'))?.join(' · ')}`)
  assert.equal(property('NRestarts'), '2')
})

test('what has broken off three times comes back in safe mode, and moves again when somebody has looked', async () => {
  const before = property('MainPID')
  process.kill(Number(before), 'SIGKILL')
  await whenBack(before)
  const health = () => service<{ status: string; reasons: string[] }>('GET', '/health')
  assert.deepEqual((await health()).reasons, ['safe_mode'])
  await assert.rejects(call('shaker-1', 'initialize'), /the service is in safe mode/)
  // Before its pins are open a stop cannot be sent.
  await until('it is connected', async () => (await device('shaker-1')).state !== 'disconnected', slow_ms)
  // Confirmed in time or not.
  await call('shaker-1', 'stop')
  const { incidents } = await service<{ incidents: { incident_id: string; message: string }[] }>('GET', '/api/incidents')
  const { incident_id } = incidents.find(({ message }) => message.startsWith('safe mode'))!
  await service('POST', `/api/incidents/${incident_id}/acknowledge`)
  assert.deepEqual((await health()).reasons, [])
  await call('shaker-1', 'initialize')
})

test('it ends in order within ten seconds while streams are open and a device runs', async (t) => {
  await shaking()
  const headers = { 'X-API-Key': api_key }
  const streams = await Promise.all(Array.from({ length: 5 }, () => fetch('http://127.0.0.1:8520/events/stream', { headers })))
  const ends = streams.map((stream) => stream.text().catch(() => 'cut'))
  const from = Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0])
  await systemctl('stop', 'benchd')
  const took = Number(property('ExecMainExitTimestampMonotonic')) / 1e6 - from
  t.diagnostic(`ended after ${took.toFixed(1)} s`)
  await Promise.all(ends)
  assert.equal(property('Result'), 'success', journal())
  assert.equal(property('ExecMainStatus'), '0')
  assert.ok(took < 10)
  assert.equal(chip.level(enable), 1)

  // What root makes while nobody serves must be the service's, or the next start cannot read it.
  await benchd('key', 'create', '--name', 'spare', '--scope', 'read')
  assert.equal(statSync('/var/lib/benchd/keys.json').uid, statSync('/var/lib/benchd').uid)
  await systemctl('start', 'benchd')
})

test('it is not upgraded in a run, and the run goes on', async () => {
  await shaking()
  const pid = property('MainPID')
  await assert.rejects(
    dpkg('--install', nextPackage),
    /not upgraded, because of what runs now; it goes on.*:\n {2}shaker-1 is busy: shake\n {2}wait for it/,
  )
  assert.equal(property('MainPID'), pid)
  assert.equal(chip.level(enable), 0)
  assert.equal(installedVersion(), `install ok installed ${version}`)
  await assert.rejects(benchd('update', nextPackage), { code: 5, stderr: /not now, because of what runs: shaker-1 is busy: shake/ })
  await call('shaker-1', 'stop')
})
