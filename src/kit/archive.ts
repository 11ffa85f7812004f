// Packs files into a `.tar.gz`, and reads them. An archive is complete, or does not exist.

import { createHash, type Hash, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { type FileHandle, open, rename, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { LabError } from '../errors.ts'
import { errnoOf, readError, remove, storageError, syncFolder } from './durable.ts'
import { readOpen } from './open_file.ts'
import { readTar, type TarFile, tarEnd, tarFill, tarHead } from './tar.ts'

/** An entry to pack under a name: a file, or a text. */
export type Part = { name: string; path: string } | { name: string; text: string | Uint8Array }
/** An iterable that finds its parts when their turn comes may be asynchronous. */
type Parts = readonly Part[] | AsyncIterable<Part>
export type Packed = { name: string; size: number; sha256: string }

type Contents = AsyncIterable<Uint8Array>

/**
 * Packs the parts one after the other into a new file that only its owner may read. Each is read once, up to its length
 * when its turn comes; a missing one is skipped. `last` gets the packed parts, and returns the last entry.
 * Rejects with `storage` or the signal's reason, and leaves no file then.
 */
export async function pack(path: string, parts: Parts, last?: (packed: readonly Packed[]) => Part, signal?: AbortSignal): Promise<void> {
  const first = new FirstFailure()
  const fill = (handle: FileHandle) =>
    pipeline(Readable.from(first.of(packing(parts, last))), createGzip(), (bytes: AsyncIterable<Buffer>) =>
      first.in(writeAll(handle, bytes, signal)),
    )
  await makeFile(path, (handle) =>
    fill(handle).catch((error) => {
      throw first.failure ?? error
    }),
  )
}

/** Packs texts in memory. */
export async function packedBytes(parts: readonly Part[]): Promise<Uint8Array> {
  const pieces: Buffer[] = []
  for await (const piece of Readable.from(packing(parts, undefined)).pipe(createGzip())) pieces.push(piece as Buffer)
  return Buffer.concat(pieces)
}

/** Remembers the first error, since a pipeline may report only that it was aborted. */
class FirstFailure {
  failure: unknown

  async in<Result>(work: Promise<Result>): Promise<Result> {
    return work.catch((error) => this.#keep(error))
  }

  async *of<Chunk>(pieces: AsyncIterable<Chunk>): AsyncGenerator<Chunk> {
    try {
      yield* pieces
    } catch (error) {
      this.#keep(error)
    }
  }

  #keep(error: unknown): never {
    this.failure ??= error
    throw error
  }
}

async function* packing(parts: Parts, last: ((packed: readonly Packed[]) => Part) | undefined): AsyncGenerator<Buffer> {
  const packed: Packed[] = []
  for await (const part of parts) yield* packedOf(part, packed)
  if (last) yield* packedOf(last(packed), packed)
  yield tarEnd
}

async function* packedOf(part: Part, packed: Packed[]): AsyncGenerator<Buffer> {
  if ('path' in part) yield* packedFile(part, packed)
  else yield* packedText(part, packed)
}

async function* packedText({ name, text }: { name: string; text: string | Uint8Array }, packed: Packed[]): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text)
  yield tarHead({ name, size: bytes.length, mtime_s: Date.now() / 1000 })
  yield bytes
  yield tarFill(bytes.length)
  packed.push({ name, size: bytes.length, sha256: createHash('sha256').update(bytes).digest('hex') })
}

async function* packedFile({ name, path }: { name: string; path: string }, packed: Packed[]): AsyncGenerator<Buffer> {
  const handle = await open(path, 'r').catch((error) => {
    if (errnoOf(error) === 'ENOENT') return undefined
    throw error
  })
  if (!handle) return
  try {
    const { size, mtimeMs } = await handle.stat()
    yield tarHead({ name, size, mtime_s: mtimeMs / 1000 })
    const hash = createHash('sha256')
    for await (const bytes of piecesOf(handle, size, path)) {
      hash.update(bytes)
      yield bytes
    }
    yield tarFill(size)
    packed.push({ name, size, sha256: hash.digest('hex') })
  } finally {
    await handle.close()
  }
}

const pieceBytes = 64 * 1024

