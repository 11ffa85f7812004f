// `benchd …` as a person types it: what it prints, and the code it ends with.

import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Test, test } from 'tap'
import { freePort } from '../kit/ports.ts'
import { benchd, running, spawned } from '../testing/cli.ts'
import { table } from './commands.ts'
import { overviewOf } from './help.ts'
import { systemFolder } from './places.ts'

const good = { format: 1, listen: { host: '127.0.0.1', port: 0 }, devices: [{ device_id: 'arm-1', driver: 'external' }] }

test('version is one line, and help names every command', async (t) => {
  const home = t.testdir({})
  const version = await benchd(home, ['version'])
  t.match(version, { code: 0, stdout: /^\d+\.\d+\.\d+\n$/, stderr: '' })
  t.equal((await benchd(home, ['--version'])).stdout, version.stdout)
  const help = await benchd(home, ['help'])
  t.equal(help.code, 0)
  for (const name of ['serve', 'demo', 'key create', 'key list', 'key revoke', 'sim', 'config check', 'version', 'help'])
    t.match(help.stdout, `  ${name}`)
  for (const args of [[], ['--help'], ['-h'], ['help', '--help']]) t.same(await benchd(home, args), help)
  t.match(await benchd(home, ['serve', '--help']), { code: 0, stdout: /^Usage: benchd serve/ })
  t.match(await benchd(home, ['help', 'key']), { code: 0, stdout: /key create[\s\S]*key list[\s\S]*key revoke/ })
  const overview = overviewOf(await table()).replaceAll(systemFolder, '/etc/benchd')
  t.equal(help.stdout, `${overview}\n`, 'src/cli/help.txt is that of the table; run npm run generate')
  const runs = (await benchd(home, ['help', 'runs'])).stdout
  t.equal(runs.split('  --url URL ').length, 2, 'listed once')
  for (const option of ['--json', '--no-color'])
    t.equal(runs.split(`  ${option} `).length, 3, `${option} is listed once, and at runs verify`)
  t.match(runs, /^Options of all these commands, except runs verify:\n\n {2}--url URL/m)
  t.match((await benchd(home, ['help', 'key'])).stdout, /^Options of all these commands:\n\n {2}--/m)
  t.match((await benchd(home, ['init', '--help'])).stdout, /^ {2}--device ID=DRIVER\[@PORT\] {2}\S/m)
  t.match(await benchd(home, ['help', 'exit-codes']), { code: 0, stdout: /^ +69 +\S/m })
})

test('a wrong command line ends with 2, on stderr, and says what was meant', async (t) => {
  const home = t.testdir({})
  for (const [args, sentence] of [
    [['srve'], /no command srve; did you mean "serve"/],
    [['frobnicate'], /no command frobnicate; see: benchd help/],
    [['key', 'crate'], /no command key crate; did you mean "key create".*there is: key create/],
    [['serve', '--prot', '1'], /no option --prot; did you mean "port"/],
    [['lab', 'serve', '--prot', '1'], /no option --prot; did you mean "port"/],
    [['serve', '-z'], /^benchd: benchd serve: there is no option -z; see: benchd serve --help\n$/],
    [['serve', '--port'], /serve: --port needs a value; see/],
    [['serve', '--port', '--safe'], /serve: --port needs a value; see/],
    [['serve', '--safe=1'], /serve: --safe takes no value; see/],
    [['key', 'revoke'], /KEY is missing/],
    [['devices', 'stop', ''], /cannot use ""[\s\S]*the id of a device, or --all; nothing was stopped/],
    [['version', 'now'], /one word too many/],
    [['runs', 'submit', 'w', '--mode', 'life'], /--mode life is none of LIVE, DEVICE_SIM, PURE_SIM; did you mean "LIVE"/],
    [['key', 'create', '--name', 'a'], /--scope/],
    [['demo', '--port', '70000'], /not a port/],
    [['demo', '--time-scale', 'fast'], /not a number/],
    [['sim', 'bioshake'], /--pty/],
  ] as const) {
    t.match(await benchd(home, args), { code: 2, stdout: '', stderr: sentence }, args.join(' '))
  }
})

