// The process that `restore_kills.long.test.ts` kills: puts a backup back, or ends what was interrupted, and is killed before its nth call that
// changes something on the disk.
//
//   node restore.test.killed.js N FOLDER [ARCHIVE]

import disk from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { fileURLToPath } from 'node:url'

const [n = '', folder = '', archive] = process.argv.slice(2)
let left = Number(n)

const handle = await disk.open(fileURLToPath(import.meta.url), 'r')
const handles = Object.getPrototypeOf(handle) as Record<string, (...words: unknown[]) => unknown>
await handle.close()
for (const name of ['write', 'writeFile', 'sync', 'datasync']) watch(handles, name)
for (const name of ['rename', 'link', 'mkdir', 'rm', 'copyFile']) watch(disk as unknown as typeof handles, name)
watch(disk as unknown as typeof handles, 'open', ([, flags]) => flags !== undefined && flags !== 'r')
syncBuiltinESMExports()

const [{ openBackup, planOf, restore }, { finishTransaction }] = await Promise.all([
  import('./restore.ts'),
  import('../kit/file_transaction.ts'),
])
const counted = left
if (archive) {
  const opened = await openBackup(archive)
  await restore(opened, folder, await planOf(opened, folder, { all: true, keys: true }), new Date('2026-11-20T17:15:30Z'))
  await opened.archive.close()
} else await finishTransaction(folder)
process.stdout.write(`ended after ${counted - left} calls\n`)

function watch(
  object: Record<string, (...words: unknown[]) => unknown>,
  name: string,
  changes: (words: unknown[]) => boolean = () => true,
): void {
  const real = object[name]!
  object[name] = function (this: unknown, ...words: unknown[]) {
    if (changes(words) && left-- === 1) process.kill(process.pid, 'SIGKILL')
    return real.apply(this, words)
  }
}
