// The programs of bridges under systemd: a user of their own, nothing of the service's, and gone with their connection.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { journal, processes, property, service, systemctl } from './service_unit.ts'
import { until } from './waiting.ts'

const slow_ms = 120_000
const config = '/etc/benchd/config.json'
const [unit, otherUnit] = ['benchd-bridge@reader-1', 'benchd-bridge@reader-2']
const home = '/var/lib/benchd-bridges/reader-1'
/** The users that systemd makes, by `DynamicUser=`. */
const [firstUser, lastUser] = [61184, 65519]

/** A program that does to its computer what its operations say. */
const program = `
import { spawn } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { createInterface } from 'node:readline'

const attempt = (act) => { try { act(); return 'done' } catch ({ code }) { return code } }
const connected = (path) => new Promise((resolve) => {
  connect(path).on('connect', () => resolve('done')).on('error', ({ code }) => resolve(code))
})
const operations = {
  async disturb({ pid, home }) {
    const data = {}
    for (const path of [\`/proc/\${pid}/environ\`, home + '/note']) data[path] = attempt(() => readFileSync(path))
    data.home = attempt(() => readdirSync(home))
    data.signal = attempt(() => process.kill(pid, 'SIGTERM'))
    return { data: { ...data, uid: process.getuid() } }
  },
  async look() {
    const data = {}
    for (const path of ['/var/lib/benchd/keys.json', '/etc/benchd/config.json', '/etc/benchd/tls/key.pem', '/proc/self/fd/0/../config'])
      data[path] = attempt(() => readFileSync(path))
    for (const path of ['/run/benchd/control.sock', '/run/benchd-bridges/reader-1.sock']) data[path] = await connected(path)
    data.home = attempt(() => writeFileSync(process.env.HOME + '/note', ''))
    data.etc = attempt(() => writeFileSync('/etc/benchd/bridges/reader.mjs', ''))
    return { data: { ...data, pid: process.pid, uid: process.getuid(), secret: JSON.stringify(process.env).includes('T0K3N') } }
  },
  async spread() {
    for (let n = 0; n < 3; n++) spawn('sleep', ['4711'], { detached: true, env: {}, stdio: 'ignore' }).unref()
    return {}
  },
  async eat() {
    for (const kept = []; ; ) kept.push(Buffer.alloc(16 * 1024 * 1024, 1))
  },
}
const other = { properties: { pid: { type: 'integer' }, home: { type: 'string' } }, required: ['pid', 'home'] }
const seconds = 60
const describe = { protocol: 1, type: 'reader', model: 'Confined', operations: { look: { seconds }, disturb: { params: other, seconds }, spread: { seconds }, eat: { seconds } } }
for await (const line of createInterface({ input: process.stdin })) {
  const { id, method, params } = JSON.parse(line)
  const result = method === 'describe' ? describe : method === 'perform' ? await operations[params.operation](params.params) : {}
  if (result) console.log(JSON.stringify({ jsonrpc: '2.0', id, result }))
}
`

type Device = { state: string; fault: { error: string } | null }
const device = (device_id = 'reader-1') => service<Device>('GET', `/api/devices/${device_id}`)
const call = <Answer>(operation: string, body: object = {}, device_id = 'reader-1') =>
  service<Answer>('POST', `/api/devices/${device_id}/${operation}`, body)
