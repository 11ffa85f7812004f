// Replaces a file that people edit, and keeps the old one beside it.

import { access, chmod, chown, constants, link, readFile, realpath, rename, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { LabError, messageOf } from '../errors.ts'
import { errnoOf, remove, storageError, syncFolder, writeSynced } from './durable.ts'
import { inTurn } from './folder_lock.ts'

type Content = string | Uint8Array
type Replacing = { before: Content; now?: Date }

/**
 * `before` is the text from which the new one was made, so that a concurrent change is not overwritten. Owner and rights stay. Returns
 * the path of the old copy. Rejects with `conflict`, `forbidden` or `storage`, and has changed nothing then.
 */
export async function replaceFile(path: string, text: Content, { before, now = new Date() }: Replacing): Promise<string> {
  // Replaces the target of a link.
  const real = await realpath(path)
  return inTurn(dirname(real), () => replaced(path, real, text, { before, now }))
}

/** Whether this process may replace the file: write in its folder, and set its owner and rights. */
export async function mayReplace(path: string): Promise<boolean> {
  try {
    const real = await realpath(path)
    await access(real, constants.W_OK)
    await access(dirname(real), constants.W_OK)
    const { uid } = await stat(real)
    return process.geteuid?.() === 0 || uid === process.geteuid?.()
  } catch {
    return false
  }
}

async function replaced(path: string, real: string, text: Content, { before, now }: Required<Replacing>): Promise<string> {
  const draft = `${real}.${process.pid}.tmp`
  const aside = `${real}.${now.toISOString().slice(0, 19).replaceAll(':', '')}`
  try {
    const { uid, gid, mode } = await stat(real)
    await writeSynced(draft, text)
    await chown(draft, uid, gid)
    await chmod(draft, mode & 0o777)
    // As late as possible, because an editor does not take turns.
    if (!(await holds(real, before))) throw new LabError('conflict', `${path} has been changed meanwhile; look at it, then try again`)
    const oldCopy = await linkedAs(real, aside)
    await rename(draft, real)
    await syncFolder(dirname(real))
    return oldCopy
  } catch (error) {
    await remove(draft)
    if (error instanceof LabError) throw error
    if (['EACCES', 'EPERM'].includes(errnoOf(error))) {
      throw new LabError('forbidden', `${path} cannot be changed by you (${messageOf(error)}); try it with sudo`, { cause: error })
    }
    throw storageError(`${path} was not written, and nothing has changed`, error)
  }
}

/** Whether the file has this content. Text is compared after decoding, because a comment may be in another encoding. */
async function holds(path: string, content: Content): Promise<boolean> {
  if (typeof content === 'string') return (await readFile(path, 'utf8')) === content
  return (await readFile(path)).equals(content)
}

/** Links the file under the first free name, since there may be two changes in one second. */
async function linkedAs(path: string, name: string): Promise<string> {
  for (let times = 1; ; times++) {
    const aside = times === 1 ? name : `${name}-${times}`
    try {
      await link(path, aside)
      return aside
    } catch (error) {
      if (errnoOf(error) !== 'EEXIST') throw error
    }
  }
}
