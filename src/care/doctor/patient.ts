// The computer that is checked: its files, the user whose rights count, and its running service.

import type { Probe } from '../../../drivers/transports/pin.ts'
import type { DeviceConfig } from '../../config/devices.ts'
import type { Config } from '../../config.ts'
import { type FileStatus, type HostFiles, statusOf } from '../../kit/host_files.ts'
import type { Installation } from '../../kit/installation.ts'
import type { Room } from '../host.ts'

/** The service on the data folder, if it can be asked. */
export type ServiceView =
  | { is: 'absent' }
  /** The service exists, but does not answer. */
  | { is: 'closed'; why: string }
  | { is: 'answering'; get<Answer>(path: string): Promise<Answer> }

/** The user whose rights count: the one that the service runs as. */
export type Who = { name: string; uid: number; gids: readonly number[] }

export type Patient = {
  files: HostFiles
  data_dir: string
  /** The configuration; undefined if it has mistakes. */
  config: Config | undefined
  config_path?: string | undefined
  service: ServiceView
  as: Who
  /** Whether it is this computer, so that programs may be run and ports opened. */
  is_this: boolean
  /** Whether instruments may be identified. */
  may_ask: boolean
  /** The installation of benchd. */
  installation: Installation
  /** The folders of packages. */
  modules: readonly string[]
  room(folder: string): Promise<Room>
  /** Measures the milliseconds of a synced write. */
  sync(folder: string): Promise<number>
  pins(): Promise<Probe[]>
}

export type Driven = Extract<DeviceConfig, { kind: 'driven' }>

/** Lists the configured devices with a driver that are not simulated. */
export function realDevices({ config }: Pick<Patient, 'config'>): Driven[] {
  return (config?.devices ?? []).filter((device): device is Driven => device.kind === 'driven' && device.transport.kind !== 'simulated')
}

export function onSerialPort(patient: Pick<Patient, 'config'>): (Driven & { path: string })[] {
  return realDevices(patient).flatMap((device) => (device.transport.kind === 'serial' ? [{ ...device, path: device.transport.path }] : []))
}

/** Returns the user of the service: the package's own user on the package's folder, else the owner of the folder. */
export async function serviceUser(files: HostFiles, data_dir: string): Promise<Who> {
  const people = await linesOf(files, 'passwd')
  const own = people.find(([name]) => name === 'benchd')
  if (own && data_dir === files.at('/var/lib/benchd')) return whoIs(files, own)
  const uid = (await statusOf(data_dir))?.uid ?? process.geteuid?.() ?? 0
  return whoIs(files, people.find(([, , known]) => known === String(uid)) ?? [String(uid), '', String(uid), String(uid)])
}

async function whoIs(files: HostFiles, [name = '', , uid, gid]: readonly string[]): Promise<Who> {
  const groups = (await linesOf(files, 'group')).filter(([, , , members = '']) => members.split(',').includes(name))
  return { name, uid: Number(uid), gids: [Number(gid), ...groups.map(([, , id]) => Number(id))] }
}

/** Whether this process has that user's rights; root has more. */
export function isTriedAs({ uid }: Who): boolean {
  return [0, uid].includes(process.geteuid?.() ?? 0)
}

/** Whether the user may use a file by its mode; access control lists are ignored. */
export function mayUse({ uid, gid, mode }: FileStatus, who: Who): boolean {
  if (who.uid === 0) return true
  const mine = who.uid === uid ? mode >> 6 : who.gids.includes(gid) ? mode >> 3 : mode
  return (mine & 0o6) === 0o6
}

/** Formats the rights of a file as `root:dialout 0660`. */
export async function rightsInWords(files: HostFiles, { uid, gid, mode }: FileStatus): Promise<string> {
  return `${await nameOf(files, 'passwd', uid)}:${await groupName(files, gid)} 0${mode.toString(8)}`
}

export function groupName(files: HostFiles, gid: number): Promise<string> {
  return nameOf(files, 'group', gid)
}

export function userName(files: HostFiles, uid: number): Promise<string> {
  return nameOf(files, 'passwd', uid)
}

async function nameOf(files: HostFiles, file: 'passwd' | 'group', id: number): Promise<string> {
  return (await linesOf(files, file)).find(([, , known]) => known === String(id))?.[0] ?? String(id)
}

async function linesOf(files: HostFiles, file: 'passwd' | 'group'): Promise<string[][]> {
  return ((await files.text(`/etc/${file}`)) ?? '').split('\n').map((line) => line.split(':'))
}
