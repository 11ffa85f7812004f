// The control socket in the data folder: the lock of the folder, and the access for users of this computer.

import type { Server } from 'node:net'
import { LabError } from '../errors.ts'
import { removeFile, shareWithGroup, socketPath } from '../kit/folder.ts'
import { claimSocket } from '../kit/folder_lock.ts'

/**
 * Locks the folder by listening on its socket. Rejects with `in_use` if another service answers there; a dead socket is replaced.
 * On a read-only disk there is no socket, and `warn` gets the reason: nothing can be written there, so nothing has to be
 * locked, and the instruments can still be stopped.
 */
export async function claimFolder(folder: string, server: Server, warn: (message: string) => void): Promise<void> {
  try {
    if (await claimSocket(folder, 'control.sock', server)) return
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EROFS') throw error
    warn(`the data folder ${folder} is read-only: there is no control socket, and nothing can be stored`)
    return
  }
  throw new LabError('in_use', `another benchd runs on the data folder ${folder}; stop that one, or choose another folder with --data-dir`)
}

/** Opens a second socket, in a temporary folder of the service, for members of the group that owns it. */
export async function openToGroup(folder: string, server: Server): Promise<void> {
  const path = socketPath(folder, 'control.sock')
  await removeFile(path)
  await new Promise<void>((resolve, reject) => {
    const failed = (error: Error) =>
      reject(new LabError('config', `the control socket ${path} cannot be opened: ${error.message}`, { cause: error }))
    server.once('error', failed)
    server.listen(path, () => {
      server.off('error', failed)
      resolve()
    })
  })
  await shareWithGroup(path)
}
