// The control socket in the data folder: the lock of that folder, and the door for whoever has a shell on this machine.

import type { Server } from 'node:http'
import { connect } from 'node:net'
import { LabError } from '../errors.ts'
import { removeFile, shareWithGroup, socketPath } from '../kit/folder.ts'

/**
 * Takes the folder by listening on its socket. Rejects with `in_use` when another service answers there; a dead one is replaced.
 * On a card that has become read-only there is no socket, which `warn` is told: nothing can be written there, so nothing has to be
 * locked, and the instruments can still be stopped.
 */
export async function claimFolder(folder: string, server: Server, warn: (message: string) => void): Promise<void> {
  const path = socketPath(folder, 'control.sock')
  try {
    await claim(folder, path, server)
  } catch (error) {
    if (!isReadOnly(error)) throw error
    warn(`the data folder ${folder} is read-only: there is no control socket, and nothing can be stored`)
  }
}

/** A second door, in a folder that is thrown away with the service: for members of the group that owns it. */
export async function openToGroup(folder: string, server: Server): Promise<void> {
  const path = socketPath(folder, 'control.sock')
  await removeFile(path)
  await bound(server, path)
  await shareWithGroup(path)
}

async function claim(folder: string, path: string, server: Server): Promise<void> {
  if (await bound(server, path)) return
  if (await answers(path))
    throw new LabError(
      'in_use',
      `another benchd runs on the data folder ${folder}; stop that one, or choose another folder with --data-dir`,
    )
  await removeFile(path)
  if (!(await bound(server, path))) throw new LabError('in_use', `another benchd has just started on the data folder ${folder}`)
}

function isReadOnly(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'EROFS'
}

function bound(server: Server, path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const failed = (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(false)
      else if (isReadOnly(error)) reject(error)
      else reject(new LabError('config', `the control socket ${path} cannot be opened: ${error.message}`, { cause: error }))
    }
    server.once('error', failed)
    server.listen(path, () => {
      server.off('error', failed)
      resolve(true)
    })
  })
}

function answers(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path)
    socket.once('connect', () => {
      socket.destroy()
      resolve(true)
    })
    socket.once('error', () => resolve(false))
  })
}
