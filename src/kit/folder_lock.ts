// The lock of a data folder: sockets in it, which the kernel closes however their owner ends. `control.sock` is the service's,
// `offline.sock` that of a command which works on the folder while no service does.

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

/** Listens on the socket of that name, in the place of a dead one. Returns whether it does: another may live there. */
export function claimSocket(folder: string, name: string, server: Server): Promise<boolean> {
  return inTurn(folder, async () => {
    const path = socketPath(folder, name)
    if (await bound(server, path)) return true
    if (await answers(path)) return false
    // A file that is no socket is not ours to delete.
    if (lstatSync(path, { throwIfNoEntry: false })?.isSocket()) await removeFile(path)
    else await setAside(path)
    return bound(server, path)
  })
}

/** Whether a service holds the folder. */
export function isServed(folder: string): Promise<boolean> {
  return isHeld(folder, ofService)
}

/** Returns the data folders of the services of this computer, as far as the kernel's list of sockets names them; empty without such a list. */
export async function servedFolders(): Promise<string[]> {
  const ending = `/${ofService}`
  // Num RefCount Protocol Flags Type St Inode Path; the flag is that of a socket which listens.
  const paths = ((await new HostFiles().text('/proc/net/unix')) ?? '').split('\n').flatMap((line) => {
    const [, path] = /^\S+ \S+ \S+ 00010000 \S+ \S+ +\d+ (\/.*)$/.exec(line) ?? []
    return path?.endsWith(ending) && !path.startsWith('/proc/') ? [path.slice(0, -ending.length)] : []
  })
  return [...new Set(paths)].sort()
}

/**
 * Does the work while neither a service nor another such command has the folder, which is made if it is not there; waits for a command,
 * not for a service. Rejects with `in_use`.
 */
export async function whileNobodyServes<Result>(folder: string, work: () => Promise<Result>): Promise<Result> {
  await makePrivateFolder(folder)
  const server = createServer((socket) => socket.destroy())
  await claimed(folder, server)
  try {
    // After our own socket is there: a service that begins now waits for us, one that was there before is seen.
    await mustNotBeServed(folder)
    return await work()
  } finally {
    await new Promise((resolve) => server.close(resolve))
  }
}

/** For the service that has the folder: resolves when no command works on it. `onWait` is called if there is one. */
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
    // Most often there is no such socket, and to look takes a tenth of the time that a connection takes.
    return existsSync(path) && (await answers(path))
  } catch {
    // There is no such folder.
    return false
  }
}

/**
 * Runs work that takes a dead socket away, one process at a time, so that nobody removes the socket that another has just put in its place.
 * The turn is an abstract socket name, which is in no folder and goes with its owner. A caller that cannot have its turn for so long,
 * because a stranger has the name, does without.
 */
export async function inTurn<Result>(folder: string, work: () => Promise<Result>): Promise<Result> {
  const { dev, ino } = statSync(folder)
  const turn = createServer()
  const from = performance.now()
  // Where there are no such names either.
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
