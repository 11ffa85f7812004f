// Synchronous and asynchronous file operations. During the start they are synchronous: the thread pool takes
// several times as long, there are a hundred of them, and no request waits yet. Afterwards they are asynchronous, so that a slow disk does not delay a stop.

import type { BigIntStats, Stats } from 'node:fs'
import * as now from 'node:fs'
import * as pool from 'node:fs/promises'

let isAtOnce = false

/** Switches to synchronous operations or back. */
export function askAtOnce(yes: boolean): void {
  isAtOnce = yes
}

/** Does the work with synchronous operations. */
export async function atOnce<Value>(work: () => Promise<Value>): Promise<Value> {
  isAtOnce = true
  try {
    return await work()
  } finally {
    isAtOnce = false
  }
}

export async function stat(path: string): Promise<Stats> {
  return isAtOnce ? now.statSync(path) : pool.stat(path)
}

/** Reads the status, with times in nanoseconds. */
export async function statOf(path: string): Promise<BigIntStats> {
  return isAtOnce ? now.statSync(path, { bigint: true }) : pool.stat(path, { bigint: true })
}

export async function lstat(path: string): Promise<Stats> {
  return isAtOnce ? now.lstatSync(path) : pool.lstat(path)
}

/** Reads a UTF-8 text. */
export async function readText(path: string): Promise<string> {
  return isAtOnce ? now.readFileSync(path, 'utf8') : pool.readFile(path, 'utf8')
}

export async function readdir(folder: string): Promise<string[]> {
  return isAtOnce ? now.readdirSync(folder) : pool.readdir(folder)
}

/** Rejects unless the folder can be opened. */
export async function tryFolder(folder: string): Promise<void> {
  if (isAtOnce) now.opendirSync(folder).closeSync()
  else await (await pool.opendir(folder)).close()
}

/** Makes a folder for its owner alone. */
export async function mkdir(folder: string): Promise<void> {
  await (isAtOnce ? now.mkdirSync(folder, { mode: 0o700 }) : pool.mkdir(folder, { mode: 0o700 }))
}

export async function rename(from: string, to: string): Promise<void> {
  return isAtOnce ? now.renameSync(from, to) : pool.rename(from, to)
}

export async function link(from: string, to: string): Promise<void> {
  return isAtOnce ? now.linkSync(from, to) : pool.link(from, to)
}

export async function unlink(path: string): Promise<void> {
  return isAtOnce ? now.unlinkSync(path) : pool.unlink(path)
}

/** Makes a new file for its owner alone, and syncs it. */
export async function writeNew(path: string, content: string | Uint8Array): Promise<BigIntStats> {
  if (isAtOnce) return writeNewAtOnce(path, content)
  const handle = await pool.open(path, 'wx', 0o600)
  try {
    await handle.writeFile(content)
    await handle.sync()
    return await handle.stat({ bigint: true })
  } finally {
    await handle.close()
  }
}

function writeNewAtOnce(path: string, content: string | Uint8Array): BigIntStats {
  const fd = now.openSync(path, 'wx', 0o600)
  try {
    now.writeFileSync(fd, content)
    now.fsyncSync(fd)
    return now.fstatSync(fd, { bigint: true })
  } finally {
    now.closeSync(fd)
  }
}

type OpenFile = (path: string, flags: string) => Promise<pool.FileHandle>

/** `openFile` replaces the file system's `open` in tests of a failing disk. */
export async function syncFolder(folder: string, openFile?: OpenFile): Promise<void> {
  if (isAtOnce && !openFile) return syncAtOnce(folder)
  const handle = await (openFile ?? pool.open)(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

function syncAtOnce(folder: string): void {
  const fd = now.openSync(folder, 'r')
  try {
    now.fsyncSync(fd)
  } finally {
    now.closeSync(fd)
  }
}
