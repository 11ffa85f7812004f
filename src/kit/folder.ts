// Folders and sockets of the service: its own, and nobody else's to read.

import { existsSync, openSync, readdirSync } from 'node:fs'
import { chmod, chown, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LabError, messageOf } from '../errors.ts'
import { makeFolder } from './durable.ts'

/** Makes the folder, and those above it, for us alone. Throws `config` when it cannot be made. */
export async function makePrivateFolder(path: string): Promise<void> {
  try {
    await makeFolder(path)
  } catch (error) {
    throw new LabError('config', `the data folder ${path} cannot be made: ${messageOf(error)}; choose another with --data-dir`, {
      cause: error,
    })
  }
}

/** A new folder that is thrown away with `removeFolder`. */
export function makeThrowAwayFolder(name: string): Promise<string> {
  return mkdtemp(join(tmpdir(), `${name}-`))
}

export async function removeFolder(path: string): Promise<void> {
  await rm(path, { recursive: true, force: true })
}

export async function removeFile(path: string): Promise<void> {
  await rm(path, { force: true })
}

export function exists(path: string): boolean {
  return existsSync(path)
}

/** Gives a folder to another user; only root may. */
export async function ownedBy(path: string, { uid, gid }: { uid: number; gid: number }): Promise<void> {
  await chown(path, uid, gid)
}

/** The largest number among the names in a folder, as of versions; undefined where there is none. */
export function newestIn(folder: string): string | undefined {
  const names = exists(folder) ? readdirSync(folder) : []
  return names.filter((name) => /^\d+$/.test(name)).sort((one, other) => Number(other) - Number(one))[0]
}

/** Lets the owner and the group of a socket use it from now on. */
export async function shareWithGroup(path: string): Promise<void> {
  await chmod(path, 0o660)
}

/** The kernel takes no longer path for a socket. */
const longestSocketPath = 100

/** A path of the same socket that is short enough to be bound and connected to. */
export function socketPath(folder: string, name: string): string {
  const path = join(folder, name)
  if (Buffer.byteLength(path) <= longestSocketPath) return path
  // Open until the process ends: the short path leads through it.
  return `/proc/self/fd/${openSync(folder, 'r')}/${name}`
}
