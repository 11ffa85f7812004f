// What root does at a shell on the folder of a service that does not run: a process of the folder's owner does it, with a Node that refuses
// to change its own user, as that of Debian 13 does.

import { type SpawnSyncReturns, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Test, test } from 'tap'

const program = fileURLToPath(new URL('../../bundle/main.js', import.meta.url))
/** Of nobody who is in a list of users. */
const owner = { uid: 54_321, gid: 54_322 }

/** What Node says with libuv 1.49 and later, where it may use io_uring. The process of another user tells what it has. */
const debian = `
const { readdirSync, readlinkSync, writeFileSync } = require('node:fs')
for (const name of ['setuid', 'setgid', 'seteuid', 'setegid', 'setgroups', 'initgroups'])
  process[name] = () => {
    throw Object.assign(new Error(name + '() disabled: io_uring may be enabled. See CVE-2024-22017.'), { code: 'ERR_INVALID_STATE' })
  }
if (process.getuid() !== 0) {
  const [uid, gid, groups, env] = [process.getuid(), process.getgid(), process.getgroups(), Object.keys(process.env)]
  const open = ['0', '1', '2'].map((fd) => readlinkSync('/proc/self/fd/' + fd).replace(/:.*/, ''))
  const session = require('node:fs').readFileSync('/proc/self/stat', 'utf8').split(' ')[5]
  writeFileSync(__dirname + '/seen/' + process.pid, JSON.stringify({ uid, gid, groups, env, open, ownSession: session === String(process.pid) }))
  const watched = require('node:net').connect(__dirname + '/watch').on('error', () => undefined)
  watched.unref()
}
`

const cannot =
  process.geteuid?.() !== 0
    ? 'only root can do this for another user'
    : spawnSync(process.execPath, [program, 'version'], { ...owner, env: {} }).status !== 0
      ? 'Node or the program lies where other users may not read it'
      : false

function prepared(t: Test) {
  const top = mkdtempSync(join(tmpdir(), 'benchd-as-owner-'))
  t.teardown(() => rmSync(top, { recursive: true }))
  chmodSync(top, 0o755)
  for (const name of ['data', 'stick', 'etc', 'home', 'seen']) mkdirSync(`${top}/${name}`, { mode: 0o700 })
  chmodSync(`${top}/seen`, 0o777)
  chownSync(`${top}/data`, owner.uid, owner.gid)
  writeFileSync(`${top}/etc/config.json`, JSON.stringify({ format: 1, system_id: 'bench-7', devices: [] }), { mode: 0o600 })
  writeFileSync(`${top}/debian.cjs`, debian)
  // tap would have every process write into its own folder.
  const variables = { PATH: process.env.PATH, HOME: `${top}/home`, SECRET_OF_ROOT: 'x' }
  const words = [
    '-i',
    ...Object.entries(variables).map(([name, value]) => `${name}=${value}`),
    process.execPath,
    '--require',
    `${top}/debian.cjs`,
    program,
  ]
  const places = ['--data-dir', `${top}/data`, '--config', `${top}/etc/config.json`]
  const run = (...args: string[]) => spawnSync('env', [...words, ...args], { encoding: 'utf8' })
  const seen = () => readdirSync(`${top}/seen`).map((pid) => JSON.parse(readFileSync(`${top}/seen/${pid}`, 'utf8')))
  return { top, run, seen, words, places, here: places.slice(0, 2) }
}

function done({ status, stderr, stdout }: SpawnSyncReturns<string>): string {
  if (status !== 0) throw new Error(`exit ${status}: ${stderr}`)
  return stdout.trim()
}

/** Paths below the folder, of the user alone or of everybody else. */
function notOf(uid: number, folder: string): string[] {
  const paths = readdirSync(folder, { recursive: true }).map((name) => `${folder}/${name}`)
  return [folder, ...paths].filter((path) => lstatSync(path).uid !== uid)
}

test('the stand-in for Debian refuses what Debian refuses', { skip: cannot }, async (t) => {
  const { top } = prepared(t)
  for (const call of ['setgroups([])', 'seteuid(1)', 'setegid(1)']) {
    const { status, stderr } = spawnSync(process.execPath, ['--require', `${top}/debian.cjs`, '-e', `process.${call}`], {
      encoding: 'utf8',
    })
    t.not(status, 0)
    t.match(stderr, /disabled: io_uring may be enabled/)
  }
})

