// What every command has in common: quiet, colors, JSON, whose service it asks; and what is made from the table of commands.

import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, createServer as createNetServer } from 'node:net'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { test } from 'tap'
import { benchd, demo, program } from '../testing/cli.ts'
import { optionsOf } from './command.ts'
import { table } from './commands.ts'
import { table as columns, forTerminal, ownColors } from './table.ts'

async function all() {
  return (await table()).flatMap(({ commands }) => commands)
}

test('every command takes --json, or says why not, and no two have one name', async (t) => {
  const commands = await all()
  for (const command of commands) t.ok(command.no_json ?? optionsOf(command).json, command.name)
  const names = commands.flatMap(({ name, aliases = [] }) => [name, ...aliases])
  t.equal(new Set(names).size, names.length)
  const home = t.testdir({})
  t.match(await benchd(home, ['demo', '--json']), { code: 2, stderr: /no option --json: its output is for people/ })
  t.match(JSON.parse((await benchd(home, ['version', '--json'])).stdout), { version: /^\d/ })
})

test('colors are for a terminal, unless FORCE_COLOR says otherwise, and never with --no-color', async (t) => {
  const { home, dir } = await demo(t)
  const status = async (env: Record<string, string>, ...args: string[]) => (await benchd(home, ['status', ...args, ...dir], env)).stdout
  t.notMatch(await status({}), '\u001b')
  t.match(await status({ FORCE_COLOR: '1' }), '\u001b[32mok\u001b[39m')
  t.notMatch(await status({ FORCE_COLOR: '1' }, '--no-color'), '\u001b')
  const onTerminal = (env: object) =>
    promisify(execFile)('script', ['-qec', [process.execPath, program, 'status', ...dir].join(' '), '/dev/null'], {
      env: { PATH: process.env.PATH, HOME: home, TERM: 'xterm', ...env },
    })
  t.match((await onTerminal({})).stdout, '\u001b[32mok')
  t.notMatch((await onTerminal({ NO_COLOR: '1' })).stdout, '\u001b')
})

test('quiet keeps what was asked for and leaves the rest', async (t) => {
  const { run } = await demo(t, { topologies: { 'bad.json': '{}' } })
  t.match(await run('topology', 'list'), { stderr: /left out/ })
  t.match(await run('topology', 'list', '--quiet'), { code: 0, stdout: /^NAME/, stderr: '' })
  t.match(await run('topology', 'unload', '--quiet'), { code: 0, stdout: '', stderr: '' })
  t.match(await run('topology', 'show', '--quiet'), { code: 3, stderr: /no topology is loaded/ })
})

test('what deletes asks on a terminal, and does it for a y alone', async (t) => {
  const { home, dir, run } = await demo(t)
  const answered = async (answer: string) => {
    const words = [process.execPath, program, 'teachpoints', 'rm', 'arm-1', 'waste', ...dir].join(' ')
    const child = spawn('script', ['-qec', words, '/dev/null'], { stdio: ['pipe', 'pipe', 'inherit'], env: { ...process.env, HOME: home } })
    t.teardown(() => child.kill('SIGKILL'))
    const closed = once(child, 'close')
    let shown = ''
    for await (const part of child.stdout) {
      if (!shown.includes('[y/N]') && (shown + part).includes('[y/N]')) child.stdin.write(`${answer}\r`)
      shown += part
    }
    const [code] = await closed
    return { code, shown }
  }
  t.match(await answered('n'), { code: 1, shown: /delete the teachpoint waste of arm-1\? \[y\/N\][\s\S]*left as it is/ })
  t.match(await run('teachpoints', 'get', 'arm-1', 'waste'), { code: 0 })
  t.match(await answered('y'), { code: 0 })
  t.match(await run('teachpoints', 'get', 'arm-1', 'waste'), { code: 3 })
})

