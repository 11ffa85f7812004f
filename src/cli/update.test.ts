// What is done with a package file before anything of it is installed.

import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, chownSync, copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { type Test, test } from 'tap'
import { fakeProgram, spawned } from '../testing/cli.ts'
import { signatureOf } from './package_signature.ts'

const architecture = execFileSync('dpkg', ['--print-architecture'], { encoding: 'utf8' }).trim()

function prepared(t: Test) {
  const home = t.testdir({})
  const PATH = fakeProgram(
    `${home}/bin`,
    'dpkg-query',
    `[ "$1" != --control-show ] || exec cat ${home}/installed/$3; printf "installed\\n0.5.0"`,
  )
  // These tests may be root's, and must install nothing.
  fakeProgram(`${home}/bin`, 'apt-get', 'exit 100')
  const update = (path: string, ...words: string[]) => spawned(home, ['update', path, ...words], { PATH })
  return { home, update, made: (name: string, version: string, of = architecture) => debianPackage(home, name, version, of) }
}

test('an update refuses what is no newer benchd for this computer, before anything is ended', async (t) => {
  const { home, update } = prepared(t)
  writeFileSync(`${home}/config.json`, '{}')
  const other = architecture === 'arm64' ? 'amd64' : 'arm64'
  t.match(await update(`${home}/none.deb`), { code: 3, stderr: /none\.deb cannot be read: there is no such file/ })
  t.match(await update(`${home}/config.json`), { code: 1, stderr: /is no Debian package/ })
  t.match(await update(debianPackage(home, 'other', '1.0', architecture)), { code: 2, stderr: /is the package other, not benchd/ })
  t.match(await update(debianPackage(home, 'benchd', '1.0', other)), {
    code: 2,
    stderr: new RegExp(`is for ${other}, and this computer is`),
  })
  t.match(await update(debianPackage(home, 'benchd', '0.4.9', architecture)), { code: 5, stderr: /older than 0\.5\.0.*--downgrade/ })
  t.match(await update(debianPackage(home, 'benchd', '0.5.0', architecture)), { code: 0, stdout: /is installed already/ })
  const newer = debianPackage(home, 'benchd', '0.6.0', architecture)
  writeFileSync(newer, readFileSync(newer).subarray(0, -8))
  t.match(await update(newer), { code: 1, stderr: /is damaged; copy it again|is no Debian package/ })
  const absent = fakeProgram(`${home}/bin2`, 'dpkg-query', 'exit 1')
  t.match(await spawned(home, ['update', newer], { PATH: absent }), { code: 1, stderr: /was not installed as a package here/ })
})

test('another build of the installed version is no version that is installed already', async (t) => {
  const { home, update, made } = prepared(t)
  const path = made('benchd', '0.5.0')
  mkdirSync(`${home}/installed`)
  for (const part of ['md5sums', 'postinst']) {
    writeFileSync(`${home}/installed/${part}`, 'of another build')
    // Nothing is installed: the key is none.
    writeFileSync(`${home}/key.pub`, 'no key')
    t.match(await update(path, '--public-key', `${home}/key.pub`), { code: 78, stderr: /is no public key/ }, part)
    rmSync(`${home}/installed/${part}`)
  }
  t.match(await update(path), { code: 0, stdout: /this build of benchd 0\.5\.0 is installed already/ })
})

test('the SHA-256 is said, and must be the one of the list beside it', async (t) => {
  const { home, update, made } = prepared(t)
  const path = made('benchd', '0.5.0')
  const sha256 = createHash('sha256').update(readFileSync(path)).digest('hex')
  t.match((await update(path)).stderr, `SHA-256 of ${path}: ${sha256}`)
  const newer = made('benchd', '0.6.0')
  const name = newer.slice(home.length + 1)
  for (const line of [`${'0'.repeat(64)}  ${name}`, `${sha256} *${name}`]) {
    writeFileSync(`${home}/SHA256SUMS`, `${sha256}  another.deb\n${line}\n`)
    const { code, stderr } = await update(newer)
    t.equal(code, 1, line)
    t.match(stderr, /SHA256SUMS names: it is damaged, or another one; copy it again/)
  }
})

test('apt keeps configuration files that were changed, and is asked for nothing else', {
  skip: process.geteuid?.() !== 0 && 'only root may install',
}, async (t) => {
  const { home, made } = prepared(t)
  const BENCHD_DATA_DIR = `${home}/data`
  mkdirSync(BENCHD_DATA_DIR, { mode: 0o700 })
  const PATH = fakeProgram(`${home}/bin`, 'apt-get', `printf "%s\\n" "$@" >${home}/asked; kill -9 $PPID`)
  // The program of the update would wait for a service that is healthy.
  await spawned(home, ['update', made('benchd', '0.6.0')], { PATH, BENCHD_DATA_DIR })
  const asked = readFileSync(`${home}/asked`, 'utf8').trim().split('\n')
  t.same(asked.slice(0, -1), ['install', '--yes', '--no-remove', '-o', 'Dpkg::Options::=--force-confold'])
  t.match(asked.at(-1), /\.deb$/)
})

