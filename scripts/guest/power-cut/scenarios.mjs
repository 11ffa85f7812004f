// The scenarios of power cuts. A scenario whose name tells of something unsynced is wrong on purpose: that fsync is taken away.
//
//   write(directory, acknowledge)   works on files in there; awaits acknowledge(text) where it would tell a client "this is stored"
//   check(directory, acknowledged)  throws when the files break a promise; gets the texts acknowledged before the cut
//   prepare(directory)              optional: what is there beforehand, and safe
import { readlinkSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { dist } from '../disks.mjs'
import { restoring } from './scenarios/backups.mjs'
import { happening } from './scenarios/events.mjs'
import { counting } from './scenarios/states.mjs'
import { storing } from './scenarios/teachpoints.mjs'

const isFile = (stats) => stats.isFile()

export const scenarios = {
  'teachpoint-store': storing(),
  'teachpoint-store-files-unsynced': storing(() => without(isFile)),
  // And that of the history, which lies beside it: for ext4 it would sync the folder as well.
  'teachpoint-store-folders-unsynced': storing(() => without((stats, path) => stats.isDirectory() || path.includes('teachpoint_history'))),
  restore: restoring(),
  'restore-files-unsynced': restoring(() => without(isFile)),
  'event-log': happening(),
  'event-log-unsynced': happening(() => without(isFile)),
  'run-state': counting(),
  'run-state-unsynced': counting(() => without((_, path) => path.includes('/state-'))),
  'run-state-log-unsynced': counting(() => without((stats, path) => stats.isFile() && path.includes('/events-'))),
}

/** From now on fsync and fdatasync do nothing for the files or folders that are chosen, by what they are and by their path. */
async function without(chosen) {
  // All handles share what they can do.
  const handle = await open(dist)
  await handle.close()
  const handles = Object.getPrototypeOf(handle)
  for (const name of ['sync', 'datasync']) {
    const real = handles[name]
    handles[name] = async function () {
      // At once: the file may be closed meanwhile.
      const path = readlinkSync(`/proc/self/fd/${this.fd}`)
      if (!chosen(await this.stat(), path)) await real.call(this)
    }
  }
}