test('keys are made, listed, rotated and revoked, and what is kept of them belongs to the owner', { skip: cannot }, async (t) => {
  const { top, run, seen, here } = prepared(t)
  const key = done(run('key', 'create', '--name', 'a', '--scope', 'read', ...here))
  t.match(key, /^bk_[a-z0-9]{8}_\S{43}$/)
  t.match(JSON.parse(done(run('key', 'list', '--json', ...here))), { keys: [{ key_id: key.slice(3, 11), name: 'a' }] })
  t.match(done(run('key', 'rotate', key.slice(3, 11), ...here)), /^bk_/)
  t.match(done(run('key', 'revoke', key.slice(3, 11), '--yes', ...here)), /is revoked/)
  t.same(notOf(owner.uid, `${top}/data`), [])
  t.match(readFileSync(`${top}/data/audit.jsonl`, 'utf8'), /benchd key create --name a[\s\S]*benchd key rotate[\s\S]*benchd key revoke/)
  // Before a key is rotated or revoked, the keys are listed, so that it may be named by its name.
  const has = { ...owner, groups: [owner.gid], env: [], ownSession: true }
  t.same(
    seen().map(({ open, ...rest }) => rest),
    Array.from({ length: 6 }, () => has),
  )
  t.notMatch(JSON.stringify(seen().map(({ open }) => open)), 'tty')
})

/** The words without the services that run elsewhere on this computer, which may come and go. */
function alone(stderr: string): string {
  return stderr.replace(/ \((?:one|others) [^)]*\)/, '')
}

test('what is refused has the sentence and the exit code that it has without root', { skip: cannot }, async (t) => {
  const { top, run, words, here } = prepared(t)
  const alike = (expected: object, ...args: string[]) => {
    const { status, stdout, stderr } = run(...args)
    t.match({ status, stderr }, expected)
    const theirs = spawnSync('env', [...words, ...args], { ...owner, encoding: 'utf8' })
    t.same({ status, stdout, stderr: alone(stderr) }, { status: theirs.status, stdout: theirs.stdout, stderr: alone(theirs.stderr) })
  }
  alike({ status: 3, stderr: /^benchd: there is no key/m }, 'key', 'revoke', 'nobody00', '--yes', ...here)
  alike({ status: 2, stderr: /^benchd: the key: name/m }, 'key', 'create', '--name', 'a'.repeat(200), '--scope', 'read', ...here)
  writeFileSync(`${top}/no.tar.gz`, 'no archive')
  alike({ status: 1, stderr: /damaged/ }, 'restore', `${top}/no.tar.gz`, '--yes', ...here)
  chmodSync(`${top}/data`, 0o500)
  alike(
    { status: 78, stderr: /may not write in the data folder .*: chmod u\+rwx / },
    'key',
    'create',
    '--name',
    'a',
    '--scope',
    'read',
    ...here,
  )
  chmodSync(`${top}/data`, 0o700)
  for (const name of ['keys.json', 'keys.json.bak']) {
    writeFileSync(`${top}/data/${name}`, '{', { mode: 0o600 })
    chownSync(`${top}/data/${name}`, owner.uid, owner.gid)
  }
  const { status, stderr } = run('key', 'list', ...here)
  t.equal(status, 0)
  t.match(stderr, /^benchd: .*keys\.json/m, 'what the process of the owner reports is said')
})

test('a process of the owner that cannot be begun, or is killed, is told with what to look at', { skip: cannot }, async (t) => {
  const { top, run, words, here } = prepared(t)
  chmodSync(top, 0o700)
  t.match(run('key', 'list', ...here), {
    status: 1,
    stderr: new RegExp(`as its owner, the user ${owner.uid}, broke off \\(\\d+\\); may that`),
  })
  chmodSync(top, 0o755)
  const server = createServer((socket) => socket.destroy()).listen(`${top}/data/offline.sock`)
  await once(server, 'listening')
  chownSync(`${top}/data/offline.sock`, owner.uid, owner.gid)
  const child = spawn('env', [...words, 'key', 'list', ...here])
  await once(server, 'connection')
  process.kill(Number(readdirSync(`${top}/seen`)[0]), 'SIGKILL')
  const [code] = await once(child, 'close')
  t.equal(code, 1)
  server.close()
})

