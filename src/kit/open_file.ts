// Files by their descriptors: a process that may open a file can hand it to one that may not. Not by Node's streams, which close what
// they were given.

import { read, writeFile } from 'node:fs'
import { promisify } from 'node:util'

const pieceBytes = 64 * 1024
const readPiece = promisify(read)
const writePiece = promisify(writeFile)

/** The content from its beginning. Rejects with what the system says. */
export async function* readOpen(descriptor: number): AsyncGenerator<Buffer> {
  for (let at = 0; ; ) {
    const { bytesRead, buffer } = await readPiece(descriptor, Buffer.allocUnsafe(pieceBytes), 0, pieceBytes, at)
    if (bytesRead === 0) return
    at += bytesRead
    yield buffer.subarray(0, bytesRead)
  }
}

/** Writes from where the descriptor stands. Rejects with what the system says. */
export async function writeOpen(descriptor: number, content: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const piece of content) await writePiece(descriptor, piece)
}
