// Disks of the checks here: images of file systems, a process that stands for the card, and what is loaded from dist/.
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath, pathToFileURL } from 'node:url'

/** The folder with the built code, or the one that $BENCHD_DIST names. */
export const dist = process.env.BENCHD_DIST ?? fileURLToPath(new URL('../../dist', import.meta.url))
export const load = (path) => import(pathToFileURL(resolve(dist, path)))

export function run(command, ...words) {
  return execFileSync(command, words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trim()
}

export function emptyDisk(path, mebibytes, options = []) {
  writeFileSync(path, '')
  truncateSync(path, mebibytes * 2 ** 20)
  run('mke2fs', '-q', '-F', '-t', 'ext4', '-m', '0', '-E', 'lazy_itable_init=0,lazy_journal_init=0', ...options, path)
  return path
}

/** Puts a disk behind a process, as a file at `path`, so that it can be taken out while it is mounted. `node` is the last of the `blocks`. */
export async function exported(path, node, blocks) {
  writeFileSync(path, '')
  const words = [...blocks.flatMap((block) => ['--blockdev', block]), '--export']
  const fuse = `type=fuse,id=fuse,node-name=${node},mountpoint=${path},writable=on`
  const daemon = spawn('qemu-storage-daemon', [...words, fuse], { stdio: ['ignore', 'inherit', 'inherit'] })
  const died = once(daemon, 'exit')
  for (let tries = 0; !readFileSync('/proc/mounts', 'utf8').includes(path) || statSync(path).size === 0; tries++) {
    if (daemon.exitCode !== null || tries > 100) throw new Error('qemu-storage-daemon did not start')
    await sleep(50)
  }
  return async (signal) => {
    daemon.kill(signal)
    await died
  }
}

/** Fails unless the numbers rise, and none comes twice. */
export function isRising(numbers, message) {
  const rising = [...new Set(numbers)].sort((a, b) => a - b)
  assert.deepEqual(numbers, rising, message)
}
