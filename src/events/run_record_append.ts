// Adds rows to the record of a run that has ended. While a run is open, its `RunRecordFile` is the only writer.

import { open as openOnDisk } from 'node:fs/promises'
import { withChecksum } from '../kit/checksum.ts'
import { errnoOf, storageError, writeAt } from '../kit/durable.ts'
import type { OpenFile } from './log_segment.ts'
import { endOfRows } from './record_end.ts'
import type { RecordRow } from './run_record_file.ts'

/** The last write of each file that is being written. */
const writing = new Map<string, Promise<void>>()

/**
 * Adds a row, one at a time for each file. Resolves when the row is on the disk. Cuts off a torn last line, which nobody was told is there.
 * Returns false if there is no such file. Rejects with `storage`, and has added nothing then.
 */
export function appendRow(path: string, row: RecordRow, open: OpenFile = openOnDisk): Promise<boolean> {
  const added = (writing.get(path) ?? Promise.resolve()).then(() => append(path, row, open))
  const over = added.then(
    () => undefined,
    () => undefined,
  )
  writing.set(path, over)
  void over.then(() => {
    if (writing.get(path) === over) writing.delete(path)
  })
  return added
}

async function append(path: string, row: RecordRow, open: OpenFile): Promise<boolean> {
  try {
    const file = await open(path, 'r+')
    try {
      const { size } = await file.stat()
      const end = await endOfRows(file, size)
      if (end < size) await file.truncate(end)
      try {
        await writeAt(file, Buffer.from(`${withChecksum(JSON.stringify(row))}\n`), end)
        await file.datasync()
      } catch (error) {
        await file.truncate(end).catch(() => undefined)
        throw error
      }
    } finally {
      await file.close()
    }
    return true
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return false
    throw storageError(`${path} was not written`, error)
  }
}