test('what is not there ends with 3, what cannot be reached with 69', async (t) => {
  const home = t.testdir({})
  t.match(await benchd(home, ['sim', 'bioshaek', '--pty']), { code: 3, stderr: /did you mean "bioshake"/ })
  t.match(await benchd(home, ['key', 'revoke', 'aaaaaaaa', '--yes', '--data-dir', `${home}/data`]), { code: 3, stderr: /no key/ })
  const port = await freePort()
  t.match(await benchd(home, ['key', 'list', '--url', `http://127.0.0.1:${port}`]), {
    code: 69,
    stderr: /no service answers at \S+: nothing listens there; see that the service runs/,
  })
})

test('config check says what a file holds, or what is wrong with it, and where', async (t) => {
  const home = t.testdir({ 'good.json': `// the arm\n${JSON.stringify(good)}` })
  t.match(await benchd(home, ['config', 'check', `${home}/good.json`]), { code: 0, stdout: /good\.json is good: 1 devices/, stderr: '' })
  t.match(await benchd(home, ['config', 'check'], { BENCHD_CONFIG: `${home}/good.json` }), { code: 0 })
  const simulated = { device_id: 's', driver: 'bioshake', transport: { kind: 'simulated' } }
  const boxed = { device_id: 'ika', driver: 'ika_shaker', transport: { kind: 'tcp', host: 'box', port: 4001 } }
  writeFileSync(`${home}/boxed.json`, JSON.stringify({ ...good, devices: [boxed] }))
  const must = 'ika: the box at box:4001 must have raw TCP, 9600 baud, 7 data bits, even parity, 1 stop bit and no flow control'
  t.match(await benchd(home, ['config', 'check', `${home}/boxed.json`]), { code: 0, stdout: new RegExp(`\\n${must}\\n`) })
  for (const [content, sentence] of [
    ['{', /not JSON/],
    [{ ...good, lisen: {} }, /lisen.*did you mean "listen"/],
    [{ ...good, devices: [{ ...simulated, settings: { modle: '' } }] }, /s\.settings.*did you mean "model"/],
    [{ ...good, devices: [{ ...simulated, limits: { speed: { max: 9e9 } } }] }, /only narrow/],
  ] as const) {
    const file = `${home}/bad.json`
    writeFileSync(file, typeof content === 'string' ? content : JSON.stringify(content))
    t.match(await benchd(home, ['config', 'check', file]), { code: 78, stdout: '', stderr: sentence })
  }
  t.match(await benchd(home, ['config', 'check', `${home}/none.json`]), {
    code: 78,
    stderr: /none\.json cannot be read: there is no such file; check the path \(ENOENT\)/,
  })
  t.match(await benchd(home, ['serve', '--config', `${home}/bad.json`, '--data-dir', `${home}/data`]), { code: 78 })
  t.match(await benchd(home, ['serve', '--data-dir', `${home}/data`]), { code: 78, stderr: /no configuration/ })
})

