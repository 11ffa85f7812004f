#!/usr/bin/env node
// What the stores do on disks that are full, read-only and dying: real ones, mounted for the purpose.
//
//   disk-faults.mjs    on the code in dist/ (or in the folder that $BENCHD_DIST names), built before
//
// Needs root, loop devices, /dev/fuse and Debian's qemu-system-common. Where these are missing it fails, it never passes over.
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statfsSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'

const dist = process.env.BENCHD_DIST ?? fileURLToPath(new URL('../../dist', import.meta.url))
const load = (path) => import(pathToFileURL(resolve(dist, path)))
const { Teachpoints } = await load('src/teachpoints/store.js')
const { Keys } = await load('src/keys/keys.js')

const trials = {
  async 'a full disk refuses writes, serves reads and starts, and takes writes again when there is space'(place) {
    mount(place, '-t', 'tmpfs', '-o', 'size=256k', 'tmpfs', place.mounted)
    const { store, open, folder } = await begin(place)
    const told = []
    const keys = await Keys.open({ folder, report: ({ message }) => told.push(message) })
    place.undo.push(() => keys.close())
    const { api_key, key_id } = await keys.create({ name: 'one', scope: 'read' })
    await store.create(point('home'))
    fill(place.mounted)
    await rejects(store.importAll(many(400), { overwrite: false }), 'ENOSPC')
    await rejects(store.create(point('more')), 'ENOSPC')
    await rejects(store.delete('arm-1', 'home'), 'ENOSPC')
    await rejects(keys.revoke(key_id), 'ENOSPC')
    assert.ok(keys.check(api_key), 'a key works')
    await keys.reload()
    assert.match(told.join(), /^the last use of a key was not noted: keys\.json was not written/)
    assert.deepEqual(names(store), ['home'])
    assert.deepEqual(names(await open()), ['home'])
    assert.deepEqual(leftovers(folder), [])
    rmSync(join(place.mounted, 'ballast'))
    await store.importAll(many(400), { overwrite: false })
    await keys.revoke(key_id)
    assert.equal(names(await open()).length, 401)
  },

  async 'a read-only disk refuses writes, serves reads and starts, with a damaged file too'(place) {
    mount(place, '-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', place.mounted)
    const { store, open, folder } = await begin(place)
    await store.create(point('home'))
    await store.create(point('safe'))
    run('mount', '-o', 'remount,ro', place.mounted)
    await rejects(store.create(point('more')), 'EROFS')
    assert.deepEqual(names(store), ['home', 'safe'])
    assert.deepEqual(names(await open()), ['home', 'safe'])

    run('mount', '-o', 'remount,rw', place.mounted)
    writeFileSync(join(folder, 'teachpoints.json'), '')
    run('mount', '-o', 'remount,ro', place.mounted)
    const told = []
    const recovered = await open(({ message }) => told.push(message))
    assert.deepEqual(names(recovered), ['home'])
    assert.match(told.join(), /it is empty; it cannot be set aside yet \(EROFS\)/)
    await rejects(recovered.create(point('more')), 'EROFS')
    assert.equal(statSync(join(folder, 'teachpoints.json')).size, 0)

    run('mount', '-o', 'remount,rw', place.mounted)
    await recovered.create(point('more'))
    assert.deepEqual(names(await open()), ['home', 'more'])
    assert.equal(readdirSync(folder).filter((name) => name.includes('.corrupt-')).length, 1)
  },

  async 'a first start on a read-only disk works, and writes once it can'(place) {
    mount(place, '-t', 'tmpfs', '-o', 'size=1m,ro', 'tmpfs', place.mounted)
    const { store, open } = await begin(place)
    assert.deepEqual(names(store), [])
    await rejects(store.create(point('home')), 'EROFS')
    run('mount', '-o', 'remount,rw', place.mounted)
    await store.create(point('home'))
    assert.deepEqual(names(await open()), ['home'])
  },

  async 'after an fsync that failed nothing is acknowledged until a fresh file was synced'(place) {
    // A disk that promises more than there is: the file system takes the data, and the fsync finds that it has nowhere to go.
    const below = join(place.work, 'below')
    mkdirSync(below)
    mount(place, '-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', below)
    const image = emptyDisk(join(below, 'disk'), 16, ['-O', '^has_journal'])
    mount(place, '-t', 'ext4', '-o', 'loop', image, place.mounted)
    const { store, open, folder } = await begin(place)
    await store.create(point('home'))
    fill(below)
    const error = await rejects(store.importAll(many(800), { overwrite: false }))
    assert.equal(error.cause.syscall, 'fsync')
    assert.deepEqual(names(store), ['home'])
    assert.deepEqual(leftovers(folder), [])
    rmSync(join(below, 'ballast'))
    await store.importAll(many(800), { overwrite: false })
    remount(place, image)
    assert.equal(names(await open()).length, 801)
  },

  async 'when the card dies reads go on, and all that was acknowledged is on it'(place) {
    const image = emptyDisk(join(place.work, 'disk'), 16)
    const card = await putIn(place, image)
    mount(place, '-t', 'ext4', '-o', 'loop', card.device, place.mounted)
    const { store, open } = await begin(place)
    await store.create(point('home'))
    await store.create(point('safe'))
    await card.die()
    for (const name of ['more', 'and more']) {
      const error = await rejects(store.create(point(name)))
      assert.match(error.message, /EIO|EROFS/)
    }
    assert.deepEqual(names(store), ['home', 'safe'])
    remount(place, image)
    const after = names(await open())
    assert.deepEqual(after, ['home', 'safe'])
  },
}

