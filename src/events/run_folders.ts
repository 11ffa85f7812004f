// The folders of runs beside their states: `executions/<id>/`, with the record of the run, its long values, and its files.

import type { Dirent } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { errnoOf } from '../kit/durable.ts'
import { removeFolder } from '../kit/folder.ts'
import { forecastFile } from './run_forecast.ts'

/** The folder of attached files in the folder of a run. */
export const filesFolder = 'files'

const isRunId = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/
/** The files that benchd makes there; a temporary one is a file that a kill left incomplete. */
const isOurs = /^(record\.jsonl|forecast\.json|[0-9a-f]{64}|(forecast\.json\.)?[0-9a-f-]+(\.[0-9a-f-]+)?\.tmp)$/

/** The ids of unknown runs: removed, kept with their records, and those whose folders have values or files but no record. */
type Swept = { removed: string[]; kept: string[]; bare: string[] }

/**
 * Removes the folders of unknown runs that hold no row, no value and no file: a kill came before the first one. A folder with rows stays, because a roll-back returns
 * to a list of runs without the newest ones, and their records are kept. A folder with files alone stays too: a restore of a backup without files left it.
 */
export async function sweepRunFolders(folder: string, isKnown: (execution_id: string) => boolean): Promise<Swept> {
  const swept: Swept = { removed: [], kept: [], bare: [] }
  for (const entry of await entriesOf(folder)) {
    if (!entry.isDirectory() || !isRunId.test(entry.name) || isKnown(entry.name)) continue
    const path = join(folder, entry.name)
    const size = await sizeOf(join(path, 'record.jsonl'))
    const isLeftover = size === 0 || (size === undefined && (await isBlank(path)))
    const removes = isLeftover && (await hasOnlyOurs(path))
    if (removes) await removeFolder(path)
    swept[removes ? 'removed' : size === undefined ? 'bare' : 'kept'].push(entry.name)
  }
  return swept
}

/** Whether a folder holds nothing but temporary files, a forecast and an empty folder of files. */
async function isBlank(path: string): Promise<boolean> {
  for (const entry of await entriesOf(path)) {
    const isFolder = entry.isDirectory() && entry.name === filesFolder
    if (isFolder ? !(await entriesOf(join(path, filesFolder))).every(isTemporary) : !isTemporary(entry)) return false
  }
  return true
}

function isTemporary(entry: Dirent): boolean {
  return entry.isFile() && (entry.name.endsWith('.tmp') || entry.name === forecastFile)
}

async function sizeOf(path: string): Promise<number | undefined> {
  return stat(path).then(
    ({ size }) => size,
    () => undefined,
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
