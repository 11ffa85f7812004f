#!/usr/bin/env node
// Cuts the power under what the service stores: nothing acknowledged may be lost. Then does the same with one fsync or the
// other taken away, which must be found out, or the check would prove nothing.
//
//   check.mjs          on the code in dist/ (or in the folder that $BENCHD_DIST names), built before; BENCHD_TRIALS=all cuts more often
//
// Needs root, /dev/fuse, loop devices, and Debian's qemu-system-common. Where these are missing it fails, it never passes over.
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const here = (name) => fileURLToPath(new URL(name, import.meta.url))
// By default ext4 flushes a file that replaces another by itself, which hides a missing fsync.
const unforgiving = ['--mount-options', 'noatime,noauto_da_alloc']
const veryFew = ['--cuts', '12', '--reorder', '12']
const few = ['--cuts', '40', '--reorder', '20']
const some = ['--cuts', '80', '--reorder', '30']
const orAll = (usual) => (process.env.BENCHD_TRIALS === 'all' ? [] : usual)

const trials = [
  { scenario: 'teachpoint-store', options: orAll(some), holds: true },
  { scenario: 'teachpoint-store', options: [...some, ...unforgiving, '--seed', '2'], holds: true },
  { scenario: 'teachpoint-store-files-unsynced', options: [...few, ...unforgiving], holds: false },
  { scenario: 'teachpoint-store-folders-unsynced', options: few, holds: false },
  { scenario: 'restore', options: orAll(some), holds: true },
  { scenario: 'restore', options: [...few, ...unforgiving, '--seed', '2'], holds: true },
  { scenario: 'restore-files-unsynced', options: [...few, ...unforgiving], holds: false },
  { scenario: 'event-log', options: orAll(few), holds: true },
  { scenario: 'event-log', options: [...few, ...unforgiving, '--seed', '2'], holds: true },
  { scenario: 'event-log', options: [...few, '--syncs', '--seed', '3'], holds: true },
  { scenario: 'event-log-unsynced', options: few, holds: false },
  { scenario: 'run-state', options: orAll(few), holds: true },
  { scenario: 'run-state', options: [...few, ...unforgiving, '--syncs', '--seed', '2'], holds: true },
  { scenario: 'run-state-unsynced', options: veryFew, holds: false },
  { scenario: 'run-state-log-unsynced', options: veryFew, holds: false },
  { scenario: 'run-state-record-unsynced', options: veryFew, holds: false },
  { scenario: 'inventory', options: orAll(few), holds: true },
  { scenario: 'inventory', options: [...veryFew, ...unforgiving, '--syncs', '--seed', '2'], holds: true },
  { scenario: 'inventory-unsynced', options: veryFew, holds: false },
  { scenario: 'queue', options: orAll(few), holds: true },
  { scenario: 'queue', options: [...veryFew, ...unforgiving, '--syncs', '--seed', '2'], holds: true },
  { scenario: 'queue-unsynced', options: [...few, ...unforgiving], holds: false },
]

let failures = 0
for (const { scenario, options, holds } of trials) {
  const { status } = spawnSync(process.execPath, [here('power-cut.mjs'), here(`scenarios/${scenario}.mjs`), ...options], {
    stdio: 'inherit',
    // A trial that does not end is named, and the other trials still begin.
    timeout: 600_000,
  })
  const asItShould = status === (holds ? 0 : 2)
  if (!asItShould) failures++
  console.log(
    `${asItShould ? 'ok' : 'NOT OK'} - ${scenario} ${holds ? 'holds' : 'is found out'}${status === 1 ? ': IT COULD NOT BE TRIED' : ''}\n`,
  )
}
console.log(`${trials.length - failures} passed, ${failures} failed`)
process.exitCode = failures ? 1 : 0
