// Checks who may change files whose code the service runs: plug-ins, and drivers of the lab's own.

import { lstat, readlink } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { LabError, messageOf } from '../errors.ts'

/** The user ids whose files are trusted. */
export type Trusted = readonly number[]

/** The longest chain of links that is followed, as in the kernel. */
const mostLinks = 40

/** Returns the users who may own code: root, and outside systemd the user who started this process. */
export function codeOwners(env: Readonly<Record<string, string | undefined>> = process.env): Trusted {
  const us = process.geteuid?.()
  // The service of systemd must not be able to write the code that it runs.
  return env.NOTIFY_SOCKET || us === undefined ? [0] : [0, us]
}

/**
 * Throws `config` if anybody but the trusted users could change or replace the file or folder: each folder above it, and each link on the way, is checked too.
 * A folder with the sticky bit, such as `/tmp`, may lie above it. Throws `not_found` for a missing path.
 */
export async function mustBeTrusted(path: string, trusted: Trusted = codeOwners()): Promise<void> {
  let links = 0
  const check = async (one: string): Promise<void> => {
    const above = dirname(one)
    if (above !== one) await check(above)
    const status = await lstat(one).catch((error) => {
      throw new LabError('not_found', `${one} cannot be read: ${messageOf(error)}`, { cause: error })
    })
    const { uid, mode } = status
    if (!trusted.includes(uid)) throw refusal(one, `it belongs to the user ${uid}`, `sudo chown ${trusted[0]}:${trusted[0]} ${one}`)
    if (status.isSymbolicLink()) {
      if (++links > mostLinks) throw new LabError('config', `${path} has more than ${mostLinks} links on its way; give its real path`)
      return check(resolve(above, await readlink(one)))
    }
    const isShared = one !== path && status.isDirectory() && (mode & 0o1000) !== 0
    if ((mode & 0o022) !== 0 && !isShared) throw refusal(one, 'other users may write to it', `sudo chmod go-w ${one}`)
  }
  await check(resolve(path))
}

function refusal(path: string, why: string, command: string): LabError {
  return new LabError('config', `the service runs no code from ${path}, because ${why}; see who did that, then: ${command}`)
}
