// The folders of runs beside their states: `executions/<id>/`, with the record of the run, its long values, and its files.

import type { Dirent } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { errnoOf } from '../kit/durable.ts'
import { removeFolder } from '../kit/folder.ts'

/** The folder of attached files in the folder of a run. */
export const filesFolder = 'files'

const isRunId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
/** The files that benchd makes there; a temporary one is a file that a kill left incomplete. */
const isOurs = /^(record\.jsonl|[0-9a-f]{64}|[0-9a-f-]+(\.[0-9a-f-]+)?\.tmp)$/

/**
 * Removes the folders of unknown runs that hold no row: a kill came before the first one. A folder with rows stays, because a roll-back returns to a list of
 * runs without the newest ones, and their records are kept. Returns the ids of the unknown runs that were removed, and of those that stay.
 */
export async function sweepRunFolders(
  folder: string,
  isKnown: (execution_id: string) => boolean,
): Promise<{ removed: string[]; kept: string[] }> {
  const swept: { removed: string[]; kept: string[] } = { removed: [], kept: [] }
  for (const entry of await entriesOf(folder)) {
    if (!entry.isDirectory() || !isRunId.test(entry.name) || isKnown(entry.name)) continue
    const path = join(folder, entry.name)
    const isLeftover = (await entriesOf(path)).every(isTemporary) || (await isEmpty(join(path, 'record.jsonl')))
    const removes = isLeftover && (await hasOnlyOurs(path))
    if (removes) await removeFolder(path)
    swept[removes ? 'removed' : 'kept'].push(entry.name)
  }
  return swept
}

function isTemporary(entry: Dirent): boolean {
  return entry.isFile() && entry.name.endsWith('.tmp')
}

async function isEmpty(path: string): Promise<boolean> {
  return stat(path).then(
    ({ size }) => size === 0,
    () => false,
  )
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