let failures = 0
for (const [name, trial] of Object.entries(trials)) {
  const work = mkdtempSync('/dev/shm/disk-faults-')
  const place = { work, mounted: join(work, 'mounted'), undo: [] }
  mkdirSync(place.mounted)
  try {
    await trial(place)
    console.log(`ok - ${name}`)
  } catch (error) {
    failures++
    console.log(`NOT OK - ${name}\n${error.stderr ?? ''}${error.stack}`)
  } finally {
    for (const undo of place.undo.reverse()) undo()
    rmSync(work, { recursive: true })
  }
}
console.log(`${Object.keys(trials).length - failures} passed, ${failures} failed`)
process.exitCode = failures ? 1 : 0

async function begin(place) {
  const folder = join(place.mounted, 'state')
  const open = (report = failOn) => Teachpoints.open({ folder, report })
  return { folder, open, store: await open() }
}

function failOn({ message }) {
  assert.fail(message)
}

function point(name) {
  return { device_id: 'arm-1', name, coord_type: 'cartesian', coords: { x: 1, y: 2, z: 3, yaw: 0, pitch: 0, roll: 0 } }
}

function many(number) {
  return Array.from({ length: number }, (_, i) => point(`point ${i}`))
}

function names(store) {
  return store.list('arm-1').map(({ name }) => name)
}

/** Answers the error: one of storage, that names the file and the cause. */
async function rejects(promise, errno = '') {
  const error = await promise.then(
    () => assert.fail('it was acknowledged'),
    (refused) => refused,
  )
  assert.equal(error.code, 'storage', error.stack)
  assert.match(error.message, new RegExp(`^(teachpoints|keys)\\.json .*${errno}`))
  return error
}

function leftovers(folder) {
  return readdirSync(folder).filter((name) => name.endsWith('.tmp'))
}

function run(command, ...words) {
  return execFileSync(command, words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()
}

function mount(place, ...words) {
  run('mount', ...words)
  place.undo.push(() => run('umount', '--lazy', words.at(-1)))
}

/** The same disk, as it is after the machine was switched off and on. */
function remount(place, image) {
  run('umount', '--lazy', place.mounted)
  run('mount', '-t', 'ext4', '-o', 'loop', image, place.mounted)
}

function emptyDisk(path, mebibytes, options = []) {
  writeFileSync(path, '')
  truncateSync(path, mebibytes * 2 ** 20)
  run('mke2fs', '-q', '-F', '-t', 'ext4', '-m', '0', '-E', 'lazy_itable_init=0,lazy_journal_init=0', ...options, path)
  return path
}

/** Takes all space there is. */
function fill(folder) {
  const { bavail, bsize } = statfsSync(folder)
  writeFileSync(join(folder, 'ballast'), Buffer.alloc(bavail * bsize))
}

/** A disk behind a process, so that it can be taken out while it is mounted. */
async function putIn(place, image) {
  const device = join(place.work, 'card')
  writeFileSync(device, '')
  const blocks = ['--blockdev', `driver=file,node-name=disk,filename=${image}`]
  const server = ['--export', `type=fuse,id=fuse,node-name=disk,mountpoint=${device},writable=on`]
  const daemon = spawn('qemu-storage-daemon', [...blocks, ...server], { stdio: ['ignore', 'inherit', 'inherit'] })
  const died = once(daemon, 'exit')
  const die = async () => {
    daemon.kill('SIGKILL')
    await died
  }
  place.undo.push(() => {
    daemon.kill('SIGKILL')
    run('umount', '--lazy', device)
  })
  for (let tries = 0; readFileSync('/proc/mounts', 'utf8').includes(device) === false || statSync(device).size === 0; tries++) {
    if (daemon.exitCode !== null || tries > 100) throw new Error('qemu-storage-daemon did not start')
    await sleep(50)
  }
  return { device, die }
}
