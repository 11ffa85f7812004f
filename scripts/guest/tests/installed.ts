// The package on a machine that has never seen it: installed, killed, hung, crashed again and again, upgraded, removed. Upgrades that are
// undone: upgrades.ts, cut.ts.
// Its tests are one story and run in this order. What they are about: service-test.sh.

import assert from 'node:assert/strict'
import { execFile, execFileSync, spawn } from 'node:child_process'
import { chmodSync, copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { driver as bioshake } from '../../../drivers/bioshake/driver.ts'
import { bridgesAreConfined } from './bridges.ts'
import { GpioChip } from './gpio_chip.ts'
import { registerFiles } from './i2c_parts.ts'
import { coordinatorIsInstalled } from './lab_coordinator.ts'
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
  version,
  whenBack,
} from './service_unit.ts'
import { adapter, farEnd } from './usb_adapter.ts'
import { until } from './waiting.ts'

const run = promisify(execFile)
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
  mkdirSync('/root/copied')
  copyFileSync(firstPackage, `/root/copied/${basename(firstPackage)}`)
  const said = await typed(install)
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

/** A line of the README, in the folder of the copied package. Who is root here needs no sudo. */
async function typed(line: string): Promise<string> {
  const env = { ...process.env, LC_ALL: 'C', DEBIAN_FRONTEND: 'noninteractive', USER: 'root' }
  const options = { cwd: '/root/copied', env }
  const { stdout, stderr } = await run('bash', ['-c', `sudo() { "$@"; }\n${line}`], options).catch(
    (error: { stdout: string; stderr: string }) => {
      throw new Error(`${line}\n${error.stdout}${error.stderr}`)
    },
  )
  return stdout + stderr
}

/** A line of the README at a terminal, where somebody answers each question. */
async function answered(line: string, answer: (question: string) => string): Promise<string> {
  const child = spawn('script', ['-qec', line.replace('sudo ', ''), '/dev/null'], { stdio: ['pipe', 'pipe', 'inherit'] })
  let [shown, read] = ['', 0]
  for await (const part of child.stdout) {
    shown += part
    for (let end = shown.indexOf('leave it out: ', read); end >= 0; end = shown.indexOf('leave it out: ', read)) {
      child.stdin.write(`${answer(shown.slice(read, end))}\n`)
      read = end + 'leave it out: '.length
    }
  }
  return shown
}

test('a member of the group needs no key, and nobody else gets in', async () => {
  const gid = execFileSync('getent', ['group', 'benchd'], { encoding: 'utf8' }).split(':')[2]!
  const as = (group: string) => run('setpriv', ['--reuid=12345', `--regid=${group}`, '--clear-groups', 'benchd', 'key', 'list'])
  assert.match((await as(gid)).stdout, /laptop/)
  await assert.rejects(as('12345'), { code: 4, stderr: /be a member of the group benchd/ })
})

test('the doctor finds nothing that fails on it, and a stranger is told what he may not see', async () => {
  type Found = { findings: { check: string; level: string; finding: string; fix?: string }[] }
  const { findings } = JSON.parse((await benchd('doctor', '--json')).stdout) as Found
  assert.deepEqual(
    findings.filter(({ level }) => level === 'FAIL'),
    [],
  )
  assert.match(findings.find(({ check }) => check === 'tls')?.fix ?? '', /^sudo \/usr\/lib\/benchd\/make-cert\.sh /)
  // The native modules in the package were compiled on another machine than the guest.
  const native = findings.filter(({ check }) => check === 'modules')
  assert.deepEqual(
    native.map(({ level, finding }) => [level, finding]),
    [['OK', 'serialport, onoff, i2c-bus load']],
  )
  for (const check of ['service', 'config', 'storage', 'keys']) {
    assert.ok(
      findings.some((one) => one.check === check && one.level === 'OK'),
      check,
    )
  }
  assert.match(findings.find(({ check }) => check === 'service')?.finding ?? '', /systemd says active, 0 restarts$/)
  const stranger = await run('setpriv', ['--reuid=12345', '--regid=12345', '--clear-groups', 'benchd', 'doctor', '--json'])
  const seen = (JSON.parse(stranger.stdout) as Found).findings
  assert.match(seen.find(({ check }) => check === 'service')?.finding ?? '', /^it is there, but: you may not use/)
  assert.ok(seen.some(({ check, level }) => check === 'storage' && level === 'SKIP'))
})