const perform = <Answer>(operation: string) => call<Answer>('perform', { operation })
function isThere(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
const sleepers = () => execFileSync('sh', ['-c', 'pgrep -xc sleep || true'], { encoding: 'utf8' }).trim()

/** Leaves the service stopped, and its configuration as it was. */
export async function bridgesAreConfined(): Promise<void> {
  const before = readFileSync(config)
  mkdirSync('/etc/benchd/bridges', { recursive: true })
  writeFileSync('/etc/benchd/bridges/reader.mjs', program)
  writeFileSync('/etc/benchd/tls/key.pem', 'a key', { mode: 0o640 })
  const transport = { kind: 'bridge', command: ['/usr/bin/node', '/etc/benchd/bridges/reader.mjs'] }
  const reader = { device_id: 'reader-1', driver: 'bridge', type: 'reader', transport }
  const other = { ...reader, device_id: 'reader-2' }
  // Read by nobody but root and the service: another bridge has a secret in it.
  const secret = { ...reader, device_id: 'reader-3', transport: { kind: 'bridge', command: ['/bin/cat', 'T0K3N'] } }
  writeFileSync(config, JSON.stringify({ format: 1, devices: [reader, other, secret] }))
  execFileSync('chgrp', ['benchd', config])
  execFileSync('chmod', ['0640', config])
  mkdirSync(`/etc/systemd/system/${unit}.service.d`)
  writeFileSync(`/etc/systemd/system/${unit}.service.d/memory.conf`, '[Service]\nMemoryMax=160M\n')
  await systemctl('reload', 'benchd')
  await until('the service says what is missing', () => journal().includes(`sudo systemctl enable --now ${unit}.socket`), slow_ms)
  await systemctl('enable', '--now', `${unit}.socket`)
  await until('it has described itself', async () => (await device()).state === 'not_initialized', slow_ms)
  await call('initialize')

  const { data } = await perform<{ data: Record<string, unknown> }>('look')
  const { pid, uid, ...looked } = data as { pid: number; uid: number }
  assert.ok(uid >= firstUser && uid <= lastUser, `user ${uid}`)
  assert.deepEqual(looked, {
    '/var/lib/benchd/keys.json': 'EACCES',
    '/etc/benchd/config.json': 'ENOENT',
    '/etc/benchd/tls/key.pem': 'ENOENT',
    '/proc/self/fd/0/../config': 'ENOTDIR',
    '/run/benchd/control.sock': 'EACCES',
    '/run/benchd-bridges/reader-1.sock': 'EACCES',
    home: 'done',
    etc: 'EROFS',
    secret: false,
  })

  // The program of another bridge has another user, and finds nothing of this one.
  await systemctl('start', `${otherUnit}.socket`)
  await until('the other has described itself', async () => (await device('reader-2')).state === 'not_initialized', slow_ms)
  await call('initialize', {}, 'reader-2')
  const disturbing = { operation: 'disturb', params: { pid, home } }
  const { data: disturbed } = await call<{ data: Record<string, unknown> }>('perform', disturbing, 'reader-2')
  const { uid: otherUser, ...tried } = disturbed
  assert.ok(otherUser !== uid, `both are user ${uid}`)
  const { signal, ...files } = tried
  assert.equal(signal, 'EPERM')
  for (const [path, outcome] of Object.entries(files)) assert.match(String(outcome), /^(EACCES|ENOENT)$/, path)
  assert.ok(isThere(pid))
  await systemctl('stop', `${otherUnit}.socket`)

  // The program leaves processes behind that only their control group shows, and eats memory.
  await perform('spread')
  assert.equal(sleepers(), '3')
  await assert.rejects(perform('eat'))
  assert.match((await device()).fault?.error ?? '', /needs more memory than the MemoryMax of its unit/)
  await until('what it left behind is gone', () => sleepers() === '0', slow_ms)

  // The program goes with the service, however that ends.
  await until('it is back', async () => processes(`${unit}.service`).length > 0 && (await device()).state !== 'disconnected', slow_ms)
  const first = Number(property('MainPID', `${unit}.service`))
  assert.ok(!isThere(pid) && first > 0 && isThere(first))
  process.kill(Number(property('MainPID')), 'SIGKILL')
  await until('it is gone', () => !isThere(first), slow_ms)
  await systemctl('stop', 'benchd')
  await until('it has ended', () => processes(`${unit}.service`).length === 0, slow_ms)

  await systemctl('stop', `${unit}.socket`)
  rmSync('/etc/benchd/tls/key.pem')
  // The tests after this one count no crash, and know no reader that a kill left without an acknowledged halt.
  for (const name of ['starts.json', 'runs.jsonl']) rmSync(`/var/lib/benchd/${name}`, { force: true })
  writeFileSync(config, before)
  execFileSync('chmod', ['0644', config])
}
