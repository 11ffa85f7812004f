// Private folders and sockets of the service.

import { constants, existsSync, openSync, readdirSync, statSync } from 'node:fs'
import { access, chmod, chown, mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { LabError, messageOf } from '../errors.ts'
import { errnoOf, makeFolder } from './durable.ts'

/** Makes the folder and its parents for this user alone. Throws `config` if that fails, or if this user may not write in it. */
export async function makePrivateFolder(path: string): Promise<void> {
  try {
    await makeFolder(path)
    // Writers handle a read-only disk. A file in place of the folder is not a matter of rights.
    await access(`${path}/.`, constants.R_OK | constants.W_OK | constants.X_OK).catch((error) => {
      if (errnoOf(error) === 'EACCES' || errnoOf(error) === 'ENOTDIR') throw error
    })
  } catch (error) {
    const another = 'choose another with --data-dir'
    const { why, command } =
      errnoOf(error) === 'EACCES'
        ? await forbidden(path)
        : { why: `the data folder ${path} cannot be made: ${messageOf(error)}`, command: null }
    const sentence = command === null ? `${why}; ${another}` : `${why}: ${command}; or ${another}`
    throw new LabError('config', sentence, { cause: error })
  }
}

type Forbidden = { why: string; command: string | null }

/** Returns why this user may not write or make the folder, with a command that helps, if there is one. */
async function forbidden(path: string): Promise<Forbidden> {
  const us = process.geteuid?.()
  const { nearest, owner } = await nearestOf(resolve(path))
  const whose = `${nearest}, which belongs to the user ${owner}`
  if (nearest === resolve(path)) {
    const why = `the user ${us} may not write in the data folder ${whose}`
    return owner === us ? { why, command: `chmod u+rwx ${path}` } : givenAway(path, why, `sudo chown -R ${us} ${path}`)
  }
  const why = `the user ${us} may not make the data folder ${path} in ${whose}`
  const canEnter = await access(nearest, constants.X_OK).then(
    () => true,
    () => false,
  )
  return { why, command: canEnter ? `sudo install -d -m 700 -o ${us} ${path}` : null }
}

/** Files by which a data folder is recognized. */
const ofService = ['event_ids.json', 'keys.json', 'latches.json', 'teachpoints.json']

/** Advises a change of the owner only for a data folder or an empty one, since others, such as `/usr/local`, have other users. */
function givenAway(path: string, why: string, command: string): Forbidden {
  try {
    const names = readdirSync(path)
    const isOurs = names.length === 0 || ofService.some((name) => names.includes(name))
    return isOurs ? { why, command } : { why: `${why}, and is no data folder of benchd`, command: null }
  } catch {
    return { why: `${why}; if it is a data folder of benchd`, command }
  }
}

/** Finds the folder, or its lowest visible parent, and its owner. */
async function nearestOf(path: string): Promise<{ nearest: string; owner: number }> {
  try {
    return { nearest: path, owner: (await stat(path)).uid }
  } catch (error) {
    if (path === dirname(path)) throw error
    return nearestOf(dirname(path))
  }
}

/** Makes a temporary folder, to be removed with `removeFolder`. */
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

/** Whether there is a file at the path, also through a link. */
export function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false
}

/** Changes the owner of a folder, as root. */
export async function ownedBy(path: string, { uid, gid }: { uid: number; gid: number }): Promise<void> {
  await chown(path, uid, gid)
}

/** Returns the highest version among the names in a folder; undefined without any. */
export function newestIn(folder: string): string | undefined {
  const names = exists(folder) ? readdirSync(folder) : []
  return names.filter((name) => /^\d+$/.test(name)).sort((one, other) => Number(other) - Number(one))[0]
}

/** Gives the owner and the group access to a socket. */
export async function shareWithGroup(path: string): Promise<void> {
  await chmod(path, 0o660)
}

/** The longest path of a socket that the kernel accepts. */
const longestSocketPath = 100

/** Returns a path of the socket that is short enough for the kernel. */
export function socketPath(folder: string, name: string): string {
  const path = join(folder, name)
  if (Buffer.byteLength(path) <= longestSocketPath) return path
  // Stays open until the process ends, because the short path uses it.
  return `/proc/self/fd/${openSync(folder, 'r')}/${name}`
}