test('a package without a signature by the key is not installed', async (t) => {
  const { home, update, made } = prepared(t)
  const path = made('benchd', '0.6.0')
  const key = `${home}/key.pub`
  writeFileSync(key, `untrusted comment: a key\nRW${'A'.repeat(54)}\n`)
  t.match(await update(path, '--public-key', key), {
    code: 1,
    stderr: /was not installed: .*key\.pub wants a signature by minisign, .*\.deb\.minisig, beside it/,
  })
  writeFileSync(key, 'no key')
  t.match(await update(path, '--public-key', key), { code: 78, stderr: /is no public key of minisign or gpg/ })
  chmodSync(key, 0o666)
  t.match(await update(path, '--public-key', key), { code: 78, stderr: /could have been put there by others/ })
  t.same(
    readdirSync(tmpdir()).filter((name) => name.startsWith('benchd-update-')),
    [],
    'no copy is left',
  )
})

/** Both kinds of key, each as its program makes one, and what signs with it. */
const signers: Record<string, (home: string) => { key: string; ending: string; sign(path: string): void }> = {
  minisign(home) {
    execFileSync('minisign', ['-GWf', '-p', `${home}/mini.pub`, '-s', `${home}/mini.key`], { stdio: 'pipe' })
    const sign = (path: string) => execFileSync('minisign', ['-S', '-s', `${home}/mini.key`, '-m', path], { stdio: 'pipe' })
    return { key: `${home}/mini.pub`, ending: '.minisig', sign }
  },
  gpg(home) {
    mkdirSync(`${home}/gnupg`, { mode: 0o700 })
    const gpg = (...words: string[]) =>
      execFileSync('gpg', ['--homedir', `${home}/gnupg`, '--batch', '--pinentry-mode', 'loopback', '--passphrase', '', ...words], {
        stdio: 'pipe',
      })
    gpg('--quick-generate-key', 'a maker <maker@localhost>', 'ed25519', 'sign', '1d')
    writeFileSync(`${home}/key.asc`, gpg('--armor', '--export'))
    return { key: `${home}/key.asc`, ending: '.asc', sign: (path) => void gpg('--yes', '--armor', '--detach-sign', path) }
  },
}

const missing = (name: string) => [name, 'gpgconf'].some((each) => spawnSync(each, ['--version']).error) && `${name} is not installed here`

for (const [name, signer] of Object.entries(signers))
  test(`a signature by ${name} is verified, of the copy, by the key that the administrator put there`, {
    skip: missing(name),
  }, async (t) => {
    // Of a short name: gpg's agent listens in it.
    const home = execFileSync('mktemp', ['-d'], { encoding: 'utf8' }).trim()
    t.teardown(() => {
      execFileSync('gpgconf', ['--homedir', `${home}/gnupg`, '--kill', 'all'], { stdio: 'ignore' })
      rmSync(home, { recursive: true })
    })
    const { key, ending, sign } = signer(home)
    const [path, copy] = [`${home}/benchd.deb`, `${home}/copy.deb`]
    writeFileSync(path, 'a package')
    copyFileSync(path, copy)
    let times = 0
    const verified = (of = copy) => {
      const folder = `${home}/folder${times++}`
      mkdirSync(folder, { mode: 0o700 })
      return signatureOf(path, of, folder, key)
    }
    await t.rejects(verified(), { message: new RegExp(`wants a signature by ${name}, benchd\\.deb\\${ending}`) })
    writeFileSync(`${path}${ending}`, 'no signature')
    await t.rejects(verified(), { message: /is no signature of .* by the key in .*so it was not installed/ })
    sign(path)
    t.equal(await verified(), `${path}${ending} is a signature of it by the key in ${key}`)
    writeFileSync(copy, 'a Package')
    await t.rejects(verified(), { exit: 'failed', message: /is no signature of .*so it was not installed; take both again/ })
    copyFileSync(path, copy)
    // Of another maker.
    mkdirSync(`${home}/other`)
    const other = signer(`${home}/other`)
    other.sign(path)
    await t.rejects(verified(), { message: /is no signature of/ })
    t.equal(await signatureOf(path, copy, home, `${home}/none.pub`), undefined, 'where there is no key')
    if (process.geteuid?.() === 0) {
      chownSync(key, 54_321, 0)
      await t.rejects(verified(), { message: /could have been put there by others/ })
    }
    t.ok(existsSync(copy))
    execFileSync('gpgconf', ['--homedir', `${home}/other/gnupg`, '--kill', 'all'], { stdio: 'ignore' })
  })

test('a program that is not there is named with how to have it', async (t) => {
  const home = t.testdir({ 'benchd.deb': 'a package', 'benchd.deb.minisig': 'a signature', folder: {} })
  const key = `${home}/key.pub`
  writeFileSync(key, `RW${'A'.repeat(54)}\n`)
  const { PATH } = process.env
  process.env.PATH = home
  t.teardown(() => {
    process.env.PATH = PATH
  })
  await t.rejects(signatureOf(`${home}/benchd.deb`, `${home}/benchd.deb`, `${home}/folder`, key), { message: /sudo apt install minisign/ })
})

function debianPackage(home: string, name: string, version: string, architecture: string): string {
  const root = `${home}/${name}-${version}-${architecture}`
  mkdirSync(`${root}/DEBIAN`, { recursive: true })
  const fields = {
    Package: name,
    Version: version,
    Architecture: architecture,
    Maintainer: 'nobody <nobody@localhost>',
    Description: 'a test',
  }
  writeFileSync(
    `${root}/DEBIAN/control`,
    Object.entries(fields)
      .map(([field, value]) => `${field}: ${value}\n`)
      .join(''),
  )
  execFileSync('dpkg-deb', ['--root-owner-group', '--build', root, `${root}.deb`])
  return `${root}.deb`
}
