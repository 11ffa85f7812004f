// The files of a computer, read as they are below some root: `/`, or a folder that is laid out like one.

import { constants } from 'node:fs'
import { open, readFile, readlink, realpath, statfs } from 'node:fs/promises'
import { join } from 'node:path'
import { readdir, readText, stat } from './disk.ts'
import { remove } from './durable.ts'

export type FileStatus = { kind: 'file' | 'folder' | 'device' | 'other'; uid: number; gid: number; mode: number; bytes: number }

/** Reading never throws: what cannot be read is not there. */
export class HostFiles {
  /** '' for the computer itself. */
  readonly root: string

  constructor(root = '') {
    this.root = root.replace(/\/+$/, '')
  }

  /** The place where a file of that computer is found from here. */
  at(path: string): string {
    return `${this.root}${path}`
  }

  /** Without the white space around it. */
  text(path: string): Promise<string | undefined> {
    return readText(this.at(path)).then(
      (text) => text.trim(),
      () => undefined,
    )
  }

  /** Sorted in order; none where there is no such folder. */
  names(path: string): Promise<string[]> {
    return readdir(this.at(path)).then(
      (names) => names.sort(),
      () => [],
    )
  }

  /** Returns the status of the file that a link leads to. */
  status(path: string): Promise<FileStatus | undefined> {
    return statusOf(this.at(path))
  }

  async has(path: string): Promise<boolean> {
    return (await this.status(path)) !== undefined
  }

  /** Returns the target that is written in a link. */
  link(path: string): Promise<string | undefined> {
    return readlink(this.at(path)).catch(() => undefined)
  }

  /** The file that a path stands for in the end, as that computer calls it. */
  async behind(path: string): Promise<string> {
    const [real, root] = await Promise.all([realpath(this.at(path)).catch(() => undefined), realpath(this.root || '/').catch(() => '/')])
    if (real === undefined) return path
    return this.root && real.startsWith(`${root}/`) ? real.slice(root.length) : real
  }

  /** The first bytes of a file, as many as there are. */
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

/** undefined where there is nothing, or nothing that we may look at. */
export async function statusOf(path: string): Promise<FileStatus | undefined> {
  const stats = await stat(path).catch(() => undefined)
  if (!stats) return undefined
  const kind = stats.isFile() ? 'file' : stats.isDirectory() ? 'folder' : stats.isCharacterDevice() ? 'device' : 'other'
  return { kind, uid: stats.uid, gid: stats.gid, mode: stats.mode & 0o777, bytes: stats.size }
}

/** A file as it is. Rejects with what the system says. */
export function readBytes(path: string): Promise<Buffer> {
  return readFile(path)
}

/** Returns the room on the file system of the folder, in bytes. */
export async function roomOn(folder: string): Promise<{ free: number; total: number }> {
  const { bavail, blocks, bsize } = await statfs(folder)
  return { free: bavail * bsize, total: blocks * bsize }
}

/** How long a file of one block takes until it is on the disk, in milliseconds. It is taken away again. Rejects when it cannot be written. */
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

/** Opens a device to read and to write, and lets go of it at once. Rejects with what the system says; waits for no carrier. */
export async function tryToOpen(path: string): Promise<void> {
  const handle = await open(path, constants.O_RDWR | constants.O_NOCTTY | constants.O_NONBLOCK)
  await handle.close()
}
