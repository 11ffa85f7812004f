// Finds the end of the last whole line of a file, because a power cut may leave a torn line or bytes that were never written behind it.

import type { FileHandle } from 'node:fs/promises'

/** The bytes in which the end of a line is looked for at a time. */
const piece_bytes = 64 * 1024

/** Returns the number of bytes of whole lines among the first `size` bytes. */
export async function endOfRows(file: FileHandle, size: number): Promise<number> {
  for (let end = size; end > 0; ) {
    const at = Math.max(0, end - piece_bytes)
    const { buffer, bytesRead } = await file.read(Buffer.alloc(end - at), 0, end - at, at)
    const found = buffer.subarray(0, bytesRead).lastIndexOf(0x0a)
    if (found >= 0) return at + found + 1
    end = at
  }
  return 0
}
