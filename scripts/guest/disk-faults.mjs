#!/usr/bin/env node
// What the stores do on disks that are full, read-only and dying: real ones, mounted for the purpose.
//
//   disk-faults.mjs [WORDS]    those whose name has the words, or all; on the code in dist/ (or in the folder that $BENCHD_DIST
//                              names), built before
//
// Needs root, loop devices, /dev/fuse and Debian's qemu-system-common. Where these are missing it fails, it never passes over.
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { request } from 'node:http'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { text as textOf } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'

const dist = process.env.BENCHD_DIST ?? fileURLToPath(new URL('../../dist', import.meta.url))
const load = (path) => import(pathToFileURL(resolve(dist, path)))
const { Teachpoints } = await load('src/teachpoints/store.js')
const { Keys } = await load('src/keys/keys.js')
const { openEvents } = await load('src/events/open.js')
const { makeBackup } = await load('src/care/backup.js')
const { FileTransaction } = await load('src/kit/file_transaction.js')
const program = resolve(dist, 'bundle/main.js')

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

  async 'a full disk takes no backup and no restore, and both leave nothing half made'(place) {
    mount(place, '-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', place.mounted)
    const { store, folder } = await begin(place)
    await store.create(point('home'))
    const before = readFileSync(join(folder, 'teachpoints.json'), 'utf8')
    const sources = { data_dir: folder, config: undefined, topologies: undefined, version: '1', system_id: 'system' }
    const wanted = { with_keys: true, with_events: true }
    const making = () => makeBackup(sources, wanted, { path: join(folder, 'it.tar.gz'), at: new Date() })
    fill(place.mounted)
    await assert.rejects(making(), { code: 'storage', message: /it\.tar\.gz was not written \(ENOSPC\): the disk is full/ })
    assert.deepEqual(readdirSync(folder), ['teachpoint_history.jsonl', 'teachpoints.json'])
    truncateSync(join(place.mounted, 'ballast'), 512 * 1024)
    const swap = await FileTransaction.begin(folder)
    await swap.put('workflows.json', [Buffer.from('new')])
    await assert.rejects(swap.put('teachpoints.json', [Buffer.alloc(2 ** 20)]), { code: 'storage', message: /ENOSPC/ })
    await swap.abandon()
    assert.deepEqual(readdirSync(folder), ['teachpoint_history.jsonl', 'teachpoints.json'])
    assert.equal(readFileSync(join(folder, 'teachpoints.json'), 'utf8'), before)
    rmSync(join(place.mounted, 'ballast'))
    await making()
  },

  async 'a read-only disk refuses writes, serves reads and starts, with a damaged file too'(place) {
    mount(place, '-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', place.mounted)
    const { store, open, folder } = await begin(place)
    await store.create(point('home'))
    await store.create(point('safe'))
    // A file that is open for writing would keep the disk from becoming read-only.
    await store.close()
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

  async 'on a full disk the service shows events from memory, says so, and writes them in order when there is space'(place) {
    mount(place, '-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', place.mounted)
    const service = await serving(place)
    const stream = await service.stream()
    const before = await service.emit('EXECUTION.a.COMPLETED')
    assert.equal((await service.health()).status, 'ok')
    fill(place.mounted)
    const meanwhile = []
    // What still fits into the last block of the file is stored: more than that is fired.
    for (let i = 0; i < 20; i++) meanwhile.push(await service.emit(i % 4 ? 'THREAD.a.MOVING' : 'EXECUTION.b.COMPLETED', 'x'.repeat(2000)))
    await stream.has(': not stored')
    for (const { timestamp } of meanwhile) await stream.has(`"timestamp":${timestamp},`)
    const { status, reasons } = await service.health()
    assert.equal(status, 'degraded')
    assert.ok(reasons.includes('storage'))
    const late = await service.stream()
    await late.has(': not stored')
    const isThere = (events) => assert.deepEqual(onlyOurs(events), [before, ...meanwhile])
    isThere(await service.events())
    rmSync(join(place.mounted, 'ballast'))
    await eventually(async () => !(await service.health()).reasons.includes('storage'))
    isThere(await service.events())
    await service.kill()
    const again = await serving(place)
    isThere(await again.events())
    assert.equal((await again.health()).status, 'ok')
  },

  async 'on a full disk the newest ten thousand events are kept, and what is lost is counted'(place) {
    mount(place, '-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', place.mounted)
    const service = await serving(place)
    fill(place.mounted)
    await service.post('/api/sim/load', { rate: 20_000, seconds: 1 })
    await eventually(async () => flowOf(await service.events()).at(-1) === 19_999)
    const kept = flowOf(await service.events())
    assert.ok(kept.length >= 9_000 && kept.length < 20_000, `${kept.length} are kept`)
    rmSync(join(place.mounted, 'ballast'))
    const lost = await eventually(async () => {
      const told = (await service.events()).map(({ context: { message = '' } }) => message)
      return Number(/can be written again, but (\d+) events are not in it/.exec(told.join('\n'))?.[1] ?? 0)
    })
    const stored = flowOf(await service.events())
    // Incidents, which wait in the same memory, may be among those that were lost.
    assert.ok(lost >= 20_000 - stored.length, `${lost} were told to be lost, ${stored.length} are there`)
    assert.deepEqual(
      stored,
      [...stored].sort((a, b) => a - b),
    )
    assert.equal(new Set(stored).size, stored.length)
  },

  async 'when the kernel makes the disk read-only the service shows events from memory; what was stored is there afterwards'(place) {
    const image = emptyDisk(join(place.work, 'disk'), 16)
    mount(place, '-t', 'ext4', '-o', 'loop,errors=remount-ro', image, place.mounted)
    const service = await serving(place)
    const before = await service.emit('EXECUTION.a.COMPLETED')
    makeReadOnly(place)
    const meanwhile = [await service.emit('EXECUTION.b.COMPLETED'), await service.emit('THREAD.c.MOVING')]
    assert.ok((await service.health()).reasons.includes('storage'))
    assert.deepEqual(onlyOurs(await service.events()), [before, ...meanwhile])
    assert.equal((await service.post('/api/stop')).status, 200)
    await service.kill()
    remount(place, image)
    const again = await serving(place)
    assert.deepEqual(onlyOurs(await again.events()), [before])
    assert.ok((await again.emit('EXECUTION.c.COMPLETED')).timestamp > meanwhile[1].timestamp)
    await again.kill()
  },

  async 'the program starts on a read-only disk, serves what is there and stops its instruments'(place) {
    const image = emptyDisk(join(place.work, 'disk'), 16)
    mount(place, '-t', 'ext4', '-o', 'loop', image, place.mounted)
    const state = join(place.mounted, 'state')
    const key = run(process.execPath, program, 'key', 'create', '--name', 'a', '--scope', 'operate', '--data-dir', state).trim()
    await (await serving(place)).kill()
    run('mount', '-o', 'remount,ro', place.mounted)
    const { url, kill } = await serving(place)
    const headers = { 'X-API-Key': key }
    assert.equal((await fetch(`${url}/api/devices`, { headers })).status, 200)
    assert.equal((await fetch(`${url}/api/stop`, { method: 'POST', headers })).status, 200)
    await eventually(async () => (await (await fetch(`${url}/health`)).json()).reasons.includes('storage'))
    await kill()
  },

  async 'on a disk that is read-only from the start events are kept in memory, and stored once it can be written'(place) {
    const image = emptyDisk(join(place.work, 'disk'), 16)
    mount(place, '-t', 'ext4', '-o', 'loop', image, place.mounted)
    const [hub] = await happening(place)
    const emitted = [await fired(hub, 'EXECUTION.a.COMPLETED')]
    await hub.close()
    run('mount', '-o', 'remount,ro', place.mounted)
    const [later] = await happening(place)
    emitted.push(await fired(later, 'DEVICE.a.FAULTED'))
    assert.deepEqual(onlyOurs(await later.getEventsSince()), emitted)
    assert.ok(later.troubles().includes('storage'))
    run('mount', '-o', 'remount,rw', place.mounted)
    await eventually(() => !later.troubles().includes('storage'))
    await later.close()
    const [again] = await happening(place)
    assert.deepEqual(onlyOurs(await again.getEventsSince()), emitted)
    await again.close()
  },

  async 'after a failed fsync the event log goes on in a new file, with all that is shown from then on'(place) {
    const below = join(place.work, 'below')
    mkdirSync(below)
    mount(place, '-t', 'tmpfs', '-o', 'size=4m', 'tmpfs', below)
    const image = emptyDisk(join(below, 'disk'), 16, ['-O', '^has_journal'])
    mount(place, '-t', 'ext4', '-o', 'loop', image, place.mounted)
    const [hub, told] = await happening(place)
    const emitted = [await fired(hub, 'EXECUTION.a.COMPLETED')]
    fill(below)
    let sure = 0
    for (let i = 0; i < 40; i++) {
      emitted.push(await fired(hub, i % 8 ? 'THREAD.a.MOVING' : 'EXECUTION.b.COMPLETED', 'x'.repeat(20_000)))
      if (!told.some((message) => /^the event log/.test(message))) sure = emitted.length
    }
    assert.match(told.join('\n'), /goes on in a new file/)
    rmSync(join(below, 'ballast'))
    await eventually(() => !hub.troubles().includes('storage'))
    emitted.push(await fired(hub, 'EXECUTION.c.COMPLETED'))
    const isThere = (events) => {
      // What the disk took and then lost before it said so is gone; all else is there, once and in order.
      const own = onlyOurs(events)
      const order = own.map(({ timestamp }) => emitted.findIndex((event) => event.timestamp === timestamp))
      assert.deepEqual(
        order,
        [...new Set(order)].sort((a, b) => a - b),
      )
      assert.deepEqual([own[0], ...own.slice(-(emitted.length - sure))], [emitted[0], ...emitted.slice(sure)])
    }
    isThere(await hub.getEventsSince())
    await hub.close()
    remount(place, image)
    const [again] = await happening(place)
    isThere(await again.getEventsSince())
    await again.close()
  },

  async 'when the card dies events go on from memory, and all that was shown as synced is on it'(place) {
    const image = emptyDisk(join(place.work, 'disk'), 16)
    const card = await putIn(place, image)
    mount(place, '-t', 'ext4', '-o', 'loop', card.device, place.mounted)
    const service = await serving(place)
    const stream = await service.stream()
    const stored = [await service.emit('THREAD.a.MOVING'), await service.emit('EXECUTION.a.COMPLETED')]
    await card.die()
    const lost = []
    for (let i = 0; i < 8; i++) lost.push(await service.emit('EXECUTION.b.COMPLETED', 'x'.repeat(10_000)))
    await stream.has(': not stored')
    await stream.has(`"timestamp":${lost.at(-1).timestamp},`)
    const { status, reasons } = await service.health()
    assert.equal(status, 'degraded')
    assert.ok(reasons.includes('storage'))
    assert.deepEqual(onlyOurs(await service.events()).slice(-8), lost)
    assert.equal((await service.post('/api/stop')).status, 200)
    await service.kill()
    remount(place, image)
    const again = await serving(place)
    assert.deepEqual(onlyOurs(await again.events()).slice(0, 2), stored)
    assert.ok((await again.emit('EXECUTION.c.COMPLETED')).timestamp > lost.at(-1).timestamp)
    await again.kill()
  },
}

