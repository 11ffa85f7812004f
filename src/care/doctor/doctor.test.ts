// A bench computer that is well, and eight that are not, each in its own way.

import { appendFileSync, chmodSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { type Test, test } from 'tap'
import { openEvents } from '../../events/open.ts'
import { Keys } from '../../keys/keys.ts'
import { HostFiles } from '../../kit/host_files.ts'
import { silent } from '../../kit/log.ts'
import { type Layout, layOut, wellPi } from '../../testing/care.ts'
import type { Room } from '../host.ts'
import { type Examined, examine } from './doctor.ts'
import type { Finding, Level } from './finding.ts'
import { serviceUser, type Who } from './patient.ts'

const byId = '/dev/serial/by-id/usb-FTDI_FT232R_A50285BI-if00-port0'
const me: Who = { name: 'me', uid: process.getuid!(), gids: [process.getgid!()] }
const somebodyElse: Who = { name: 'benchd', uid: 64_990, gids: [64_990] }

const shaker = { device_id: 'shaker-1', driver: 'bioshake', transport: { kind: 'serial', path: byId } }
const pinShaker = {
  device_id: 'shaker-2',
  driver: 'gpio_shaker',
  transport: { kind: 'pins' },
  settings: {
    pins: { enable: { bcm: 17 }, lid: { bcm: 27, active_low: true } },
    i2c: { speed: { part: 'pca9685', bus: 1, address: 64 } },
  },
}
const config = (devices: object[], more: object = {}) =>
  `{\n  // The bench in the corner.\n  "format": 1, ${JSON.stringify({ listen: { host: '0.0.0.0', port: 8520 }, ...more }).slice(1, -1)},\n  "devices": ${JSON.stringify(devices)},\n}\n`

const usb = '/sys/devices/usb1/1-1'
const adapter: Layout = {
  [`${usb}/idVendor`]: '0403\n',
  [`${usb}/idProduct`]: '6001\n',
  [`${usb}/serial`]: 'A50285BI\n',
  [`${usb}/1-1:1.0/ttyUSB0/port_number`]: '0\n',
  '/sys/class/tty/ttyUSB0/device': { link: `../../../devices/usb1/1-1/1-1:1.0/ttyUSB0` },
  '/sys/class/tty/ttyUSB0/type': '2\n',
  '/dev/ttyUSB0': { content: '', mode: 0o660 },
  [byId]: { link: '../../ttyUSB0' },
}

const sysfs: Layout = {
  '/sys/class/gpio/export': '',
  '/sys/class/gpio/gpiochip512/label': 'pinctrl-bcm2711\n',
  '/sys/class/gpio/gpiochip512/ngpio': '58\n',
  '/sys/class/gpio/gpiochip512/base': '512\n',
}

const packages = '/usr/lib/benchd/node_modules'
const machines: Record<string, [number, number]> = { x64: [2, 62], arm64: [2, 183], arm: [1, 40] }
const otherArch = process.arch === 'arm64' ? 'x64' : 'arm64'

/** The first bytes of machine code for a processor. */
function codeFor(arch: string): Buffer {
  const head = Buffer.alloc(64)
  const [bits, machine] = machines[arch] ?? [2, 62]
  head.set([0x7f, 0x45, 0x4c, 0x46, bits, 1])
  head.writeUInt16LE(machine, 18)
  return head
}

const fromPackage: Layout = { '/usr/lib/benchd/package.json': '{"installed": {"by": "package", "folder": "/usr/lib/benchd"}}' }

const modulesFor = (arch: string): Layout => ({
  [`${packages}/serialport/package.json`]: '{}',
  [`${packages}/@serialport/bindings-cpp/package.json`]: '{}',
  [`${packages}/@serialport/bindings-cpp/build/Release/bindings.node`]: codeFor(arch),
  [`${packages}/onoff/package.json`]: '{}',
  [`${packages}/epoll/package.json`]: '{}',
  [`${packages}/epoll/build/Release/epoll.node`]: codeFor(arch),
  [`${packages}/i2c-bus/package.json`]: '{}',
  [`${packages}/i2c-bus/build/Release/i2c.node`]: codeFor(arch),
})

const avahi = (port: number): Layout => ({
  '/etc/avahi/services/benchd.service': `<service><port>${port}</port><txt-record>tls=0</txt-record></service>`,
  '/run/avahi-daemon/pid': '77\n',
})

const people: Layout = {
  '/etc/passwd': 'root:x:0:0::/root:/bin/sh\nbenchd:x:64990:64990::/var/lib/benchd:/usr/sbin/nologin\n',
  '/etc/group': 'root:x:0:\ndialout:x:20:benchd\nbenchd:x:64990:\n',
}

const roomy: Room = { free: 20e9, total: 32e9 }

/** Lays a bench computer out, with a key and an event in its data folder, and examines it. */
async function machine(t: Test, layout: Layout = {}) {
  const root = t.testdir()
  const data_dir = `${root}/var/lib/benchd`
  layOut(root, {
    ...wellPi,
    ...people,
    ...adapter,
    ...sysfs,
    ...fromPackage,
    ...modulesFor(process.arch),
    ...avahi(8520),
    '/dev/i2c-1': { content: '', mode: 0o660 },
    '/etc/benchd/config.json': config([shaker, pinShaker]),
    ...layout,
  })
  mkdirSync(data_dir, { recursive: true, mode: 0o700 })
  const keys = await Keys.open({ folder: data_dir, report: () => {} })
  await keys.create({ name: 'laptop', scope: 'operate' })
  await keys.close()
  const events = { system_id: 'system', events: { segment_mib: 1, commit_ms: 1, queue: 1000 }, limits: { subscribers: 1 } }
  const hub = await openEvents({ folder: data_dir, config: events, log: silent })
  await hub.stored(hub.emit('EXECUTION.a.COMPLETED', {}))
  await hub.close()
  const look = (more: Partial<Examined> = {}) =>
    examine({
      config_path: `${root}/etc/benchd/config.json`,
      data_dir,
      service: { is: 'absent' },
      root,
      as: me,
      room: async () => roomy,
      sync: async () => 12,
      ...more,
    })
  return { root, data_dir, look }
}

function at(findings: readonly Finding[], level: Level): Finding[] {
  return findings.filter((one) => one.level === level)
}

/** That these are all, and no others. */
function only(t: Test, found: readonly Finding[], wanted: readonly object[]): void {
  t.equal(found.length, wanted.length, found.map(({ check, finding }) => `${check}: ${finding}`).join('; '))
  t.match(found, wanted)
}

function isBad({ level }: Finding): boolean {
  return level === 'WARN' || level === 'FAIL'
}

test('a bench computer that is well has nothing that warns or fails', async (t) => {
  const { look } = await machine(t)
  const findings = await look()
  t.same(findings.filter(isBad), [])
  const words = new Map(findings.map(({ check, finding }) => [check, finding]))
  t.match(words.get('board'), 'Raspberry Pi 4 Model B Rev 1.5, Linux 6.12.34+rpt-rpi-v8')
  t.match(words.get('config'), /is valid; 2 devices: shaker-1 \(bioshake\), shaker-2 \(gpio_shaker\)$/)
  t.match(words.get('keys'), '1 valid: laptop (operate)')
  t.match(words.get('events'), /^the newest segment is whole: 1 events$/)
  t.match(words.get('serial'), `shaker-1: ${byId} can be opened, and is free`)
  t.match(words.get('gpio'), /^onoff, by way of sysfs/)
  t.match(words.get('i2c'), '/dev/i2c-1 is there, for shaker-2')
  t.match(words.get('modules'), 'serialport, onoff, i2c-bus load')
  t.match(words.get('avahi'), /on port 8520$/)
  t.match(words.get('instruments'), /^not asked who they are/)
})

test('what warns or fails says what to do about it', async (t) => {
  const { look, data_dir, root } = await machine(t, { '/sys/class/hwmon/hwmon1/in0_lcrit_alarm': '1\n', ...avahi(8000) })
  chmodSync(data_dir, 0o755)
  rmSync(`${root}/dev/i2c-1`)
  const bad = (await look({ as: somebodyElse, room: async () => ({ free: 1e8, total: 32e9 }) })).filter(isBad)
  t.ok(bad.length >= 6)
  for (const { check, fix } of bad) t.ok(fix, check)
})

test('a port that the service may not open is told with whose it is and how to change that', async (t) => {
  const { look, root } = await machine(t)
  const serial = (await look({ as: somebodyElse })).filter(({ check }) => check === 'serial')
  only(t, serial, [
    {
      level: 'FAIL',
      finding: /^shaker-1: the user benchd may not open .*A50285BI-if00-port0 \(.+:.+ 0660\)$/,
      fix: /^sudo adduser benchd .+, then start/,
    },
  ])
  chmodSync(`${root}/dev/ttyUSB0`, 0o600)
  const closed = (await look({ as: somebodyElse })).filter(({ check }) => check === 'serial')
  only(t, closed, [{ level: 'FAIL', fix: /udev rule/ }])
})

test("on the package's own folder the rights of the package's own user count, and its groups are those of the computer", async (t) => {
  const { look, data_dir, root } = await machine(t)
  const findings = await look({ as: undefined })
  const mine = findings.filter(({ check, finding }) => check === 'storage' && finding.includes('belongs to'))
  only(t, mine, [{ level: 'FAIL', finding: /belongs to .+, not to benchd$/, fix: `sudo chown -R benchd: ${data_dir}` }])
  t.match(await serviceUser(new HostFiles(root), data_dir), { name: 'benchd', uid: 64_990, gids: [64_990, 20] })
})

test('on any other folder the rights of its owner count', async (t) => {
  const { root } = await machine(t)
  t.match(await serviceUser(new HostFiles(root), root), { uid: process.getuid!() })
  t.match(await serviceUser(new HostFiles(root), `${root}/none`), { uid: process.geteuid!() })
})

test('native code for another processor is told apart from what is not installed, and fails only what is needed', async (t) => {
  const { look, root } = await machine(t, { ...modulesFor(otherArch), '/etc/benchd/config.json': config([shaker]) })
  const modules = async () => (await look()).filter(({ check }) => check === 'modules')
  only(t, await modules(), [
    {
      level: 'FAIL',
      finding: new RegExp(`^serialport .*built for another processor \\(${otherArch}, this is ${process.arch}\\)`),
      fix: 'sudo apt install --reinstall ./benchd_….deb, from the file it came in',
    },
    {
      level: 'SKIP',
      finding: /^onoff .*another processor.*no device of the configuration needs it/,
      fix: /sudo \/usr\/lib\/benchd\/build-native$/,
    },
    { level: 'SKIP', finding: /^i2c-bus .*another processor/ },
  ])
  rmSync(`${root}${packages}/serialport`, { recursive: true })
  rmSync(`${root}${packages}/i2c-bus/build`, { recursive: true })
  const [serialport, , i2c] = await modules()
  t.match(serialport, { level: 'FAIL', finding: /^serialport .*not installed/, fix: /^sudo apt install --reinstall/ })
  t.match(i2c, { level: 'SKIP', finding: /not built for this computer/ })
})

test('a package that is there and does not load says why', async (t) => {
  const { look } = await machine(t)
  const folder = t.testdir({
    node_modules: {
      serialport: { 'package.json': '{}' },
      '@serialport': {
        'bindings-cpp': { 'package.json': '{}', 'index.js': "throw new Error('was compiled against a different Node.js version')" },
      },
    },
  })
  mkdirSync(`${folder}/node_modules/@serialport/bindings-cpp/build/Release`, { recursive: true })
  writeFileSync(`${folder}/node_modules/@serialport/bindings-cpp/build/Release/bindings.node`, codeFor(process.arch))
  const findings = await look({ root: '', modules: [`${folder}/node_modules`], config_path: undefined })
  t.match(
    findings.find(({ check, finding }) => check === 'modules' && finding.startsWith('serialport')),
    { level: 'SKIP', finding: /built for another version of Node than v/ },
  )
})

test('modules for several versions of Node count where this one is among them, and without it the sentence names this Node', async (t) => {
  const { look, root } = await machine(t)
  for (const name of ['epoll', 'i2c-bus']) rmSync(`${root}${packages}/${name}/build`, { recursive: true })
  const target = `${process.platform}-${process.arch}`
  layOut(root, {
    [`${packages}/epoll/lib/binding/node-v99-${target}/epoll.node`]: codeFor(process.arch),
    [`${packages}/i2c-bus/lib/binding/node-v99-${target}/i2c.node`]: codeFor(process.arch),
  })
  const modules = async (more: Partial<Examined> = {}) => (await look(more)).filter(({ check }) => check === 'modules')
  only(t, await modules(), [{ level: 'OK', finding: 'serialport, onoff, i2c-bus load' }])
  const [, onoff, i2c] = await modules({ root: '', modules: [`${root}${packages}`], config_path: undefined })
  const sentence = new RegExp(`it was not built for Node ${process.version} on ${process.platform} ${process.arch}; no device`)
  t.match(onoff, { level: 'SKIP', finding: sentence, fix: /npm rebuild epoll/ })
  t.match(i2c, { level: 'SKIP', finding: sentence, fix: /npm rebuild i2c-bus/ })
})

test('a disk with little room warns, one with nearly none fails', async (t) => {
  const { look } = await machine(t)
  const storage = async (free: number) =>
    (await look({ room: async () => ({ free, total: 32e9 }) })).filter((one) => one.check === 'storage').filter(isBad)
  only(t, await storage(3e9), [{ level: 'WARN', finding: /has 9\.4 % \(3\.0 GB of 32 GB\) free/, fix: /^free some space/ }])
  only(t, await storage(3e8), [{ level: 'FAIL', finding: /has 0\.9 % \(300 MB of 32 GB\) free/ }])
})

test('a disk that takes long to keep a block warns', async (t) => {
  const { look, data_dir } = await machine(t)
  t.match(
    (await look()).find(({ finding }) => finding.includes('fsync')),
    { level: 'OK', finding: `${data_dir} can be written, fsync 12 ms` },
  )
  only(t, (await look({ sync: async () => 294 })).filter(isBad), [
    { check: 'storage', level: 'WARN', finding: /takes 294 ms .*\(fsync\)$/ },
  ])
})

test('of another computer its own packages and addresses count, not those of this one', async (t) => {
  const { look, root } = await machine(t)
  const words = async (check: string) => (await look()).filter((one) => one.check === check).map(({ finding }) => finding)
  t.match(await words('gpio'), [/^onoff, by way of sysfs/])
  t.same(await words('network'), ['http on port 8520, at each address that it has'])
  rmSync(`${root}${packages}/epoll`, { recursive: true })
  t.match(await words('gpio'), [/cannot have pins; onoff: the package onoff does not load: it is not installed; gpiod: /])
  layOut(root, { ...modulesFor(otherArch) })
  t.match(await words('gpio'), [/onoff does not load: it was built for another processor/])
})

test('a clock that nobody sets and a voltage that is too low are told together', async (t) => {
  const { look, root } = await machine(t, {
    '/sys/class/hwmon/hwmon1/in0_lcrit_alarm': '1\n',
    '/sys/class/thermal/thermal_zone0/temp': '82100\n',
  })
  rmSync(`${root}/run/systemd/timesync/synchronized`)
  only(t, (await look()).filter(isBad), [
    { check: 'clock', level: 'WARN', finding: /^not synchronized: timesyncd runs/, fix: /timesyncd\.conf {2}NTP=/ },
    { check: 'power', level: 'FAIL', finding: /^under-voltage/, fix: /power supply/ },
    { check: 'temperature', level: 'WARN', finding: /82 °C, and slows down by itself from 80/ },
  ])
})

test('a configuration that is broken names the place, and the rest is examined all the same', async (t) => {
  const { look, root } = await machine(t)
  for (const [text, words] of [
    ['{ "format": 1, "devices": [ { "device_id" ] }', /config\.json is not JSON/],
    [config([{ ...shaker, driver: 'bioshaker' }]), /devices/],
    [config([shaker, { ...shaker, device_id: 'shaker-2' }]), /shaker-1 and shaker-2 are on one port/],
  ] as const) {
    writeFileSync(`${root}/etc/benchd/config.json`, text)
    const findings = await look()
    only(t, at(findings, 'FAIL'), [{ check: 'config', finding: words, fix: /benchd config check/ }])
    t.ok(findings.some(({ check, level }) => check === 'power' && level === 'OK'))
  }
  only(t, at(await look({ config_path: undefined }), 'FAIL'), [{ check: 'config', finding: 'there is none' }])
})

test('without sysfs and without the tools of gpiod there are no pins, and what is missing is named', async (t) => {
  const { look, root } = await machine(t)
  rmSync(`${root}/sys/class/gpio`, { recursive: true })
  only(t, (await look()).filter(isBad), [
    { check: 'gpio', level: 'FAIL', finding: /^shaker-2 cannot have pins;.*gpiod are not installed/, fix: 'sudo apt install gpiod' },
  ])
  writeFileSync(`${root}/etc/benchd/config.json`, config([shaker]))
  only(
    t,
    (await look()).filter(({ check }) => check === 'gpio'),
    [{ level: 'SKIP', finding: /no device needs any/ }],
  )
})

test('an I2C bus that is off is told apart from a module that is not loaded', async (t) => {
  const { look, root } = await machine(t)
  rmSync(`${root}/dev/i2c-1`)
  only(t, (await look()).filter(isBad), [
    { check: 'i2c', finding: /^there is no \/dev\/i2c-1, which shaker-2 is on: the module i2c-dev is not loaded/, fix: /modprobe i2c-dev/ },
  ])
  layOut(root, { '/sys/module/i2c_dev/refcnt': '0\n' })
  only(t, (await look()).filter(isBad), [{ check: 'i2c', finding: /the bus is off/, fix: /dtparam=i2c_arm=on/ }])
})

test('a port that is not there, that has a number for a name, or that another program has, is told', async (t) => {
  const { look, root } = await machine(t)
  const serial = async () => (await look()).filter(({ check }) => check === 'serial')
  writeFileSync(`${root}/etc/benchd/config.json`, config([{ ...shaker, transport: { kind: 'serial', path: '/dev/ttyUSB0' } }]))
  only(t, await serial(), [
    { level: 'OK' },
    {
      level: 'WARN',
      finding: 'shaker-1: /dev/ttyUSB0 can be another instrument after a restart',
      fix: `benchd devices set shaker-1 --port ${byId}`,
    },
  ])
  layOut(root, { '/proc/4711/comm': 'ModemManager\n', '/proc/4711/fd/5': { link: '/dev/ttyUSB0' } })
  only(t, await serial(), [
    { level: 'FAIL', finding: 'shaker-1: ModemManager (process 4711) has /dev/ttyUSB0 open', fix: /sudo kill 4711/ },
    { level: 'WARN' },
  ])
  rmSync(`${root}/dev/ttyUSB0`)
  only(t, await serial(), [{ level: 'FAIL', finding: /^shaker-1: there is no \/dev\/ttyUSB0; there are \/dev\/serial\/by-id/ }])
})

test('two adapters that share a name are told, with what to do instead', async (t) => {
  const { look } = await machine(t, {
    '/sys/devices/usb1/1-2/idVendor': '0403\n',
    '/sys/devices/usb1/1-2/idProduct': '6001\n',
    '/sys/devices/usb1/1-2/serial': 'A50285BI\n',
    '/sys/devices/usb1/1-2/1-2:1.0/ttyUSB1/port_number': '0\n',
    '/sys/class/tty/ttyUSB1/device': { link: '../../../devices/usb1/1-2/1-2:1.0/ttyUSB1' },
    '/sys/class/tty/ttyUSB1/type': '2\n',
    '/dev/ttyUSB1': '',
    '/dev/serial/by-path/platform-usb-0:2': { link: '../../ttyUSB1' },
  })
  only(t, (await look()).filter(isBad), [
    {
      check: 'serial',
      level: 'WARN',
      finding: `/dev/ttyUSB1 and /dev/ttyUSB0 say the same of themselves, and share the name ${byId}`,
      fix: /by-path\/platform-usb-0:2$/,
    },
  ])
})

test('files that are damaged, that were set aside, and an event log with a rotten line, are told', async (t) => {
  const { look, data_dir } = await machine(t)
  writeFileSync(`${data_dir}/teachpoints.json`, '{"format": 1, "sha256": "00", "points": []}')
  writeFileSync(`${data_dir}/teachpoints.json.bak`, '{}')
  writeFileSync(`${data_dir}/leases.json.corrupt-2026-01-01T000000.000Z`, '')
  const segment = `${data_dir}/events/events-000001.jsonl`
  const whole = readFileSync(segment, 'utf8')
  writeFileSync(segment, `${whole}rotten\n${whole}`)
  only(t, (await look()).filter(isBad), [
    {
      check: 'storage',
      level: 'FAIL',
      finding: /^teachpoints\.json is damaged: its sha256 does not fit/,
      fix: 'the service takes teachpoints.json.bak at its next start',
    },
    { check: 'storage', level: 'WARN', finding: /^leases\.json\.corrupt-.* was set aside/, fix: /^look what is missing/ },
    { check: 'events', level: 'WARN', finding: /^1 places of events-000001\.jsonl are damaged: 6 bytes are no whole line$/ },
  ])
  writeFileSync(`${data_dir}/keys.json`, '{')
  const keys = (await look()).find(({ finding }) => finding.startsWith('keys.json is damaged'))
  t.match(keys, { fix: 'put a backup in its place: benchd restore FILE --with-keys' })
})

test('what cannot be read for want of rights is not taken for damaged, nor what is no file', async (t) => {
  const { look, data_dir, root } = await machine(t)
  mkdirSync(`${data_dir}/folder.json`)
  symlinkSync('/none', `${data_dir}/link.json`)
  only(t, (await look()).filter(isBad), [
    { check: 'storage', level: 'WARN', finding: /^folder\.json is no file that can be read: EISDIR/ },
    { check: 'storage', level: 'WARN', finding: /^link\.json is no file that can be read: ENOENT/ },
  ])
  rmSync(`${data_dir}/folder.json`, { recursive: true })
  rmSync(`${data_dir}/link.json`)
  const files = ['keys.json', 'event_ids.json', 'events/events-000001.jsonl'].map((name) => `${data_dir}/${name}`)
  for (const file of files) chmodSync(file, 0)
  for (const folder of [`${root}/var`, `${root}/var/lib`, data_dir, `${data_dir}/events`]) chmodSync(folder, 0o755)
  const isRoot = process.geteuid!() === 0
  if (isRoot) process.seteuid!(65_534)
  const found = await look().finally(() => isRoot && process.seteuid!(0))
  t.notOk(found.filter(isBad).some(({ finding }) => /keys\.json|event log/.test(finding)))
  for (const [check, words] of [
    ['storage', 'you may not read event_ids.json, keys.json'],
    ['events', 'you may not read the event log'],
    ['keys', 'the keys cannot be read by you'],
  ] as const)
    t.match(
      found.find((one) => one.check === check && one.finding === words),
      { level: 'SKIP', fix: 'sudo benchd doctor' },
      words,
    )
  for (const file of files) chmodSync(file, 0o600)
  writeFileSync(`${data_dir}/keys.json`, '{')
  const keys = (await look()).find(({ check }) => check === 'keys')
  t.match(keys, { level: 'SKIP', finding: /^keys\.json cannot be read, so nobody knows/ })
})

test('a torn end of the event log is no damage', async (t) => {
  const { look, data_dir } = await machine(t)
  appendFileSync(`${data_dir}/events/events-000001.jsonl`, '{"crc":"')
  const findings = await look()
  only(t, findings.filter(isBad), [])
  t.match(
    findings.find(({ check }) => check === 'events'),
    { finding: /1 events; its torn end is cut off at the next start$/ },
  )
})

test('a folder that others can read, and a network that nobody has a key for, are told', async (t) => {
  const { look, data_dir } = await machine(t)
  chmodSync(data_dir, 0o750)
  rmSync(`${data_dir}/keys.json`)
  only(t, (await look()).filter(isBad), [
    { check: 'storage', level: 'WARN', fix: `sudo chmod 700 ${data_dir}` },
    { check: 'keys', level: 'WARN', finding: /^none yet/, fix: /benchd key create/ },
  ])
})

test('a name on the network that leads to another port is told', async (t) => {
  const { look } = await machine(t, avahi(8000))
  only(t, (await look()).filter(isBad), [
    { check: 'avahi', level: 'WARN', finding: /announces port 8000 and tls=0, and the configuration has 8520/ },
  ])
})

test('beside a service that cannot be asked no port is opened and no instrument asked', async (t) => {
  const { look } = await machine(t)
  const findings = await look({ service: { is: 'closed', why: 'you may not use it' }, ask: true })
  only(t, findings.filter(isBad), [{ check: 'service', level: 'WARN', finding: 'it is there, but: you may not use it' }])
  for (const check of ['serial', 'instruments'])
    only(
      t,
      findings.filter((one) => one.check === check),
      [{ level: 'SKIP' }],
    )
})
