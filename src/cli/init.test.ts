import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { type Test, test } from 'tap'
import { parseJsonWithComments } from '../kit/json.ts'
import { benchd, program, served } from '../testing/cli.ts'

const byId = 'dev/serial/by-id/usb-FTDI_A50285BI-if00-port0'

/** A computer with two ports: one has a lasting name. */
function computer(t: Test): string {
  const root = t.testdir({ dev: { serial: { 'by-id': {} }, ttyUSB0: '', ttyACM0: '' } })
  for (const tty of ['ttyUSB0', 'ttyACM0']) {
    mkdirSync(`${root}/sys/devices/${tty}`, { recursive: true })
    mkdirSync(`${root}/sys/class/tty`, { recursive: true })
    symlinkSync(`../../devices/${tty}`, `${root}/sys/class/tty/${tty}`)
    mkdirSync(`${root}/sys/devices/${tty}/device`)
  }
  symlinkSync('../../ttyUSB0', `${root}/${byId}`)
  return root
}

const read = (path: string) => parseJsonWithComments(readFileSync(path, 'utf8'), path) as { devices: object[] }

test('a configuration is written whole, for its owner alone, with a first key, and nothing is written over', async (t) => {
  const root = computer(t)
  const init = (...more: string[]) => benchd(root, ['init', `${root}/bench`, '--data-dir', `${root}/data`, '--root', root, ...more])
  const made = await init('--device', 'shaker-1=bioshake@/dev/ttyUSB9', '--device', 'robot-1=external', '--device', 's=a4s@tcp://box:4001')
  t.match(made, {
    code: 0,
    stderr: '',
    stdout:
      /^wrote .*bench\/config\.json: devices shaker-1, robot-1, s\nthe first key, scope admin: bk_[\w-]+\nSave the key now: .*data\/keys\.json has only its hash\.\nNext:\n/,
  })
  const path = `${root}/bench/config.json`
  t.equal(statSync(path).mode & 0o777, 0o600)
  t.same(read(path).devices, [
    { device_id: 'shaker-1', driver: 'bioshake', transport: { kind: 'serial', path: '/dev/ttyUSB9' } },
    { device_id: 'robot-1', driver: 'external' },
    { device_id: 's', driver: 'a4s', transport: { kind: 'tcp', host: 'box', port: 4001 } },
  ])
  t.match(readFileSync(path, 'utf8'), `// A port without a device: ${root}/${byId}\n`)
  const [, key] = /(bk_\w+)/.exec(made.stdout) ?? []
  t.match(await benchd(root, ['key', 'list', '--data-dir', `${root}/data`]), { stdout: new RegExp(`${key?.slice(3, 11)} +admin`) })

  const before = readFileSync(path, 'utf8')
  t.match(await init(), { code: 5, stdout: '', stderr: /has devices already and stays as it is; to add another one: / })
  t.equal(readFileSync(path, 'utf8'), before)
  t.match(await benchd(root, ['config', 'check', path]), { code: 0 })
})

test('a person carries labware without a port, and init says what to do next', async (t) => {
  const root = computer(t)
  const made = await benchd(root, ['init', `${root}/bench`, '--data-dir', `${root}/data`, '--root', root, '--device', 'hands=person'])
  t.match(made, { code: 0, stdout: /"transporters": \{"hands": \{"positions": \["…"\]\}\}, then .*benchd topology load NAME\n$/ })
  t.same(read(`${root}/bench/config.json`).devices, [{ device_id: 'hands', driver: 'person' }])
})

test('without a folder the configuration that the environment names is written', async (t) => {
  const root = computer(t)
  const config = `${root}/named.json`
  const made = await benchd(root, ['init', '--data-dir', `${root}/data`, '--root', root, '--device', 's=bioshake@simulated'], {
    BENCHD_CONFIG: config,
  })
  t.match(made, { code: 0, stdout: new RegExp(`^wrote ${config}: devices s\n`) })
  t.equal(read(config).devices.length, 1)
})

