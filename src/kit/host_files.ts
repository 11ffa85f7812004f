// Reads the files of a computer below a root: `/`, or a folder with the file system of another.

import { constants } from 'node:fs'
import { open, readFile, readlink, realpath, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { readdir, readText, stat } from './disk.ts'
import { remove } from './durable.ts'

export type FileStatus = { kind: 'file' | 'folder' | 'device' | 'other'; uid: number; gid: number; mode: number; bytes: number }

/** Reads files without throwing: an unreadable file counts as missing. */
export class HostFiles {
  /** The root; '' for this computer. */
  readonly root: string

  constructor(root = '') {
    this.root = root.replace(/\/+$/, '')
  }

  /** Returns the path of a file of that computer. */
  at(path: string): string {
    return `${this.root}${path}`
  }

  /** Reads a text, without white space at its ends. */
  text(path: string): Promise<string | undefined> {
    return readText(this.at(path)).then(
      (text) => text.trim(),
      () => undefined,
    )
  }

  /** Lists the names in a folder, sorted; none for a missing folder. */
  names(path: string): Promise<string[]> {
    return readdir(this.at(path)).then(
      (names) => names.sort(),
      () => [],
    )
  }

  /** Returns the status of a file; follows links. */
  status(path: string): Promise<FileStatus | undefined> {
    return statusOf(this.at(path))
  }

  async has(path: string): Promise<boolean> {
    return (await this.status(path)) !== undefined
  }

  /** Returns the target of a link. */
  link(path: string): Promise<string | undefined> {
    return readlink(this.at(path)).catch(() => undefined)
  }

  /** Resolves all links of a path, to a path of that computer. */
  async behind(path: string): Promise<string> {
    const [real, root] = await Promise.all([realpath(this.at(path)).catch(() => undefined), realpath(this.root || '/').catch(() => '/')])
    if (real === undefined) return path
    return this.root && real.startsWith(`${root}/`) ? real.slice(root.length) : real
  }

  /** Reads the first bytes of a file, or as many as there are. */
  async head(path: string, length: number): Promise<Buffer> {
    const handle = await open(this.at(path), 'r').catch(() => undefined)
    try {
      const bytes = Buffer.alloc(length)
      const read = await handle?.read(bytes, 0, length, 0)
      return bytes.subarray(0, read?.bytesRead ?? 0)
    } catch {
      return Buffer.alloc(0)
    } finally {
      await handle?.close()
    }
  }
}

/** Returns the status; undefined for a missing or inaccessible file. */
export async function statusOf(path: string): Promise<FileStatus | undefined> {
  const stats = await stat(path).catch(() => undefined)
  if (!stats) return undefined
  const kind = stats.isFile() ? 'file' : stats.isDirectory() ? 'folder' : stats.isCharacterDevice() ? 'device' : 'other'
  return { kind, uid: stats.uid, gid: stats.gid, mode: stats.mode & 0o777, bytes: stats.size }
}

/** Reads a file. Rejects with the system's error. */
export function readBytes(path: string): Promise<Buffer> {
  return readFile(path)
}

/** Returns the room on the file system of the folder, in bytes. */
export async function roomOn(folder: string): Promise<{ free: number; total: number }> {
  const { bavail, blocks, bsize } = await statfs(folder)
  return { free: bavail * bsize, total: blocks * bsize }
}

/** Measures the milliseconds to write and sync a file of one block, which is removed afterwards. Rejects if it cannot be written. */
export async function syncTime(folder: string): Promise<number> {
  const path = join(folder, `.sync-${process.pid}.tmp`)
  const began = performance.now()
  const handle = await open(path, 'wx', 0o600)
  try {
    await handle.writeFile(Buffer.alloc(4096))
    await handle.sync()
    return performance.now() - began
  } finally {
    await handle.close()
    await remove(path)
  }
}

/** Opens a device for reading and writing, and closes it. Does not wait for a carrier. Rejects with the system's error. */
export async function tryToOpen(path: string): Promise<void> {
  const handle = await open(path, constants.O_RDWR | constants.O_NOCTTY | constants.O_NONBLOCK)
  await handle.close()
}
