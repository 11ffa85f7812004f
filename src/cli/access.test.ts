// Keys by request and approval, the record of who did what, and ports, as a person at a shell has them.

import { execFileSync } from 'node:child_process'
import { X509Certificate } from 'node:crypto'
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { type Test, test } from 'tap'
import { benchd, running, served, spawned } from '../testing/cli.ts'

const good = { format: 1, listen: { host: '127.0.0.1', port: 0 }, devices: [{ device_id: 'arm-1', driver: 'external' }] }

async function serving(t: Test) {
  t.teardown(() => undefined)
  const home = t.testdir({ 'config.json': JSON.stringify(good) })
  const service = await served(t, home)
  return { home, service, url: service.url, here: ['--data-dir', `${home}/data`] }
}

/** Ends the service; answers the hash that its log names. */
async function headAtEnd({ close, words }: Awaited<ReturnType<typeof served>>, pattern: RegExp): Promise<string> {
  await close()
  return pattern.exec(words.join('\n'))![1]!
}

/** The first line on stderr that matches. */
async function heard(child: ReturnType<typeof running>['child'], pattern: RegExp): Promise<string> {
  for await (const line of createInterface({ input: child.stderr })) {
    const found = pattern.exec(line)
    if (found) return found[1] ?? found[0]
  }
  throw new Error(`it ended without ${pattern}`)
}

test('a laptop asks for a key, somebody at the bench approves its code, and the laptop has it', async (t) => {
  const { home, url, here, service } = await serving(t)
  const pairing = running(t, home, ['key', 'pair', '--url', url, '--name', 'notebook', '--scope', 'operate'])
  const code = await heard(pairing.child, /the code is (\S+)/)
  t.match(service.words.at(-1), 'asks for a key')
  t.match(await benchd(home, ['key', 'requests', ...here]), { code: 0, stdout: new RegExp(`${code} +operate .*notebook`) })
  t.match(await benchd(home, ['key', 'approve', 'AAA-AAA', ...here]), { code: 3, stderr: /nobody who asks for a key shows the code/ })
  t.match(await benchd(home, ['key', 'approve', code.toLowerCase().replace('-', ''), ...here]), { code: 0, stdout: /may fetch a key/ })
  const key = await pairing.line(/^bk_\S+$/)
  t.match(await pairing.ended, { code: 0 })
  t.equal((await fetch(`${url}/api/devices`, { headers: { 'X-API-Key': key } })).status, 200)

  const denied = running(t, home, ['key', 'pair', '--url', url, '--name', 'stranger', '--scope', 'admin'])
  const other = await heard(denied.child, /the code is (\S+)/)
  t.match(await benchd(home, ['key', 'approve', other, '--deny', ...here]), { code: 0, stdout: /gets no key/ })
  t.match(await denied.ended, { code: 4 })
  t.match(await benchd(home, ['key', 'pair', '--url', url, '--name', 'x']), { code: 2, stderr: /--scope/ })
})

test('a key is rotated in a service that runs, and where none does', async (t) => {
  const { home, here, service, url } = await serving(t)
  const old = (await benchd(home, ['key', 'create', '--name', 'a', '--scope', 'read', ...here])).stdout.trim()
  const next = (await benchd(home, ['key', 'rotate', old.slice(3, 11), '--overlap', '0', ...here])).stdout.trim()
  const status = async (key: string) => (await fetch(`${url}/api/devices`, { headers: { 'X-API-Key': key } })).status
  t.same([await status(old), await status(next)], [401, 200])
  t.match(await benchd(home, ['key', 'rotate', 'nobody00', ...here]), { code: 3 })
  t.match(await benchd(home, ['key', 'rotate', old.slice(3, 11), '--overlap', 'soon', ...here]), { code: 2, stderr: /not a number/ })
  t.match(await benchd(home, ['whoami', '--url', url, '--key', next]), { code: 0, stdout: `a (${next.slice(3, 11)}), scope read\n` })
  t.match(await benchd(home, ['whoami', ...here]), { code: 0, stdout: 'local (local), scope admin\n' })
  await service.close()
  t.match(await benchd(home, ['key', 'rotate', next.slice(3, 11), ...here]), { code: 0, stdout: /^bk_/ })
})

