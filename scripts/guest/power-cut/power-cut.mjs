#!/usr/bin/env node
// What is left of a program's files after the power is cut?  Without a virtual
// machine, and for every moment of one run instead of one moment per run:
//
//   a small disk image --- qemu-storage-daemon, which writes down every block
//   that reaches the disk and every flush --- FUSE --- loop device --- ext4
//
// One run of the program is recorded.  Then the disk is put together as it was
// at each write, mounted (which replays ext4's journal, as after a real cut) and
// the files on it are checked.
//
//   power-cut.mjs SCENARIO.mjs [--cuts N] [--reorder N] [--seed N]
//                 [--mount-options O] [--syncs] [--size MIB] [--keep DIR]
//
// The scenario is a module that exports
//   write(directory, acknowledge)   works on files in there; awaits acknowledge(text)
//                                   where it would tell a client "this is stored"
//   check(directory, acknowledged)  throws when the files break a promise; gets the
//                                   texts acknowledged before the cut
//   prepare(directory)              optional: what is there beforehand, and safe
//
// --cuts N      at most N moments, spread evenly        (default 300)
// --reorder N   moments at which also a random half of the writes since the last
//               flush is missing, as with a disk's own cache       (default 100)
// --syncs       have the kernel write everything back again and again meanwhile, as
//               it would in a longer run
//
// Exit status: 0 when every check passed, 2 when a promise was broken, 1 when it could not be tried.
// Needs root, /dev/fuse, a loop device, and Debian's qemu-system-common.
import { execFile, execFileSync, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import * as fs from 'node:fs'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'

const run = (command, ...words) => execFileSync(command, words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()

if (process.argv[2] === '--write') {
  // The recorded program: a process of its own, ended the hard way.
  const scenario = await import(resolve(process.argv[3]))
  const noted = []
  process.on('message', () => noted.shift()())
  await scenario.write(process.argv[4], (text) => {
    process.send(String(text))
    return new Promise((done) => noted.push(done))
  })
  process.send(null)
  await new Promise(() => setInterval(() => {}, 1000))
}

const {
  values: option,
  positionals: [scenarioPath],
} = parseArgs({
  allowPositionals: true,
  options: {
    cuts: { type: 'string', default: '300' },
    reorder: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    size: { type: 'string', default: '16' },
    'mount-options': { type: 'string', default: 'noatime' },
    syncs: { type: 'boolean', default: false },
    keep: { type: 'string' },
  },
})
const scenario = await import(resolve(scenarioPath))
const work = option.keep ? resolve(option.keep) : fs.mkdtempSync('/dev/shm/power-cut-')
if (!option.keep) process.on('exit', () => fs.rmSync(work, { recursive: true, force: true }))
fs.mkdirSync(work, { recursive: true })
const file = (name) => join(work, name)
let seed = Number(option.seed)
const random = () => {
  // xorshift: the same cuts for the same seed
  seed ^= seed << 13
  seed ^= seed >>> 17
  seed ^= seed << 5
  return (seed >>> 0) / 2 ** 32
}

// --- recording ---------------------------------------------------------------
const mountPoint = file('mounted')
fs.mkdirSync(mountPoint, { recursive: true })
function attach(image, mountOptions) {
  const device = run('losetup', '--find', '--show', image)
  try {
    run('mount', '-t', 'ext4', '-o', mountOptions, device, mountPoint)
  } catch (error) {
    run('losetup', '-d', device)
    throw error
  }
  return device
}
function detach(device) {
  for (let tries = 1; ; tries++) {
    try {
      run('umount', mountPoint)
      break
    } catch (error) {
      // Somebody, an indexer for one, may have a look at every new mount.
      if (tries === 20) {
        run('umount', '--lazy', mountPoint)
        throw error
      }
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 50)
    }
  }
  run('losetup', '-d', device)
}

async function record() {
  fs.closeSync(fs.openSync(file('disk'), 'w'))
  fs.truncateSync(file('disk'), Number(option.size) * 2 ** 20)
  run('mke2fs', '-q', '-F', '-t', 'ext4', '-m', '0', '-E', 'lazy_itable_init=0,lazy_journal_init=0', file('disk'))
  if (scenario.prepare) {
    const device = attach(file('disk'), option['mount-options'])
    await scenario.prepare(mountPoint)
    detach(device)
  }
  fs.copyFileSync(file('disk'), file('before'))
  fs.writeFileSync(file('export'), '')
  fs.writeFileSync(file('log'), Buffer.alloc(2 ** 20))
  const daemon = spawn(
    'qemu-storage-daemon',
    [
      '--blockdev',
      `driver=file,node-name=disk,filename=${file('disk')}`,
      '--blockdev',
      `driver=file,node-name=log,filename=${file('log')}`,
      '--blockdev',
      'driver=blklogwrites,node-name=logged,file=disk,log=log,log-super-update-interval=1',
      '--export',
      `type=fuse,id=fuse,node-name=logged,mountpoint=${file('export')},writable=on`,
    ],
    { stdio: ['ignore', 'inherit', 'inherit'] },
  )
  try {
    for (let tries = 0; fs.statSync(file('export')).size === 0; tries++) {
      if (daemon.exitCode !== null || tries > 100) throw new Error('qemu-storage-daemon did not start')
      await sleep(50)
    }
    const device = attach(file('export'), option['mount-options'])
    const acknowledgements = []
    const log = fs.openSync(file('log'), 'r')
    try {
      const child = fork(process.argv[1], ['--write', scenarioPath, mountPoint])
      let writing = true
      const syncing = (async () => {
        while (option.syncs && writing) {
          await sleep(random() * 20)
          await new Promise((done) => execFile('sync', ['-f', mountPoint], done))
        }
      })()
      await new Promise((done, fail) => {
        child.on('message', (text) => {
          if (text === null) return done()
          // From this many entries on the scenario relies on the text.
          acknowledgements.push({ text, entries: entryCount(log) })
          child.send('noted')
        })
        child.on('exit', (code, signal) => fail(new Error(`the scenario's write ended with ${code ?? signal}`)))
      })
      writing = false
      await syncing
      child.removeAllListeners('exit')
      child.kill('SIGKILL')
      await once(child, 'exit')
    } finally {
      fs.closeSync(log)
      detach(device)
    }
    return acknowledgements
  } finally {
    daemon.kill()
    if (daemon.exitCode === null) await once(daemon, 'exit')
  }
}

// --- the log of the disk's writes, in the format of dm-log-writes ------------------
function entryCount(log) {
  const header = Buffer.alloc(24)
  fs.readSync(log, header, 0, 24, 0)
  return Number(header.readBigUInt64LE(16))
}
function readLog() {
  const log = fs.readFileSync(file('log'))
  if (log.readBigUInt64LE(0) !== 0x6a736677736872n) throw new Error('not a log of writes')
  const count = Number(log.readBigUInt64LE(16))
  const sectorSize = log.readUInt32LE(24)
  const entries = []
  for (let at = sectorSize; entries.length < count; ) {
    const sectors = Number(log.readBigUInt64LE(at + 8))
    const flags = Number(log.readBigUInt64LE(at + 16))
    const discard = (flags & 4) !== 0
    const length = discard ? 0 : sectors * sectorSize
    entries.push({
      flush: (flags & 1) !== 0,
      forced: (flags & 2) !== 0,
      offset: Number(log.readBigUInt64LE(at)) * sectorSize,
      data: log.subarray(at + sectorSize, at + sectorSize + length),
    })
    at += sectorSize + length
  }
  return entries
}

// --- checking ------------------------------------------------------------------
function verdict(image, acknowledged) {
  let device
  try {
    device = attach(image, option['mount-options'])
  } catch (error) {
    return `cannot mount: ${error.stderr ?? error.message}`
  }
  return Promise.resolve()
    .then(() => scenario.check(mountPoint, acknowledged))
    .then(
      () => null,
      (error) => error.message,
    )
    .finally(() => detach(device))
}

const started = performance.now()
const acknowledgements = await record()
const entries = readLog()
const recorded = performance.now()
const flushes = entries.filter((entry) => entry.flush).length

// disk: everything up to the moment; safe: everything up to the last flush before it.
fs.copyFileSync(file('before'), file('current'))
const current = fs.openSync(file('current'), 'r+')
const apply = (target, entry) => {
  if (entry.data.length) fs.writeSync(target, entry.data, 0, entry.data.length, entry.offset)
}
const every = Math.max(1, entries.length / Number(option.cuts))
const everyReordered = Math.max(1, entries.length / Number(option.reorder))
let nextCut = 0
let nextReordered = everyReordered
let lastFlush = 0
const faults = new Map()
const tally = { cuts: 0, reordered: 0 }
async function cut(kind, moment, missing) {
  fs.copyFileSync(file(kind === 'cuts' ? 'current' : 'safe'), file('state'))
  if (missing) {
    const state = fs.openSync(file('state'), 'r+')
    for (let i = lastFlush; i < moment; i++) if (entries[i].forced || !missing()) apply(state, entries[i])
    fs.closeSync(state)
  }
  const acknowledged = acknowledgements.filter((a) => a.entries <= moment).map((a) => a.text)
  const fault = await verdict(file('state'), acknowledged)
  tally[kind]++
  if (fault) {
    const known = faults.get(fault) ?? {
      times: 0,
      first: `${kind === 'cuts' ? 'after' : 'after, writes missing,'} write ${moment} of ${entries.length}`,
    }
    known.times++
    faults.set(fault, known)
  }
}
fs.copyFileSync(file('current'), file('safe'))
for (let moment = 0; moment <= entries.length; moment++) {
  if (moment >= nextCut || moment === entries.length) {
    await cut('cuts', moment)
    nextCut += every
  }
  if (moment >= nextReordered && moment > lastFlush) {
    await cut('reordered', moment, () => random() < 0.5)
    nextReordered += everyReordered
  }
  if (moment === entries.length) break
  apply(current, entries[moment])
  if (entries[moment].flush) {
    // Everything before a flush is on the disk for good.
    const safe = fs.openSync(file('safe'), 'r+')
    for (let i = lastFlush; i <= moment; i++) apply(safe, entries[i])
    fs.closeSync(safe)
    lastFlush = moment + 1
  }
}
fs.closeSync(current)

const seconds = (from, to) => ((to - from) / 1000).toFixed(1)
console.log(
  `${scenarioPath}: ${acknowledgements.length} acknowledged, ${entries.length} disk writes, ${flushes} flushes, recorded in ${seconds(started, recorded)} s`,
)
console.log(`${tally.cuts} cuts and ${tally.reordered} with writes missing checked in ${seconds(recorded, performance.now())} s`)
for (const [fault, { times, first }] of [...faults].sort((a, b) => b[1].times - a[1].times).slice(0, 10))
  console.log(`  ${times} × ${fault} (first ${first})`)
const failed = [...faults.values()].reduce((sum, { times }) => sum + times, 0)
console.log(`${tally.cuts + tally.reordered - failed} passed, ${failed} failed`)
process.exitCode = failed ? 2 : 0
