// Reads and writes files by their descriptors, which a process can pass to another that may not open them. Node's streams are not used, as they close the
// descriptor.

import { read, writeFile } from 'node:fs'
import { promisify } from 'node:util'

const pieceBytes = 64 * 1024
const readPiece = promisify(read)
const writePiece = promisify(writeFile)

/** Yields the content from its beginning. Rejects with the system's error. */
export async function* readOpen(descriptor: number): AsyncGenerator<Buffer> {
  for (let at = 0; ; ) {
    const { bytesRead, buffer } = await readPiece(descriptor, Buffer.allocUnsafe(pieceBytes), 0, pieceBytes, at)
    if (bytesRead === 0) return
    at += bytesRead
    yield buffer.subarray(0, bytesRead)
  }
}

/** Writes at the position of the descriptor. Rejects with the system's error. */
export async function writeOpen(descriptor: number, content: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const piece of content) await writePiece(descriptor, piece)
}
