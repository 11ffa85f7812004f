// Adds rows to the record of a run that has ended. Its state, which named the length of the file, is gone: each row is synced before it is acknowledged.

import { type FileHandle, open } from 'node:fs/promises'
import { withChecksum } from '../kit/checksum.ts'
import { storageError, writeAt } from '../kit/durable.ts'
import type { RecordRow } from './run_record_file.ts'

const piece_bytes = 64 * 1024

/**
 * Adds a row to the record of a run that has ended. Resolves when the row is on the disk. A last line without its end is cut off first: it is a row that
 * was never acknowledged. One call at a time. Rejects with `storage`.
 */
export async function addToEnded(path: string, row: RecordRow): Promise<void> {
  try {
    const file = await open(path, 'r+')
    try {
      const { size } = await file.stat()
      const end = await endOfLines(file, size)
      if (end < size) await file.truncate(end)
      await writeAt(file, Buffer.from(`${withChecksum(JSON.stringify(row))}\n`), end)
      await file.datasync()
    } finally {
      await file.close()
    }
  } catch (error) {
    throw storageError(`${path} was not written`, error)
  }
}

/** Returns the offset after the last line end. */
async function endOfLines(file: FileHandle, size: number): Promise<number> {
  for (let end = size; end > 0; ) {
    const from = Math.max(0, end - piece_bytes)
    const { buffer, bytesRead } = await file.read(Buffer.alloc(end - from), 0, end - from, from)
    const at = buffer.subarray(0, bytesRead).lastIndexOf(0x0a)
    if (at >= 0) return from + at + 1
    end = from
  }
  return 0
}