test('the commands of the guide to the installation that want systemd go as they are printed', async () => {
  const guide = readFileSync('/project/systemd/README.md', 'utf8')
  const printed = [...guide.matchAll(/```sh\n(.*?)```/gs)].flatMap(([, block = '']) => block.trim().split('\n'))
  const bridge = ['sudo systemctl enable', 'journalctl', 'sudo systemctl disable', 'sudo systemctl clean']
  for (const beginning of ['sudo usermod', 'sudo benchd doctor', ...bridge]) {
    const line = printed.find((command) => command.startsWith(beginning))
    assert.ok(line, beginning)
    await typed(line)
  }
  assert.ok(printed.includes('benchd logs -f'))
  assert.match(await typed('timeout 5 benchd logs -f || [ $? = 124 ]'), /benchd/)
})

test('the unit has no mistakes, and is exposed to little', (t) => {
  const verified = execFileSync(
    'systemd-analyze',
    ['verify', 'benchd.service', 'benchd-roll-back.service', 'benchd-bridge@reader-1.socket'],
    {
      encoding: 'utf8',
      stdio: 'pipe',
    },
  )
  assert.equal(verified, '')
  const secured = execFileSync('systemd-analyze', ['security', '--no-pager', '--threshold=20', 'benchd.service'], { encoding: 'utf8' })
  t.diagnostic(secured.trim().split('\n').at(-1) ?? '')
  const bridge = execFileSync('systemd-analyze', ['security', '--no-pager', '--threshold=25', 'benchd-bridge@reader-1.service'], {
    encoding: 'utf8',
  })
  t.diagnostic(bridge.trim().split('\n').at(-1) ?? '')
})

test('systemctl reload takes over what it can, says so in the journal, and refuses what is not right', async () => {
  const pid = property('MainPID')
  const path = '/etc/benchd/config.json'
  const before = readFileSync(path, 'utf8')
  const devices = [{ device_id: 'arm-1', driver: 'external' }]
  writeFileSync(path, JSON.stringify({ format: 1, hosts: ['bench.lab'], devices }))
  await systemctl('reload', 'benchd')
  const told = /taken over: .*arm-1/
  await until('it is in the journal', () => told.test(journal()), slow_ms)
  writeFileSync(path, '{ "format": 1, "hots": [] }')
  await assert.rejects(systemctl('reload', 'benchd'))
  await until('why is in the journal', () => /did you mean "hosts"/.test(journal()), slow_ms)
  assert.deepEqual([property('ActiveState'), property('MainPID')], ['active', pid])
  writeFileSync(path, before)
})

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

