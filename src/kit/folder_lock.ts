// The lock of a data folder: sockets in it, which the kernel closes when their owner ends. `control.sock` belongs to the service,
// `offline.sock` to a command that works on the folder without a service.

import { existsSync, lstatSync, statSync } from 'node:fs'
import { connect, createServer, type Server } from 'node:net'
import { LabError } from '../errors.ts'
import { sleep, systemClock } from './clock.ts'
import { setAside } from './damage.ts'
import { makePrivateFolder, removeFile, socketPath } from './folder.ts'
import { HostFiles } from './host_files.ts'

const ofService = 'control.sock'
const ofCommand = 'offline.sock'
const look_ms = 50
const commandPatience_ms = 10_000
const takingTurns_ms = 5000

/** Listens on the socket of that name, replacing a dead one. Returns false if another process listens there. */
export function claimSocket(folder: string, name: string, server: Server): Promise<boolean> {
  return inTurn(folder, async () => {
    const path = socketPath(folder, name)
    if (await bound(server, path)) return true
    if (await answers(path)) return false
    // A file that is not a socket must not be deleted.
    if (lstatSync(path, { throwIfNoEntry: false })?.isSocket()) await removeFile(path)
    else await setAside(path)
    return bound(server, path)
  })
}

/** Whether a service holds the folder. */
export function isServed(folder: string): Promise<boolean> {
  return isHeld(folder, ofService)
}

/** Returns the data folders of this computer's services from the kernel's list of sockets; empty without such a list. */
export async function servedFolders(): Promise<string[]> {
  const ending = `/${ofService}`
  // Num RefCount Protocol Flags Type St Inode Path; the flag marks a listening socket.
  const paths = ((await new HostFiles().text('/proc/net/unix')) ?? '').split('\n').flatMap((line) => {
    const [, path] = /^\S+ \S+ \S+ 00010000 \S+ \S+ +\d+ (\/.*)$/.exec(line) ?? []
    return path?.endsWith(ending) && !path.startsWith('/proc/') ? [path.slice(0, -ending.length)] : []
  })
  return [...new Set(paths)].sort()
}

/**
 * Does the work while neither a service nor another command uses the folder, which is made if it is missing. Waits for a command,
 * not for a service. Rejects with `in_use`.
 */
export async function whileNobodyServes<Result>(folder: string, work: () => Promise<Result>): Promise<Result> {
  await makePrivateFolder(folder)
  const server = createServer((socket) => socket.destroy())
  await claimed(folder, server)
  try {
    // Checked after the own socket exists: a later service waits for it, and an earlier one is seen.
    await mustNotBeServed(folder)
    return await work()
  } finally {
    await new Promise((resolve) => server.close(resolve))
  }
}

/** Resolves for the service when no command works on the folder. Calls `onWait` if it has to wait. */
export async function whenNoCommandWorks(folder: string, onWait: () => void): Promise<void> {
  if (!(await isHeld(folder, ofCommand))) return
  onWait()
  while (await isHeld(folder, ofCommand)) await sleep(systemClock, look_ms)
}

async function claimed(folder: string, server: Server): Promise<void> {
  for (const from = performance.now(); !(await claimSocket(folder, ofCommand, server)); await sleep(systemClock, look_ms)) {
    await mustNotBeServed(folder)
    if (performance.now() - from > commandPatience_ms)
      throw new LabError('in_use', `another command works on the data folder ${folder}; try again when it has ended`)
  }
}

async function mustNotBeServed(folder: string): Promise<void> {
  if (await isServed(folder))
    throw new LabError('in_use', `a benchd runs on the data folder ${folder}; end it first: sudo systemctl stop benchd`)
}

async function isHeld(folder: string, name: string): Promise<boolean> {
  try {
    const path = socketPath(folder, name)
    // Usually there is no such socket, and the check takes a tenth of the time of a connection.
    return existsSync(path) && (await answers(path))
  } catch {
    // The folder does not exist.
    return false
  }
}

/**
 * Runs work that removes a dead socket, one process at a time, so that none removes the new socket of another.
 * The turn is an abstract socket name, which is not a file and ends with its owner. A caller that does not get its turn in time,
 * because another program has the name, continues without it.
 */
export async function inTurn<Result>(folder: string, work: () => Promise<Result>): Promise<Result> {
  const { dev, ino } = statSync(folder)
  const turn = createServer()
  const from = performance.now()
  // Also on systems without abstract names.
  const hasTurn = () => bound(turn, `\0benchd-${dev}-${ino}`).catch(() => true)
  while (!(await hasTurn()) && performance.now() - from < takingTurns_ms) await sleep(systemClock, 5)
  try {
    return await work()
  } finally {
    if (turn.listening) await new Promise((resolve) => turn.close(resolve))
  }
}

function bound(server: Server, path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const isThere = () => {
      server.off('error', failed)
      resolve(true)
    }
    const failed = (error: NodeJS.ErrnoException) => {
      server.off('listening', isThere)
      if (error.code === 'EADDRINUSE') resolve(false)
      else if (error.code === 'EROFS') reject(error)
      else reject(new LabError('config', `the socket ${path.replace('\0', '@')} cannot be opened: ${error.message}`, { cause: error }))
    }
    server.once('error', failed).once('listening', isThere)
    server.listen(path)
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