test('keys are made, listed and revoked where no service runs', async (t) => {
  const home = t.testdir({})
  const dir = ['--data-dir', `${home}/data`]
  const created = await benchd(home, ['key', 'create', '--name', 'laptop', '--scope', 'operate', ...dir])
  t.match(created, {
    code: 0,
    stdout: /^bk_[a-z0-9]{8}_[\w-]{43}\n$/,
    stderr: /^benchd: no service runs on the data folder \S+( \((one|others) .*\))?: the key is made for the next service that uses it\n$/,
  })
  const id = created.stdout.slice(3, 11)
  const secret = created.stdout.trim().slice(12)
  t.notMatch(readFileSync(`${home}/data/keys.json`, 'utf8'), secret)
  t.equal(statSync(`${home}/data/keys.json`).mode & 0o777, 0o600)
  const listed = await benchd(home, ['key', 'list', ...dir])
  t.match(listed, { code: 0, stdout: new RegExp(`^ID .*\\n${id} +operate +valid`) })
  t.notMatch(listed.stdout, secret)
  t.match(await benchd(home, ['key', 'create', '--name', 'x', '--scope', 'emperor', ...dir]), { code: 2, stderr: /scope/ })
  t.match(await benchd(home, ['key', 'revoke', 'nobody00', ...dir]), {
    code: 3,
    stderr: /\nbenchd: there is no key of that id or name; see/,
  })
  t.match(await benchd(home, ['key', 'revoke', id, ...dir]), { code: 2, stderr: /this would revoke key .*--yes/ })
  t.match(await benchd(home, ['key', 'revoke', id, '--yes', ...dir]), { code: 0, stdout: `key ${id} (laptop) is revoked\n` })
  const { keys } = JSON.parse((await benchd(home, ['key', 'list', '--json', ...dir])).stdout) as { keys: { revoked_at: number }[] }
  t.type(keys[0]?.revoked_at, 'number')
})

test('key create beside a demo names its folder, and makes no key that the demo does not know', async (t) => {
  const home = t.testdir({})
  const folder = mkdtempSync(join(tmpdir(), 'benchd-key-'))
  const demo = running(t, home, ['demo', '--port', '0', '--data-dir', folder])
  t.teardown(() => rmSync(folder, { recursive: true, force: true }))
  await demo.line(/^ +key +bk_/)
  const create = (...more: string[]) => benchd(home, ['key', 'create', '--name', 'browser', '--scope', 'operate', ...more])
  const refused = await create()
  t.match(refused, {
    code: 2,
    stdout: '',
    stderr: /no service runs on the data folder \S+, but on this computer .*; to use it: --data-dir /,
  })
  t.match(refused.stderr, folder)
  // The others are all that run on this computer: they may be more by now.
  const status = await benchd(home, ['status'])
  t.match(status, { code: 69, stderr: /no service runs on the data folder \S+, but on this computer .*; to use it: --data-dir / })
  t.match(status.stderr, folder)
  t.notOk(existsSync(`${home}/.local`))
  t.match(await create('--data-dir', folder), { code: 0, stdout: /^bk_/, stderr: '' })
  t.match(
    (await create('--data-dir', `${home}/other`)).stderr,
    new RegExp(`^benchd: no service runs on .*other \\(.*${folder}.*\\): the key is made`),
  )
  demo.child.stdout.resume()
  demo.child.kill('SIGTERM')
  await demo.ended
})

test('keys are made, listed and revoked in a service that runs: at once, over its socket, or with a key over the network', async (t) => {
  const { home, service, url } = await serving(t)
  const dir = ['--data-dir', `${home}/data`]
  const key = async (...args: string[]) => (await benchd(home, ['key', ...args])).stdout.trim()
  const admin = await key('create', '--name', 'admin', '--scope', 'admin', ...dir)
  const status = async (api_key: string) => (await fetch(`${url}/api/devices`, { headers: { 'X-API-Key': api_key } })).status
  t.equal(await status(admin), 200)
  // As a file with the line ends of Windows leaves them.
  const env = { BENCHD_URL: `${url}\r`, BENCHD_API_KEY: `${admin}\r` }
  const made = await benchd(home, ['key', 'create', '--name', 'other', '--scope', 'read'], env)
  const other = made.stdout.trim()
  t.equal(await status(other), 200)
  t.match(await benchd(home, ['key', 'list', '--url', url, '--key', other]), { code: 4, stderr: /scope admin/ })
  t.match(await benchd(home, ['key', 'list', '--url', url]), { code: 4, stderr: /wants a valid key, in BENCHD_API_KEY/ })
  t.match(await benchd(home, ['key', 'list'], env), { code: 0, stdout: /valid[\s\S]*valid/ })
  t.match(await benchd(home, ['key', 'revoke', other.slice(3, 11), '--yes', ...dir]), { code: 0 })
  t.equal(await status(other), 401)
  t.match(await benchd(home, ['key', 'revoke', 'aaaaaaaa', '--yes', ...dir]), { code: 3 })
  service.child.kill('SIGTERM')
  t.match(await service.ended, { code: 0, signal: null })
})