// The one of each day is made the same way, a minute after a start: that is not waited for here.
test('it makes a backup under its hardening, and what it says and what helps others is had at the shell', async () => {
  const { name } = await service<{ name: string }>('POST', '/api/system/backups', {})
  assert.equal(statSync(`/var/lib/benchd/backups/${name}`).mode & 0o777, 0o600)
  assert.match((await benchd('logs', '--lines', '500')).stdout, /info +benchd [\w.+]+ listens on http/)
  const said = (await benchd('bundle', '/root/bundle.tar.gz')).stdout
  for (const piece of ['journal.txt', 'doctor.json', 'devices.json', 'config.json']) assert.match(said, new RegExp(`^${piece} `, 'm'))
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

test('what V8 compiled is kept for its next start, by the service alone', () => {
  const folder = '/var/cache/benchd-compiled'
  assert.equal(statSync(folder).mode & 0o777, 0o700)
  const names = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  assert.ok(
    names.some((name) => /service\.js\.\d+$/.test(name)),
    names.join(),
  )
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
  await service('POST', '/api/teachpoints', {
    device_id: 'arm-1',
    name: 'home',
    coord_type: 'cartesian',
    coords: { x: 1, y: 2, z: 3, yaw: 0, pitch: 0, roll: 0 },
  })
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

test('an upgrade from a stick keeps the state, and the package and the state from before; an older one is refused', async (t) => {
  mkdirSync('/media/stick', { recursive: true })
  const stick = '/media/stick/benchd.deb'
  copyFileSync(nextPackage, stick)
  // The administrator wants to know whose it is.
  const key = '/etc/benchd/update.pub'
  execFileSync('minisign', ['-GW', '-p', key, '-s', '/root/minisign.key'])
  await assert.rejects(benchd('update', stick), { code: 1, stderr: /was not installed: .*update\.pub wants a signature by minisign/ })
  execFileSync('minisign', ['-S', '-s', '/root/minisign.key', '-m', nextPackage, '-x', `${stick}.minisig`])
  const from = performance.now()
  const { stdout, stderr } = await benchd('update', stick)
  assert.match(stdout, /is installed; the service is ok/)
  assert.match(stderr, /SHA-256 of .*: [0-9a-f]{64}\n[\s\S]*benchd\.deb\.minisig is a signature of it by the key in \/etc/)
  rmSync(key)
  t.diagnostic(`upgraded in ${((performance.now() - from) / 1000).toFixed(1)} s`)
  assert.equal(installedVersion(), `install ok installed ${version}+next`)
  await isWell(`${version}+next`)
  assert.ok(existsSync('/var/cache/benchd/previous.deb'))
  assert.match(
    execFileSync('sh', ['-c', 'tar -tzf /var/backups/benchd/state-*.tar.gz'], { encoding: 'utf8' }),
    /var\/lib\/benchd\/teachpoints\.json/,
  )
  const names = (await service<{ backups: { name: string }[] }>('GET', '/api/system/backups')).backups.map(({ name }) => name)
  assert.ok(names.some((name) => name.startsWith('asked-')))
  await assert.rejects(benchd('update', firstPackage), { code: 5, stderr: /older than .*\+next, which is installed/ })
})

test("a backup goes to a stick, comes back as root puts it back, and what is put back is the service's own", async () => {
  const teach = (name: string) =>
    service('POST', '/api/teachpoints', {
      device_id: 'arm-1',
      name,
      coord_type: 'cartesian',
      coords: { x: 1, y: 2, z: 3, yaw: 0, pitch: 0, roll: 0 },
    })
  const taught = async () =>
    (await service<{ teachpoints: { name: string }[] }>('GET', '/api/teachpoints?device_id=arm-1')).teachpoints.map(({ name }) => name)
  mkdirSync('/media/stick', { recursive: true })
  const path = (await benchd('backup', '/media/stick')).stdout.trim()
  assert.match(path, /^\/media\/stick\/benchd-asked-/)
  assert.equal(statSync(path).mode & 0o777, 0o600)
  const before = await taught()
  await teach('wrong')
  await assert.rejects(benchd('restore', path, '--yes'), { code: 75 })
  await systemctl('stop', 'benchd')
  const { stdout } = await benchd('restore', path, '--with-config', '--yes')
  assert.match(stdout, /replaced +teachpoints\.json/)
  const kept = /what was there before is in (\S+)/.exec(stdout)?.[1] ?? ''
  const owner = statSync('/var/lib/benchd').uid
  for (const place of ['/var/lib/benchd/teachpoints.json', '/var/lib/benchd/audit.jsonl', kept])
    assert.equal(statSync(place).uid, owner, place)
  assert.equal(statSync('/etc/benchd/config.json').uid, 0)
  await systemctl('start', 'benchd')
  assert.deepEqual(await taught(), before)
})

test(
  'the coordinator of a lab is a package of its own, waits for its database in a sandbox, and goes without a trace',
  coordinatorIsInstalled,
)

test('removed, it leaves the state and is told on the network no more; purged, it takes the configuration', async () => {
  const told = '/etc/avahi/services/benchd.service'
  writeFileSync(told, readFileSync(told, 'utf8').replaceAll('8520', '8521'))
  await dpkg('--remove', 'benchd')
  assert.ok(!existsSync(told))
  assert.equal(property('LoadState'), 'not-found')
  assert.ok(!existsSync('/usr/lib/benchd'))
  assert.ok(existsSync('/etc/benchd/config.json'))
  await dpkg('--install', firstPackage)
  assert.equal(property('ActiveState'), 'active', 'installed again, it begins as a new one does')
  assert.match(readFileSync(told, 'utf8'), /8521/)
  await dpkg('--remove', 'benchd')
  const said = await dpkg('--purge', 'benchd')
  assert.match(said, /stay in \/var\/lib\/benchd/)
  assert.ok(!existsSync('/etc/benchd'))
  assert.ok(!existsSync(told))
  assert.ok(existsSync('/var/lib/benchd/teachpoints.json'))
  mkdirSync('/usr/local/lib/benchd')
  await assert.rejects(dpkg('--install', firstPackage), /benchd: not installed, because scripts\/install\.sh has put/)
  assert.ok(!existsSync('/usr/lib/benchd'))
})

async function isWell(wanted: string): Promise<void> {
  const { status, version } = await service<{ status: string; version: string }>('GET', '/health')
  assert.deepEqual([status, version], ['ok', wanted])
  const answer = await fetch('http://127.0.0.1:8520/api/teachpoints?device_id=arm-1', { headers: { 'X-API-Key': api_key } })
  assert.match(await answer.text(), /"home"/)
}
