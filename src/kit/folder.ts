// Folders and sockets of the service: its own, and nobody else's to read.

import { constants, existsSync, openSync, readdirSync } from 'node:fs'
import { access, chmod, chown, mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { LabError, messageOf } from '../errors.ts'
import { errnoOf, makeFolder } from './durable.ts'

/** Makes the folder, and those above it, for us alone. Throws `config` when it cannot be made, or when our user may not write in it. */
export async function makePrivateFolder(path: string): Promise<void> {
  try {
    await makeFolder(path)
    // A disk that is read-only is left to those who write. A file in place of the folder is no matter of rights.
    await access(`${path}/.`, constants.R_OK | constants.W_OK | constants.X_OK).catch((error) => {
      if (errnoOf(error) === 'EACCES' || errnoOf(error) === 'ENOTDIR') throw error
    })
  } catch (error) {
    const another = 'choose another with --data-dir'
    const sentence =
      errnoOf(error) === 'EACCES'
        ? `${await forbidden(path)}; or ${another}`
        : `the data folder ${path} cannot be made: ${messageOf(error)}; ${another}`
    throw new LabError('config', sentence, { cause: error })
  }
}

/** Why our user may not write in the folder, or not make it, and the command that mends it where there is one. */
async function forbidden(path: string): Promise<string> {
  const us = process.geteuid?.()
  const { nearest, owner } = await nearestOf(resolve(path))
  const whose = `${nearest}, which belongs to the user ${owner}`
  if (nearest === resolve(path)) {
    const command = owner === us ? `chmod u+rwx ${path}` : `sudo chown -R ${us} ${path}`
    return `the user ${us} may not write in the data folder ${whose}: ${command}`
  }
  const sentence = `the user ${us} may not make the data folder ${path} in ${whose}`
  const canEnter = await access(nearest, constants.X_OK).then(
    () => true,
    () => false,
  )
  return canEnter ? `${sentence}: sudo install -d -m 700 -o ${us} ${path}` : sentence
}

/** The folder itself, or the lowest one above it that our user can see, and its owner. */
async function nearestOf(path: string): Promise<{ nearest: string; owner: number }> {
  try {
    return { nearest: path, owner: (await stat(path)).uid }
  } catch (error) {
    if (path === dirname(path)) throw error
    return nearestOf(dirname(path))
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
