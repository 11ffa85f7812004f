// Reads the record of a run, piece by piece.

import { existsSync } from 'node:fs'
import { open, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { checksumHead, withoutChecksum } from '../kit/checksum.ts'
import { errnoOf, storageError } from '../kit/durable.ts'

type Wanted = {
  /** The bytes of the file that may be read; the whole file by default. */
  length?: number | undefined
  /** The byte at which to begin: the `end` of an earlier piece. */
  start?: number | undefined
  /** The kinds of rows to read; all by default. */
  kinds?: readonly string[] | undefined
}

/** A piece of a record: the JSON of whole rows, the number of lines that are not as they were written, and the byte behind the last whole line. */
type Piece = { rows: string[]; damaged: number; end: number }

const piece_bytes = 256 * 1024
const headLength = checksumHead(0).length

/** Whether there is a record at this path. */
export function hasRecord(path: string): boolean {
  return existsSync(path)
}

/** Yields the rows of a record in their order; none if there is no file. Rejects with `storage`. */
export async function* rowsOfRecord(
  path: string,
  { length = Number.POSITIVE_INFINITY, start = 0, kinds }: Wanted = {},
): AsyncGenerator<Piece> {
  const file = await open(path).catch((error) => {
    if (errnoOf(error) === 'ENOENT') return undefined
    throw storageError(`${path} was not read`, error)
  })
  if (!file) return
  try {
    let rest = Buffer.alloc(0)
    for (let at = start; at < length; ) {
      const buffer = Buffer.alloc(Math.min(piece_bytes, length - at))
      const { bytesRead } = await file.read(buffer, 0, buffer.length, at)
      if (bytesRead === 0) break
      at += bytesRead
      const bytes = Buffer.concat([rest, buffer.subarray(0, bytesRead)])
      const end = bytes.lastIndexOf(0x0a) + 1
      rest = bytes.subarray(end)
      yield { ...pieceOf(bytes.toString('utf8', 0, end), kinds), end: at - rest.length }
    }
    // A last line without its end is torn, or is being written.
    if (rest.length > 0) yield { rows: [], damaged: 1, end: 0 }
  } finally {
    await file.close()
  }
}

/** Yields a record as it lies on the disk, up to a length. Rejects with `storage`. */
export async function* recordBytes(path: string, length = Number.POSITIVE_INFINITY): AsyncGenerator<Uint8Array, undefined> {
  const file = await open(path).catch((error) => {
    throw storageError(`${path} was not read`, error)
  })
  try {
    for (let at = 0; at < length; ) {
      const { bytesRead, buffer } = await file.read(Buffer.alloc(Math.min(piece_bytes, length - at)), 0, null, at)
      if (bytesRead === 0) return
      at += bytesRead
      yield buffer.subarray(0, bytesRead)
    }
  } finally {
    await file.close()
  }
}

/** Returns the JSON of a long value; undefined if it is not there. */
export function longValueOf(path: string, sha256: string): Promise<string | undefined> {
  return readFile(join(dirname(path), sha256), 'utf8').catch(() => undefined)
}

/** Returns the byte of the first whole line among the newest `bytes` of a record of this length. Rejects with `storage`. */
export async function startOfNewest(path: string, length: number | undefined, bytes: number): Promise<number> {
  try {
    const file = await open(path)
    try {
      const end = length ?? (await file.stat()).size
      const from = end - bytes
      if (from <= 0) return 0
      const { buffer, bytesRead } = await file.read(Buffer.alloc(bytes), 0, bytes, from)
      const line = buffer.subarray(0, bytesRead).indexOf(0x0a)
      return line < 0 ? end : from + line + 1
    } finally {
      await file.close()
    }
  } catch (error) {
    throw storageError(`${path} was not read`, error)
  }
}

function pieceOf(text: string, kinds: readonly string[] | undefined): Omit<Piece, 'end'> {
  const rows: string[] = []
  let damaged = 0
  for (const line of text.split('\n')) {
    if (line === '') continue
    const json = withoutChecksum(line)
    if (json === undefined) damaged++
    else if (!kinds || kinds.some((kind) => line.startsWith(`"kind":"${kind}"`, headLength))) rows.push(json)
  }
  return { rows, damaged }
}
