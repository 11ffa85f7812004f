// The package as an administrator keeps it, without hardware: looked at, reloaded, backed up, upgraded, removed. What needs the devices of a bench
// computer, its kernel or its time: installed.ts. Upgrades that are undone: upgrades.ts, cut.ts.
// Its tests are one story and run in this order. What they are about: service-test.sh.

import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { coordinatorIsInstalled } from './lab_coordinator.ts'
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
} from './service_unit.ts'
import { until } from './waiting.ts'

const run = promisify(execFile)
const patience_ms = 60_000
const config = '/etc/benchd/config.json'
let api_key = ''

const teach = (name: string) =>
  service('POST', '/api/teachpoints', {
    device_id: 'arm-1',
    name,
    coord_type: 'cartesian',
    coords: { x: 1, y: 2, z: 3, yaw: 0, pitch: 0, roll: 0 },
  })
const taught = async () =>
  (await service<{ teachpoints: { name: string }[] }>('GET', '/api/teachpoints?device_id=arm-1')).teachpoints.map(({ name }) => name)

test('it is installed, and ready when dpkg is', async () => {
  await dpkg('--install', firstPackage)
  assert.equal(installedVersion(), `install ok installed ${version}`)
  assert.equal(property('ActiveState'), 'active')
  api_key = (await benchd('key', 'create', '--name', 'laptop', '--scope', 'operate')).stdout.trim()
})

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
  // The native modules in the package were not compiled here.
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
  const devices = [{ device_id: 'arm-1', driver: 'external' }]
  writeFileSync(config, JSON.stringify({ format: 1, hosts: ['bench.lab'], devices }))
  await systemctl('reload', 'benchd')
  const told = /taken over: .*arm-1/
  await until('it is in the journal', () => told.test(journal()), patience_ms)
  writeFileSync(config, '{ "format": 1, "hots": [] }')
  await assert.rejects(systemctl('reload', 'benchd'))
  await until('why is in the journal', () => /did you mean "hosts"/.test(journal()), patience_ms)
  assert.deepEqual([property('ActiveState'), property('MainPID')], ['active', pid])
  writeFileSync(config, JSON.stringify({ format: 1, devices }))
  await systemctl('reload', 'benchd')
})

// The one of each day is made the same way, a minute after a start: that is not waited for here.
test('it makes a backup under its hardening, and what it says and what helps others is had at the shell', async () => {
  const { name } = await service<{ name: string }>('POST', '/api/system/backups', {})
  assert.equal(statSync(`/var/lib/benchd/backups/${name}`).mode & 0o777, 0o600)
  assert.match((await benchd('logs', '--lines', '500')).stdout, /info +benchd [\w.+]+ listens on http/)
  const said = (await benchd('bundle', '/root/bundle.tar.gz')).stdout
  for (const piece of ['journal.txt', 'doctor.json', 'devices.json', 'config.json']) assert.match(said, new RegExp(`^${piece} `, 'm'))
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

test('a package that changes /usr/bin/node has dpkg look for the native modules, which are compiled or named', async () => {
  const built = '/usr/lib/benchd/node_modules/i2c-bus/lib/binding'
  const changed = async () => {
    await run('dpkg-trigger', ['--by-package=nodejs', '/usr/bin/node'])
    return dpkg('--triggers-only', 'benchd')
  }
  assert.doesNotMatch(await changed(), /build-native/)
  renameSync(built, `${built}.kept`)
  assert.match(await changed(), /build-native: i2c-bus is not built for this Node \(v\S+\), so there is no I2C: no compiler here/)
  renameSync(`${built}.kept`, built)
})

test('an upgrade from a stick keeps the state, and the package and the state from before; an older one is refused', async (t) => {
  mkdirSync('/media/stick', { recursive: true })
  const stick = '/media/stick/benchd.deb'
  await teach('home')
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
  assert.equal(statSync(config).uid, 0)
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
  assert.ok(existsSync(config))
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