test('a configuration without devices, as the package brings it, is filled in, and a running service takes it over and makes the key', async (t) => {
  const root = computer(t)
  const path = `${root}/bench/config.json`
  const empty = '{\n  // What this bench has\n  "format": 1,\n  "listen": { "host": "127.0.0.1", "port": 0 },\n  "devices": []\n}\n'
  mkdirSync(`${root}/bench`)
  writeFileSync(path, empty)
  // A service in this process may have set a narrower mask for new files.
  chmodSync(path, 0o644)
  const data = ['--data-dir', `${root}/data`]
  await served(t, root, { config: path })
  const init = (...more: string[]) => benchd(root, ['init', `${root}/bench`, ...data, '--root', root, ...more])

  t.match(await init(), { code: 0, stdout: /^\S+config\.json stays as it is: no device was named\nthe first key, scope admin.*: bk_/ })
  t.equal(readFileSync(path, 'utf8'), empty)
  const made = await init('--device', 'shaker-1=bioshake@simulated')
  t.match(made, { code: 0, stderr: '', stdout: /^wrote \S+ \(old copy: \S+\): devices shaker-1\nreload: .*\nmade no key: / })
  t.notMatch(made.stdout, /benchd serve/)
  t.match(readFileSync(path, 'utf8'), /\/\/ What this bench has/)
  t.equal(statSync(path).mode & 0o777, 0o644)
  t.equal(readFileSync(/old copy: (\S+)\)/.exec(made.stdout)![1]!, 'utf8'), empty)
  t.match(await benchd(root, ['devices', 'list', ...data]), { code: 0, stdout: /^shaker-1 /m })
  t.match(await init('--device', 's=a4s@simulated'), { code: 5, stderr: /has devices already/ })
})

test('what is wrong is said before anything is written, and a folder with keys gets no other one', async (t) => {
  const root = computer(t)
  const init = (...more: string[]) => benchd(root, ['init', `${root}/new/bench`, '--data-dir', `${root}/data`, '--root', root, ...more])
  t.match(await init('--device', 'shaker-1'), { code: 2, stderr: /is not ID=DRIVER@PORT, for example/ })
  t.match(await init('--device', 'shaker-1=biosake@/dev/ttyUSB0'), { code: 78, stderr: /did you mean "bioshake"/ })
  t.match(await init('--device', 'shaker-1=bioshake'), { code: 78, stderr: /shaker-1/ })
  t.notOk(existsSync(`${root}/new`) || existsSync(`${root}/data`))
  await benchd(root, ['key', 'create', '--name', 'a', '--scope', 'read', '--data-dir', `${root}/data`])
  const made = await init('--json')
  t.same(JSON.parse(made.stdout), { success: true, config: `${root}/new/bench/config.json`, devices: [], api_key: null })
  t.same(read(`${root}/new/bench/config.json`).devices, [])
  const device = `shaker-1=bioshake@${root}/dev/ttyUSB0`
  await benchd(root, ['init', `${root}/other`, '--data-dir', `${root}/data`, '--root', root, '--device', device])
  t.notMatch(readFileSync(`${root}/other/config.json`, 'utf8'), byId, 'the port has a device, by its other name')
  writeFileSync(`${root}/file`, '')
  t.match(await benchd(root, ['init', `${root}/file`, '--root', root]), { code: 1, stderr: /config\.json was not written/ })
})

test('at a terminal each port is asked about, until the answer is a driver or nothing, and who carries labware', async (t) => {
  const root = computer(t)
  const words = [process.execPath, program, 'init', `${root}/bench`, '--data-dir', `${root}/data`, '--root', root].join(' ')
  const child = spawn('script', ['-qec', words, '/dev/null'], { stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, HOME: root } })
  t.teardown(() => child.kill('SIGKILL'))
  const closed = once(child, 'close')
  const answers = ['biosake\n', 'bioshake\n', '\n', 'robot\n', 'person\n']
  const all = answers.length
  let shown = ''
  for await (const part of child.stdout) {
    shown += part
    while (shown.split(/leave it out: |by hand\): /).length - 1 > all - answers.length && answers.length)
      child.stdin.write(answers.shift()!)
  }
  t.same(await closed, [0, null])
  t.match(shown, /there is no driver biosake; did you mean "?bioshake/)
  t.match(shown, /there is no carrier robot; a robot is added with: .*benchd devices add/)
  t.match(read(`${root}/bench/config.json`).devices, [
    { device_id: 'shaker-1', driver: 'bioshake', transport: { kind: 'serial' } },
    { device_id: 'hands', driver: 'person' },
  ])
  t.match(shown, /hands carries labware between the positions that a topology names, without teachpoints/)
})