test('a key is rotated and revoked by its name, and where several have the name their ids are told', async (t) => {
  const { home, here, service, url } = await serving(t)
  const key = (...args: string[]) => benchd(home, ['key', ...args, ...here])
  const laptop = (await key('create', '--name', 'laptop', '--scope', 'read')).stdout.trim()
  const next = (await key('rotate', 'laptop', '--overlap', '0')).stdout.trim()
  const status = async (text: string) => (await fetch(`${url}/api/devices`, { headers: { 'X-API-Key': text } })).status
  t.same([await status(laptop), await status(next)], [401, 200], 'the one that has ended is not meant any more')
  const guest = (await key('create', '--name', 'visitor', '--scope', 'read')).stdout.trim().slice(3, 11)
  t.match(await key('rotate', 'visitor'), { stderr: new RegExp(`until you revoke it: benchd key revoke ${guest}`) })
  const other = (await key('create', '--name', 'laptop', '--scope', 'read')).stdout.trim()
  const ids = [next, other].map((text) => text.slice(3, 11))
  const several = await key('revoke', 'laptop', '--yes')
  t.match(several, { code: 2, stderr: new RegExp(`several keys have that name: ${ids[0]} .*, ${ids[1]} .*; name one by its id`) })
  t.match(await key('revoke', ids[1]!, '--yes'), { code: 0, stdout: `key ${ids[1]} (laptop) is revoked\n` })
  t.match(await key('revoke', 'laptop'), { code: 2, stderr: /would revoke key \S+ \(laptop\)/ })
  t.match(await key('revoke', 'laptop', '--yes'), { code: 0 })
  t.equal(await status(next), 401)
  t.match(await key('revoke', 'laptop', '--yes'), { code: 0, stdout: new RegExp(laptop.slice(3, 11)) }, 'one that has ended is left')
  const again = await key('revoke', 'laptop', '--yes')
  t.match(again, { code: 3, stderr: /there is no key of that id or name; see: benchd key list/ })
  await key('create', '--name', 'guest', '--scope', 'read')
  await service.close()
  t.match(await key('revoke', 'guest', '--yes'), { code: 0, stdout: /\(guest\) is revoked/ })
})

test('a key is given an end, and the list says when it has ended, whatever stands there', async (t) => {
  t.teardown(() => undefined)
  const home = t.testdir({ data: {} })
  const here = ['--data-dir', `${home}/data`]
  const made = async (...more: string[]) =>
    JSON.parse((await benchd(home, ['key', 'create', '--name', 'a', '--scope', 'read', '--json', ...more, ...here])).stdout)
  const soon = await made('--expires', '90d')
  t.ok(Math.abs(soon.expires_at - Date.now() / 1000 - 90 * 86_400) < 60)
  t.equal((await made('--expires', '2037-06-30')).expires_at, new Date(2037, 6, 1).getTime() / 1000)
  t.equal((await made('--expires', '2037-06-30T18:00Z')).expires_at, Date.UTC(2037, 5, 30, 18) / 1000)
  t.equal((await made()).expires_at, null)
  const rotate = ['key', 'rotate', soon.key_id, '--json', '--expires', 'never', ...here]
  t.equal(JSON.parse((await benchd(home, rotate)).stdout).expires_at, null)
  for (const when of ['90', '2037-02-30', '2037-13-01', 'tomorrow', '1795199596000', '']) {
    const refused = await benchd(home, ['key', 'create', '--name', 'a', '--scope', 'read', '--expires', when, ...here])
    t.match(refused, { code: 2, stderr: /is no time; write 12h, 90d|no day of the calendar; write a day/ }, when)
  }
  t.match(await benchd(home, ['key', 'create', '--name', 'a', '--scope', 'read', '--expires', '2001-01-01', ...here]), {
    code: 2,
    stderr: /in the past/,
  })

  const path = `${home}/data/keys.json`
  const { sha256: _, ...file } = JSON.parse(readFileSync(path, 'utf8'))
  const [first, second, ...rest] = file.keys
  const keys = [{ ...first, expires_at: 1e9 }, { ...second, expires_at: 9e15 }, ...rest]
  writeFileSync(path, JSON.stringify({ ...file, keys }), { mode: 0o600 })
  const list = await benchd(home, ['key', 'list', ...here])
  t.match(list, { code: 0, stderr: /these are the keys that it holds\n$/ })
  t.match(list.stdout, new RegExp(`${first.key_id} .*expired 2001-09-09T01:46Z `))
  t.match(list.stdout, new RegExp(`${second.key_id} .*until 9000000000000000 s `))
})