test('the credentials of a person come behind flags and environment, and are for nobody else to read', async (t) => {
  const { home, dir, url, key } = await demo(t)
  const folder = `${home}/.config/benchd`
  mkdirSync(folder, { recursive: true })
  const path = `${folder}/credentials.json`
  const keep = (content: string) => {
    writeFileSync(path, content)
    chmodSync(path, 0o600)
  }
  keep(JSON.stringify({ url, api_key: key }))
  const who = (args: string[] = [], env = {}) => benchd(home, ['whoami', ...args], env)
  t.match(await who(), { code: 0, stdout: /^the demo \(/ })
  t.match(await who(['--url', url]), { code: 0, stdout: /^the demo/ }, 'the key of the same service')
  t.match(await who(['--url', url, '--key', 'bk_wrong']), { code: 4 }, 'a flag goes before it')
  t.match(await who([], { BENCHD_API_KEY: 'bk_wrong' }), { code: 4 }, 'the environment too')
  t.match(await who(dir), { code: 0, stdout: /^local/ })
  t.match(await who([], { BENCHD_DATA_DIR: `${home}/data` }), { code: 0, stdout: /^local/ })
  t.match(
    await who(['--url', url.replace('127.0.0.1', 'localhost')]),
    { code: 4, stderr: /the service wants a valid key, in BENCHD_API_KEY or after --key; make one/ },
    'no key goes to another service',
  )
  chmodSync(path, 0o640)
  t.match(await who(), { code: 78, stdout: '', stderr: /others may read it: chmod 600/ })
  keep(JSON.stringify({ url, api_kye: key }))
  t.match(await who(), { code: 78, stderr: /api_kye; did you mean "api_key"/ })
})

test('config show tells each value and where it comes from', async (t) => {
  const devices = [{ device_id: 's-1', driver: 'bioshake', transport: { kind: 'simulated' }, limits: { speed: { max: 1500 } } }]
  const home = t.testdir({ 'config.json': `// ours\n${JSON.stringify({ format: 1, listen: { host: '127.0.0.1' }, devices })}` })
  const path = `${home}/config.json`
  const show = (args: string[], env = {}) => benchd(home, ['config', 'show', ...args], env)
  t.match(await show([path, '--port', '1'], { STATE_DIRECTORY: '' }), {
    code: 0,
    stdout:
      /^SETTING +VALUE +FROM\nconfig +\S+ +flag --config\nformat +1 +file\nlisten\.host +127\.0\.0\.1 +file\nlisten\.port +1 +flag --port\n/,
  })
  const { settings } = JSON.parse(
    (await show(['--effective', '--json'], { BENCHD_CONFIG: path, BENCHD_HOST: '::1', BENCHD_PORT: '2' })).stdout,
  )
  const named = (name: string) => settings.find((setting: { name: string }) => setting.name === name)
  t.same(named('config'), { name: 'config', value: path, from: 'environment', by: 'BENCHD_CONFIG' })
  t.same(named('listen.host'), { name: 'listen.host', value: '::1', from: 'environment', by: 'BENCHD_HOST' })
  t.same(named('listen.port'), { name: 'listen.port', value: 2, from: 'environment', by: 'BENCHD_PORT' })
  t.same(named('events.queue'), { name: 'events.queue', value: 1000, from: 'default' })
  t.same(named('devices.s-1.limits.speed.max'), { name: 'devices.s-1.limits.speed.max', value: 1500, from: 'file' })
  t.match(named('devices.s-1.settings.model'), { from: 'default', value: /\w/ })
  t.match(await show([`${home}/none.json`]), { code: 78, stderr: /cannot be read/ })
  writeFileSync(path, '{ "format": 1, "lisen": {} }')
  t.match(await show([path]), { code: 78, stderr: /did you mean "listen"/ })
})

test('the page of the manual names every command', async (t) => {
  const { stdout: page } = await benchd(t.testdir({}), ['man'])
  for (const { name } of await all()) t.match(page, `\\fBbenchd ${name.replaceAll('-', '\\-')}\\fR`)
})

test('what others wrote does not command the terminal, and JSON of it says the same', async (t) => {
  t.equal(forTerminal('a\u001b[2Jb\u009b1m\u202e\r\n\tc'), 'a\\u001b[2Jb\\u009b1m\\u202e\\u000d\n\tc')
  const green = `${ownColors('\u001b[32m')}ok \u001b[8m${ownColors('\u001b[39m')}`
  t.equal(forTerminal(green), '\u001b[32mok \\u001b[8m\u001b[39m', 'only our own colors pass')
  t.equal(forTerminal('\u001b[32mok\u001b[39m \u001b[1;32mok'), '\\u001b[32mok\\u001b[39m \\u001b[1;32mok')
  t.equal(forTerminal(columns([green], [])), '\u001b[32mok \\u001b[8m\u001b[39m')
  t.equal(forTerminal('a\u200bb\u2028c\u200fd\u00ade\ufefff\u{e0041}'), 'a\\u200bb\\u2028c\\u200fd\\u00ade\\ufefff\\udb40\\udc41')
  t.equal(forTerminal('👩‍🔬 ❤️ می‌خواهم'), '👩‍🔬 ❤️ می‌خواهم', 'joiners of scripts and emoji stay')
  const value = { name: 'a\u009bb\u007f\u202e\u001b\u200b\u{e0041}' }
  t.same(JSON.parse(forTerminal(JSON.stringify(value))), value)
  t.equal(columns(['NAME', 'X'], [['a\u0007\nb', '1']]), 'NAME        X\na\\u0007\\nb  1')
  const devices = [{ device_id: 's-1', driver: 'external', name: 'evil\u001b[2J' }]
  const { home, dir } = await demo(t)
  writeFileSync(`${home}/evil.json`, JSON.stringify({ format: 1, devices, 'x\u001b[2J': 1 }))
  const { code, stderr } = await benchd(home, ['config', 'check', `${home}/evil.json`, '--no-color'])
  t.equal(code, 78)
  t.notMatch(stderr, '\u001b')
  t.notMatch((await benchd(home, ['devices', 'show', 'a\u001b[2J', ...dir])).stderr, '\u001b')
})

test('what cannot be printed is told in one line, and ends with 1; a reader who has gone is no failure', async (t) => {
  const { home, dir } = await demo(t)
  const shell = async (line: string) => {
    const child = spawn('bash', ['-c', `set -o pipefail; ${line}`], { env: { PATH: process.env.PATH, HOME: home } })
    const [stderr, [status]] = await Promise.all([text(child.stderr), once(child, 'close')])
    return { status, stderr }
  }
  const list = [process.execPath, program, 'devices', 'list', ...dir].join(' ')
  t.match(await shell(`${list} > /dev/full`), {
    status: 1,
    stderr: /^benchd: the output was not written \(ENOSPC\): the disk is full; free some space, then try again\n$/,
  })
  t.same(await shell(`${list} | true`), { status: 0, stderr: '' })
})

test('an address that is no URL is told with the one that was meant', async (t) => {
  const home = t.testdir({})
  const status = (url: string, env = {}) => benchd(home, ['status', '--url', url], env)
  t.match(await status('pi.local:8520'), {
    code: 2,
    stderr: /pi\.local:8520 is not the URL of a service; write http:\/\/pi\.local:8520, or https/,
  })
  t.match(await status('127.0.0.1'), { code: 2, stderr: /write http:\/\/127\.0\.0\.1,/ })
  t.match(await status('ftp://a'), { code: 2, stderr: /it begins with http/ })
  t.match(await status(''), { code: 2, stderr: /is empty/ })
  t.match(await benchd(home, ['status'], { BENCHD_URL: 'pi:80' }), { code: 2, stderr: /write http:\/\/pi:80/ })
})

test('a service below a path is asked there, and one that speaks no TLS is told', async (t) => {
  const { home, url, key } = await demo(t)
  const proxy = createServer(async ({ url: path = '' }, response) => {
    const answer = await fetch(url + path.replace('/bench', ''), { headers: { 'X-API-Key': key } })
    response.writeHead(path.startsWith('/bench/') ? answer.status : 404).end(await answer.text())
  })
  t.teardown(() => proxy.close())
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  const { port } = proxy.address() as AddressInfo
  t.match(await benchd(home, ['whoami', '--url', `http://127.0.0.1:${port}/bench/`]), { code: 0, stdout: /^the demo/ })
  t.match(await benchd(home, ['whoami', '--url', url.replace('http', 'https'), '--key', key]), {
    code: 69,
    stderr: /does not speak TLS; write http/,
  })
  const speaksTls = createNetServer((near) => near.on('error', () => undefined).on('data', () => near.destroy()))
  t.teardown(() => speaksTls.close())
  await once(speaksTls.listen(0, '127.0.0.1'), 'listening')
  t.match(await benchd(home, ['whoami', '--url', `http://127.0.0.1:${(speaksTls.address() as AddressInfo).port}`, '--key', key]), {
    code: 69,
    stderr: /the connection broke off; try again, or write https:\/\/ if it speaks TLS/,
  })
})

test('what does not exist is refused with what does', async (t) => {
  const { run } = await demo(t)
  for (const [line, sentence] of [
    ['devices show shaker', /there is no device "shaker"; did you mean "shaker-1"\?; there is: shaker-1, sealer-1, centrifuge-1, arm-1\n/],
    ['teachpoints get arm-1 pad_11', /arm-1 has no teachpoint pad_11; did you mean "pad_1"\?; there is: .*pad_2/],
  ] as const)
    t.match(await run(...line.split(' ')), { code: 3, stdout: '', stderr: sentence }, line)
})

test('a refusal names the command to type, not the path of the API', async (t) => {
  const { run } = await demo(t)
  await run('devices', 'stop', 'shaker-1')
  const { code, stderr } = await run('devices', 'shake', 'shaker-1', '--speed', '500', '--duration', '1')
  t.equal(code, 5)
  t.match(stderr, /benchd devices init shaker-1/)
  t.notMatch(stderr, /POST/)
})