test('a second service on one data folder ends with 75, one whose port is taken with 5, and the first goes on', async (t) => {
  const { home, url } = await serving(t)
  const second = await spawned(home, ['serve', '--config', `${home}/config.json`, '--data-dir', `${home}/data`])
  t.match(second, { code: 75, stderr: /another benchd runs on the data folder/ })
  t.equal((await fetch(`${url}/health`)).status, 200)
  const port = new URL(url).port
  const elsewhere = await spawned(home, ['serve', '--config', `${home}/config.json`, '--data-dir', `${home}/other`, '--port', port])
  t.match(elsewhere, { code: 5, stderr: new RegExp(`port ${port}.*is taken`) })
})

test('after a SIGKILL the folder is free, and what was there is there', async (t) => {
  const { home, service } = await serving(t)
  service.child.kill('SIGKILL')
  await service.ended
  const again = running(t, home, ['serve', '--config', `${home}/config.json`, '--data-dir', `${home}/data`])
  t.match(await again.line(/(http:\/\/[\d.]+:\d+)/), /^http/)
})

test('SIGTERM ends it with 0: who waits is answered, streams end, and a second SIGTERM changes nothing', async (t) => {
  const devices = [{ device_id: 'shaker-1', driver: 'bioshake', transport: { kind: 'simulated' } }]
  const { home, service, url } = await serving(t, { devices, time_scale: 50 })
  const made = await benchd(home, ['key', 'create', '--name', 'a', '--scope', 'operate', '--data-dir', `${home}/data`])
  const headers = { 'X-API-Key': made.stdout.trim(), 'Content-Type': 'application/json' }
  const post = (name: string, body: object, more = {}) =>
    fetch(`${url}/api/devices/shaker-1/${name}`, { method: 'POST', headers: { ...headers, ...more }, body: JSON.stringify(body) })
  t.equal((await post('initialize', {})).status, 200)
  t.equal((await post('lock_plate', {})).status, 200)
  const stream = await fetch(`${url}/events/stream`, { headers })
  const streamed = stream.text()
  const shaking = post('shake', { speed: 500, duration: 90_000 })
  for (let busy = false; !busy; ) busy = (await (await fetch(`${url}/api/devices/shaker-1`, { headers })).text()).includes('"state":"busy"')
  service.child.kill('SIGTERM')
  await service.line(/SIGTERM: ending/)
  service.child.kill('SIGTERM')
  const answer = await shaking
  t.equal(answer.status, 503)
  t.match(answer.headers.get('retry-after'), /^[1-9]\d*$/)
  t.match(await answer.json(), { detail: /stopping; shaker-1 may still run shake/ })
  t.type(await streamed, 'string')
  t.match(await service.ended, { code: 0, signal: null })
  const left = JSON.parse((await benchd(home, ['key', 'list', '--json', '--data-dir', `${home}/data`])).stdout)
  t.equal(left.keys.length, 1)
})

test('Ctrl-C ends it with 130', async (t) => {
  const { service } = await serving(t)
  service.child.kill('SIGINT')
  t.match(await service.ended, { code: 130, signal: null })
})

/** A service on a folder of its own, that listens. */
async function serving(t: Test, more: object = {}) {
  t.teardown(() => undefined)
  const home = t.testdir({ 'config.json': JSON.stringify({ ...good, ...more }) })
  const service = running(t, home, ['serve', '--config', `${home}/config.json`, '--data-dir', `${home}/data`])
  const url = await service.line(/(http:\/\/[\d.]+:\d+)/)
  return { home, service, url }
}
