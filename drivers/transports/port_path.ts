// The paths of serial ports: lasting names, and the errors of opening.

import { readdir, readFile, readlink, stat } from 'node:fs/promises'
import { userInfo } from 'node:os'
import { resolve } from 'node:path'
import { LabError, messageOf } from '../../src/errors.ts'

/** The folder of udev's names, which stay the same after a restart and in another socket. */
const byId = '/dev/serial/by-id'

/** A lasting name, and its present device. */
type NamedPort = { path: string; device: string }

/** Lists the connected serial adapters that report an identity. */
export async function namedPorts(folder = byId): Promise<NamedPort[]> {
  const names = await readdir(folder).catch(() => [])
  const ports = names.sort().map(async (name) => {
    const path = resolve(folder, name)
    return { path, device: resolve(folder, await readlink(path)) }
  })
  return Promise.all(ports)
}

/** Returns a warning about a numbered port name, which may be another port after a restart; undefined for a lasting name. */
export async function portWarning(path: string, folder = byId): Promise<string | undefined> {
  if (!isNumbered(path)) return undefined
  const lasting = (await namedPorts(folder)).find(({ device }) => device === path)
  const advice = lasting
    ? `use ${lasting.path}, which stays the same`
    : `use its name in /dev/serial/by-id, or in /dev/serial/by-path if the adapter has no serial number`
  return `${path} can be another instrument after a restart; ${advice}`
}

/** Whether a name is numbered by the kernel in the order of plugging. */
export function isNumbered(path: string): boolean {
  return /^\/dev\/tty(USB|ACM)\d+$/.test(path)
}

/** Makes the error for people from the system's error. */
export async function whyNotOpen(path: string, error: unknown, folder = byId): Promise<LabError> {
  const said = messageOf(error)
  const known = reasons.find(([words]) => words.test(said))
  const sentence = known ? await known[1](path, folder) : `${path} cannot be opened as a serial port: ${said}`
  return new LabError('disconnected', sentence, { cause: error })
}

/** The package gives no codes, only the messages of the C library. */
const reasons: [RegExp, (path: string, folder: string) => string | Promise<string>][] = [
  [/No such file|No such device/i, missing],
  [/Permission denied|Operation not permitted/i, forbidden],
  [/Cannot lock port|Device or resource busy/i, held],
  [/Inappropriate ioctl|Not a typewriter|Is a directory/i, (path) => `${path} is not a serial port; see the path in the configuration`],
]

async function missing(path: string, folder: string): Promise<string> {
  const names = (await namedPorts(folder)).map((port) => port.path)
  const there = names.length ? `plugged in are ${names.join(', ')}` : `no USB serial adapter is plugged in (${folder} is empty)`
  return `there is no ${path}; see that the instrument is switched on and connected; ${there}`
}

function held(path: string): string {
  return `another program has ${path} open; end that one first (\`sudo fuser -v ${path}\` names it)`
}

async function forbidden(path: string): Promise<string> {
  const { gid, mode } = await stat(path).catch(() => ({ gid: 0, mode: 0 }))
  const group = await groupName(gid)
  const advice =
    (mode & 0o060) === 0o060
      ? `add it to the group ${group} (\`sudo adduser ${userName()} ${group}\`) and start the service again`
      : `its mode is ${(mode & 0o777).toString(8).padStart(4, '0')}: give it MODE="0660", GROUP="dialout" in a udev rule`
  return `the user ${userName()} may not open ${path}; ${advice}`
}

async function groupName(gid: number): Promise<string> {
  const groups = await readFile('/etc/group', 'utf8').catch(() => '')
  const line = groups.split('\n').find((entry) => entry.split(':')[2] === String(gid))
  return line?.split(':')[0] ?? String(gid)
}

function userName(): string {
  try {
    return userInfo().username
  } catch {
    return String(process.geteuid?.())
  }
}
