// The folders of runs beside their states: `executions/<id>/`, with the record of the run, its long values, and its files.

import type { Dirent } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { errnoOf } from '../kit/durable.ts'
import { removeFolder } from '../kit/folder.ts'

/** The folder of attached files in the folder of a run. */
export const filesFolder = 'files'

const isRunId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
/** The files that benchd makes there; a temporary one is a file that a kill left incomplete. */
const isOurs = /^(record\.jsonl|[0-9a-f]{64}|[0-9a-f-]+(\.[0-9a-f-]+)?\.tmp)$/

/**
 * Removes the folders of runs that nobody knows: a roll-back returns to a state without the run, and a kill can come before the run is recorded. A folder with
 * anything in it that benchd does not make stays. Returns the ids of the runs whose folders were removed.
 */
export async function sweepRunFolders(folder: string, isKnown: (execution_id: string) => boolean): Promise<string[]> {
  const swept: string[] = []
  for (const entry of await entriesOf(folder)) {
    const path = join(folder, entry.name)
    if (!entry.isDirectory() || !isRunId.test(entry.name) || isKnown(entry.name) || !(await hasOnlyOurs(path))) continue
    await removeFolder(path)
    swept.push(entry.name)
  }
  return swept
}

async function hasOnlyOurs(path: string): Promise<boolean> {
  for (const entry of await entriesOf(path)) {
    if (entry.isDirectory() && entry.name === filesFolder) {
      if (!(await entriesOf(join(path, filesFolder))).every(isOurFile)) return false
    } else if (!isOurFile(entry)) return false
  }
  return true
}

function isOurFile(entry: Dirent): boolean {
  return entry.isFile() && isOurs.test(entry.name)
}

async function entriesOf(folder: string): Promise<Dirent[]> {
  return readdir(folder, { withFileTypes: true }).catch((error) => {
    if (errnoOf(error) === 'ENOENT') return []
    throw error
  })
}