const chosen = Object.entries(trials).filter(([name]) => name.includes(process.argv[2] ?? ''))
let failures = 0
for (const [name, trial] of chosen) {
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
console.log(`${chosen.length - failures} passed, ${failures} failed`)
process.exitCode = failures ? 1 : 0

/** The service on the disk, all its devices simulated. */
async function serving(place) {
  const config = join(place.work, 'config.json')
  const devices = [{ device_id: 'shaker-1', driver: 'bioshake', transport: { kind: 'simulated' } }]
  writeFileSync(config, JSON.stringify({ format: 1, listen: { host: '127.0.0.1', port: 0 }, devices }))
  const state = join(place.mounted, 'state')
  const child = spawn(process.execPath, [program, 'serve', '--config', config, '--data-dir', state], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  const kill = async () => {
    child.kill('SIGKILL')
    await ended
  }
  place.undo.push(() => child.kill('SIGKILL'))
  let url = ''
  for await (const line of createInterface({ input: child.stdout })) {
    url = /listens on (http[^"\s]+)/.exec(line)?.[1] ?? ''
    if (url) break
  }
  child.stdout.resume()
  // Over the control socket, where no key is asked for: a key could not be made on a full disk.
  const socketPath = join(state, 'control.sock')
  const post = async (path, body) => answered(await asked(socketPath, 'POST', path, body))
  return {
    url,
    kill,
    post,
    async emit(event_name, text = '') {
      const { status, body } = await post('/api/sim/events', { event_name, execution_id: 'run-1', context: { text } })
      assert.equal(status, 201, JSON.stringify(body))
      return body
    },
    health: async () => (await answered(await asked(socketPath, 'GET', '/health'))).body,
    events: async () => (await answered(await asked(socketPath, 'GET', '/events'))).body.events,
    async stream() {
      const response = await asked(socketPath, 'GET', '/events/stream')
      let text = ''
      response.setEncoding('utf8').on('data', (more) => {
        text += more
      })
      response.on('error', () => undefined)
      const has = (wanted) => eventually(() => text.includes(wanted))
      return { has }
    },
  }
}

function asked(socketPath, method, path, body) {
  const headers = body === undefined ? {} : { 'Content-Type': 'application/json' }
  return new Promise((done, fail) => {
    const asking = request({ socketPath, method, path, headers, agent: false }, done)
    asking.on('error', fail)
    asking.end(body === undefined ? undefined : JSON.stringify(body))
  })
}

async function answered(response) {
  return { status: response.statusCode, body: JSON.parse(await textOf(response)) }
}

/** Resolves as soon as it is true. */
async function eventually(look) {
  for (let tries = 0; tries < 600; tries++) {
    const found = await look()
    if (found) return found
    await sleep(50)
  }
  assert.fail(`it did not happen: ${look}`)
}

/** As the kernel does by itself when it finds the file system damaged. */
function makeReadOnly(place) {
  const device = /^\/dev\/(loop\d+)$/.exec(run('findmnt', '--noheadings', '--output', 'SOURCE', place.mounted))
  writeFileSync(`/sys/fs/ext4/${device[1]}/trigger_fs_error`, 'tried by disk-faults')
}

/** The events on the disk, and what is said about them. */
async function happening(place) {
  const told = []
  const say = (message) => told.push(message)
  const config = { system_id: 'system', events: { segment_mib: 1, commit_ms: 100, queue: 1000 }, limits: { subscribers: 10 } }
  const hub = await openEvents({ folder: join(place.mounted, 'state'), config, log: { info: say, warn: say, error: say } })
  return [hub, told]
}

async function fired(hub, event_name, text = '') {
  const event = hub.emit(event_name, { text }, 'run-1')
  await hub.stored(event)
  return event
}

function onlyOurs(events) {
  return events.filter(({ entity_type }) => entity_type !== 'INCIDENT')
}

function flowOf(events) {
  return events.filter(({ event_name }) => event_name === 'SIM.load.EMITTED').map(({ context: { n } }) => n)
}

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

/** Takes all space there is, also what somebody else gives up or takes meanwhile. */
function fill(folder) {
  const file = openSync(join(folder, 'ballast'), 'a')
  try {
    for (const piece of [2 ** 20, 4096, 1]) {
      const zeros = Buffer.alloc(piece)
      while (isTaken(file, zeros));
    }
  } finally {
    closeSync(file)
  }
}

function isTaken(file, piece) {
  try {
    return writeSync(file, piece) > 0
  } catch (error) {
    if (error.code === 'ENOSPC') return false
    throw error
  }
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