test('the fingerprint of the certificate is printed at the start and by config check, and a client that does not trust it says how to', async (t) => {
  t.teardown(() => undefined)
  const home = t.testdir({})
  execFileSync(fileURLToPath(new URL('../../../scripts/make-cert.sh', import.meta.url)), [`${home}/tls`], { stdio: 'pipe' })
  const tls = { cert: `${home}/tls/cert.pem`, key: `${home}/tls/key.pem` }
  writeFileSync(`${home}/config.json`, JSON.stringify({ ...good, listen: { ...good.listen, tls } }))
  const { fingerprint256 } = new X509Certificate(readFileSync(tls.cert))
  t.match((await benchd(home, ['config', 'check', `${home}/config.json`])).stdout, fingerprint256)
  const service = running(t, home, ['serve', '--config', `${home}/config.json`, '--data-dir', `${home}/data`])
  const url = await service.line(/(https:\/\/[\d.]+:\d+)/)
  t.match(await service.line(/fingerprint (\S+?)"/), fingerprint256)
  const key = (await benchd(home, ['key', 'create', '--name', 'a', '--scope', 'read', '--data-dir', `${home}/data`])).stdout.trim()
  t.match(await benchd(home, ['whoami', '--url', url, '--key', key]), { code: 69, stderr: /self-signed certificate.*NODE_EXTRA_CA_CERTS/ })
  t.match(await spawned(home, ['whoami', '--url', url, '--key', key], { NODE_EXTRA_CA_CERTS: tls.cert }), { code: 0, stdout: /scope read/ })

  const far = ['--url', url, '--key', key]
  t.match(await benchd(home, ['status', '--data-dir', `${home}/data`]), { code: 0, stdout: new RegExp(`certificate ${fingerprint256}`) })
  t.match(await benchd(home, ['whoami', ...far, '--fingerprint', fingerprint256]), { code: 0, stdout: /scope read/ })
  t.match(await benchd(home, ['whoami', ...far], { BENCHD_FINGERPRINT: fingerprint256.replaceAll(':', '').toLowerCase() }), { code: 0 })
  const wrong = `${fingerprint256.startsWith('00') ? '11' : '00'}${fingerprint256.slice(2)}`
  const refused = await benchd(home, ['whoami', ...far, '--fingerprint', wrong])
  t.match(refused, { code: 4, stdout: '', stderr: new RegExp(`is ${fingerprint256}, not the one that was named`) })
  t.match(await benchd(home, ['whoami', ...far, '--fingerprint', 'abc']), { code: 2, stderr: /no SHA-256 fingerprint/ })
  t.match(await benchd(home, ['whoami', '--url', 'http://127.0.0.1:1', '--fingerprint', wrong]), { code: 2, stderr: /wants https/ })
  mkdirSync(`${home}/.config/benchd`, { recursive: true })
  const remembered = { url, api_key: key, fingerprint: fingerprint256 }
  writeFileSync(`${home}/.config/benchd/credentials.json`, JSON.stringify(remembered), { mode: 0o600 })
  t.match(await benchd(home, ['whoami', '--url', url]), { code: 0, stdout: /scope read/ })
})

test('who did what is printed, also what was done without the service, and what was changed in it is found', async (t) => {
  const { home, here, service } = await serving(t)
  await benchd(home, ['key', 'create', '--name', 'a', '--scope', 'read', ...here])
  t.match(await benchd(home, ['audit', 'tail', ...here]), {
    code: 0,
    stdout: /Started benchd \d[\s\S]*local +admin +201 +Created the key a with scope read\n/,
  })
  const head = await headAtEnd(service, /audit: line \d+ has the hash ([0-9a-f]{64})/)
  const whole = await benchd(home, ['audit', 'verify', '--head', head, ...here])
  t.match(whole, { code: 0, stdout: new RegExp(`1 files, lines 1 to 3, 3 in all, 0 torn, 0 places[\\s\\S]*head ${head}`) })
  await benchd(home, ['key', 'create', '--name', 'b', '--scope', 'read', ...here])
  const path = `${home}/data/audit.jsonl`
  t.match(readFileSync(path, 'utf8').trim().split('\n').at(-1), 'benchd key create --name b --scope read')
  t.match(await benchd(home, ['audit', 'verify', path, '--json']), { code: 0, stdout: /"lines":4/ })
  t.match(await benchd(home, ['audit', 'verify', '--head', 'f'.repeat(64), ...here]), { code: 1, stdout: /no line has the hash/ })
  writeFileSync(path, readFileSync(path, 'utf8').replace('"status":201', '"status":403'))
  t.match(await benchd(home, ['audit', 'verify', ...here]), { code: 1, stdout: /audit\.jsonl:2: line 2 is not as it was written/ })
  t.match(await benchd(home, ['audit', 'verify', `${home}/nothing.jsonl`]), { code: 3, stderr: /there is no audit trail/ })
})

test('BENCHD_OPERATOR goes with what is changed, and who did what is found by the person', async (t) => {
  const { home, here } = await serving(t)
  await benchd(home, ['key', 'create', '--name', 'a', '--scope', 'read', ...here], { BENCHD_OPERATOR: ' Jürgen ' })
  await benchd(home, ['key', 'create', '--name', 'b', '--scope', 'read', ...here])
  const { stdout } = await benchd(home, ['audit', 'tail', '--who', 'jÜrgen', ...here])
  t.match(stdout, /^TIME \(\S+\) +WHO[\s\S]*local, said to be Jürgen +admin +201 +Created the key a with scope read\n$/)
  t.match((await benchd(home, ['audit', 'tail', '--text', 'the key b', ...here])).stdout, /\n\S+ +local +admin +201 .*the key b/)
  t.match((await benchd(home, ['audit', 'tail', '--since', '1d', '--until', '1h', ...here])).stderr, /no such request is recorded/)
  const bad = await benchd(home, ['key', 'create', '--name', 'c', '--scope', 'read', ...here], { BENCHD_OPERATOR: 'a\u0007' })
  t.match(bad, { code: 2, stderr: /BENCHD_OPERATOR must hold a name of at most 64 characters/ })
})

test('what was refused has a chain of its own, which is shown and followed beside the other', async (t) => {
  const { home, here, service } = await serving(t)
  await benchd(home, ['key', 'create', '--name', 'a', '--scope', 'read', ...here])
  t.match(await benchd(home, ['topology', 'load', 'nobody', ...here]), { code: 3 })
  t.match(await benchd(home, ['audit', 'tail', ...here]), {
    code: 0,
    stdout: /201 +Created the key \w+ .*\n.*404 +Wanted to load the topology nobody, which was refused: not_found\n/,
  })
  t.notMatch((await benchd(home, ['audit', 'tail', '--outcome', 'done', ...here])).stdout, /404/)
  t.notMatch((await benchd(home, ['audit', 'tail', '--outcome', 'refused', ...here])).stdout, /201/)
  t.match(await benchd(home, ['audit', 'tail', '--outcome', 'else', ...here]), { code: 2 })
  const head = await headAtEnd(service, /audit of refusals: line 1 has the hash ([0-9a-f]{64})/)
  const [done, refused] = ['audit.jsonl', 'audit-refused.jsonl'].map((name) => `${home}/data/${name}`) as [string, string]
  t.match(await benchd(home, ['audit', 'verify', '--head', head, ...here]), {
    code: 0,
    stdout: new RegExp(`^audit.jsonl: 1 files, lines 1 to 3.*\nhead \\w+\naudit-refused.jsonl: 1 files, lines 1 to 1.*\nhead ${head}\n$`),
  })
  t.match(await benchd(home, ['audit', 'verify', '--json', ...here]), { code: 0, stdout: /"lines":3.*"refused":\{.*"lines":1/ })
  t.match(await benchd(home, ['audit', 'verify', refused]), { code: 0, stdout: /lines 1 to 1/ })
  writeFileSync(refused, readFileSync(refused, 'utf8').replace('"status":404', '"status":403'))
  t.match(await benchd(home, ['audit', 'verify', ...here]), { code: 1, stdout: /audit-refused\.jsonl:1: line 1 is not as it was written/ })
  t.match(await benchd(home, ['audit', 'verify', done]), { code: 0 })
})

test('two ports of one adapter, and adapters that say the same of themselves, are told apart in the list of ports', async (t) => {
  const root = `${t.testdir()}/root`
  const socketOf = { ttyUSB0: '1-1:1.0-port0', ttyUSB1: '1-1:1.1-port0', ttyUSB2: '1-2:1.0-port0' }
  mkdirSync(`${root}/dev/serial/by-path`, { recursive: true })
  for (const [name, socket] of Object.entries(socketOf)) {
    const usb = `${root}/sys/devices/usb/${socket}`
    for (const folder of [usb, `${root}/sys/class/tty/${name}`]) mkdirSync(folder, { recursive: true })
    writeFileSync(`${usb}/idVendor`, '1a86\n')
    writeFileSync(`${usb}/idProduct`, '7523\n')
    symlinkSync(`../../../devices/usb/${socket}`, `${root}/sys/class/tty/${name}/device`)
    symlinkSync(`../../${name}`, `${root}/dev/serial/by-path/usb-${socket}`)
  }
  const { stdout } = await benchd(t.testdirName, ['ports', '--root', root])
  t.match(stdout, /ttyUSB0 and \S+ttyUSB1 are two ports of one adapter\n/)
  for (const one of [0, 1])
    t.match(
      stdout,
      new RegExp(
        `ttyUSB${one} and \\S+ttyUSB2 are adapters that say the same of themselves; name each by its socket, e\\.g\\. \\S+by-path/usb-`,
      ),
    )
  t.equal(stdout.match(/ and /g)?.length, 3)
})

test('ports of the service and of this computer are listed, and one that is unplugged and plugged in again is named', async (t) => {
  const { home, here } = await serving(t)
  t.match(JSON.parse((await benchd(home, ['ports', '--json', ...here])).stdout), { ports: Array })
  t.match(await benchd(home, ['ports', '--data-dir', `${home}/nobody`]), { code: 69, stderr: /benchd ports --here/ })
  const root = `${home}/root`
  const adapter = `${root}/dev/serial/by-id/usb-FTDI_A50285BI-if00-port0`
  const tty = `${root}/sys/class/tty/ttyUSB0`
  const plug = () => {
    for (const folder of [`${root}/sys/devices/usb/1-1`, tty, `${root}/dev/serial/by-id`]) mkdirSync(folder, { recursive: true })
    symlinkSync('../../ttyUSB0', adapter)
    symlinkSync('../../../devices/usb/1-1', `${tty}/device`)
  }
  plug()
  t.match(await benchd(home, ['ports', '--root', root]), { code: 0, stdout: /ttyUSB0.*usb-FTDI_A50285BI/ })
  const identify = running(t, home, ['ports', '--identify', '--root', root])
  const lines = createInterface({ input: identify.child.stderr })[Symbol.asyncIterator]()
  t.match((await lines.next()).value, /1 ports; unplug/)
  rmSync(`${tty}/device`)
  rmSync(adapter)
  t.match((await lines.next()).value, /usb-FTDI_A50285BI-if00-port0 is gone; plug it in again/)
  plug()
  t.match(await identify.line(/^it is .*/), /usb-FTDI_A50285BI-if00-port0 \(.*ttyUSB0\)/)
  t.match(await identify.ended, { code: 0 })
})