/** Yields the first `size` bytes, without bytes that are added meanwhile. */
async function* piecesOf(handle: FileHandle, size: number, path: string): AsyncGenerator<Buffer> {
  for (let at = 0; at < size; ) {
    const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(Math.min(pieceBytes, size - at)), 0, null, at)
    if (bytesRead === 0) throw new LabError('storage', `${path} became shorter while it was packed; try again`)
    at += bytesRead
    yield buffer.subarray(0, bytesRead)
  }
}

async function writeAll(handle: FileHandle, bytes: AsyncIterable<Uint8Array>, signal?: AbortSignal): Promise<void> {
  for await (const piece of bytes) {
    signal?.throwIfAborted()
    await handle.writeFile(piece)
  }
}

/** Returns the absolute path of a new file, with the name `name` in a folder. Rejects with `exists`. */
export async function freeFile(wanted: string, name: string): Promise<string> {
  const path = resolve((await isFolder(wanted)) ? join(wanted, name) : wanted)
  if (existsSync(path)) throw new LabError('exists', `${path} is there already; name another file`)
  return path
}

/**
 * Makes a new file that only its owner may read, with the name `name` in a folder, and returns its path. `fill` writes the content
 * to its descriptor. Rejects with `exists` and `storage`, and leaves no file then.
 */
export async function saveAs(wanted: string, name: string, fill: (descriptor: number) => Promise<void>): Promise<string> {
  const path = await freeFile(wanted, name)
  await makeFile(path, (handle) => fill(handle.fd))
  return path
}

/** Makes a file that `fill` writes, whole or not at all. Rejects with `storage`, and with the `LabError` of `fill`. */
async function makeFile(path: string, fill: (handle: FileHandle) => Promise<unknown>): Promise<void> {
  const temporary = `${path}.${randomUUID()}.tmp`
  try {
    const handle = await open(temporary, 'wx', 0o600)
    try {
      await fill(handle)
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(temporary, path)
    await syncFolder(dirname(path))
  } catch (error) {
    await remove(temporary)
    throw error instanceof LabError ? error : storageError(`${path} was not written`, error)
  }
}

function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (stats) => stats.isDirectory(),
    () => false,
  )
}

/** An archive that a user names. */
export class Archive {
  readonly path: string
  /** The file descriptor of the open archive. */
  readonly descriptor: number
  readonly #handle: FileHandle | undefined

  /** Throws `not_found`. */
  static async open(path: string): Promise<Archive> {
    try {
      const handle = await open(path, 'r')
      if ((await handle.stat()).isFile()) return new Archive(path, handle.fd, handle)
      await handle.close()
      throw new Error('it is no file')
    } catch (error) {
      throw readError(path, error)
    }
  }

  /** Reads a file that the caller opens and closes. */
  constructor(path: string, descriptor: number, handle?: FileHandle) {
    this.path = path
    this.descriptor = descriptor
    this.#handle = handle
  }

  /**
   * Reads from the beginning: calls `onFile` with each file and its content, which has to be read before the next. Resolves when all was read and the
   * checksum is right; rejects with `storage` for anything but a complete archive of plain files.
   */
  async read(onFile: (file: TarFile, content: Contents) => Promise<void>): Promise<void> {
    const first = new FirstFailure()
    try {
      await pipeline(Readable.from(readOpen(this.descriptor)), createGunzip(), (content: AsyncIterable<Buffer>) =>
        first.in(readTar(content, onFile)),
      )
    } catch (failure) {
      const error = first.failure ?? failure
      if (error instanceof LabError) throw error
      const isZip = error instanceof Error && 'code' in error && String(error.code).startsWith('Z_')
      if (isZip) throw new LabError('storage', `the archive ${this.path} is damaged (${error.message}); take another one`, { cause: error })
      throw storageError(`the archive ${this.path} could not be read`, error)
    }
  }

  async close(): Promise<void> {
    await this.#handle?.close()
  }
}

/** Reads the content of a file in an archive, if it is no longer than `longest`. Throws `storage`. */
export async function contentOf({ name, size }: TarFile, content: Contents, longest: number): Promise<Buffer> {
  if (size > longest)
    throw new LabError('storage', `${JSON.stringify(name)} in the archive is ${size} bytes long, which cannot be; take another one`)
  const parts: Uint8Array[] = []
  for await (const part of content) parts.push(part)
  return Buffer.concat(parts)
}

/** Passes the content on, and updates the hash. */
export async function* hashing(content: Contents, hash: Hash): AsyncGenerator<Uint8Array> {
  for await (const part of content) {
    hash.update(part)
    yield part
  }
}