test('however root ends, the process of the owner ends with it', { skip: cannot }, async (t) => {
  const { top, words, here } = prepared(t)
  const held = createServer((socket) => socket.destroy()).listen(`${top}/data/offline.sock`)
  const watch = createServer().listen(`${top}/watch`)
  await Promise.all([once(held, 'listening'), once(watch, 'listening')])
  chownSync(`${top}/data/offline.sock`, owner.uid, owner.gid)
  chmodSync(`${top}/watch`, 0o777)
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGKILL'] as const) {
    const waits = once(held, 'connection')
    const child = spawn('env', [...words, 'key', 'list', ...here], { stdio: 'ignore' })
    const [theirs] = await once(watch, 'connection')
    await waits
    const [gone, closed] = [once(theirs.resume(), 'close'), once(child, 'close')]
    child.kill(signal)
    t.same(await closed, [null, signal])
    await gone
    t.pass(`it is gone after ${signal}`)
  }
  held.close()
  watch.close()
})

test('a backup goes from and to where only root may read, and comes back with its configuration', { skip: cannot }, async (t) => {
  const { top, run, here, places } = prepared(t)
  const key = done(run('key', 'create', '--name', 'a', '--scope', 'read', ...here))
  const path = done(run('backup', `${top}/stick`, '--with-keys', ...places))
  t.match(path, new RegExp(`^${top}/stick/benchd-asked-`))
  t.match(statSync(path), { uid: 0, mode: 0o100_600 })
  t.same(readdirSync(`${top}/data/backups`), [], 'it is not kept twice')
  t.match(run('backup', path, ...places), { status: 5, stderr: /is there already/ })
  const kept = done(run('backup', ...places))
  t.match(kept, `${top}/data/backups/`)
  t.ok(done(run('backup', 'list', '--json', ...here)).includes(basename(kept)), kept)

  t.match(done(run('key', 'revoke', key.slice(3, 11), '--yes', ...here)), /is revoked/)
  writeFileSync(`${top}/etc/config.json`, '{}')
  const again = ['restore', path, '--with-keys', '--with-config', ...places]
  t.match(done(run(...again, '--dry-run')), /replaced +keys\.json[\s\S]*replaced +\/.*\/etc\/config\.json/)
  t.match(run(...again), { status: 2, stderr: /--yes/ })
  const { before } = JSON.parse(done(run(...again, '--yes', '--json')))
  t.ok(existsSync(`${top}/data/${before}/keys.json`))
  t.match(JSON.parse(done(run('key', 'list', '--json', ...here))).keys[0], { revoked_at: null })
  t.match(JSON.parse(readFileSync(`${top}/etc/config.json`, 'utf8')), { system_id: 'bench-7' })
  t.match(statSync(`${top}/etc/config.json`), { uid: 0 })
  t.same(notOf(owner.uid, `${top}/data`), [])
  t.match(readFileSync(`${top}/data/audit.jsonl`, 'utf8'), /benchd backup asked-[\s\S]*benchd restore of 20/)
})

test('root is asked at its terminal', { skip: cannot }, async (t) => {
  const { top, run, words, here, places } = prepared(t)
  done(run('key', 'create', '--name', 'a', '--scope', 'read', ...here))
  const path = done(run('backup', `${top}/stick`, '--with-keys', ...places))
  done(run('key', 'create', '--name', 'b', '--scope', 'read', ...here))
  const answered = async (answer: string) => {
    const line = ['env', ...words, 'restore', path, '--with-keys', ...places].join(' ')
    const child = spawn('script', ['-qec', line, '/dev/null'], { stdio: ['pipe', 'pipe', 'inherit'] })
    const ended = once(child, 'close')
    let stdout = ''
    let isAnswered = false
    for await (const part of child.stdout.setEncoding('utf8')) {
      stdout += part
      // An answer that comes while the terminal is set up may be lost.
      if (isAnswered || !stdout.includes('[y/N] ')) continue
      child.stdin.write(answer)
      isAnswered = true
    }
    const [status] = await ended
    return { status, stdout }
  }
  const count = () => JSON.parse(done(run('key', 'list', '--json', ...here))).keys.length
  t.match(await answered('n\n'), { status: 1, stdout: /\? \[y\/N\] [\s\S]*it was left as it is/ })
  t.equal(count(), 2)
  t.match(await answered('y\n'), { status: 0, stdout: /is as it was on/ })
  t.equal(count(), 1)
})
