// The facts about the computer of the service, from its files alone: whether its clock is set, its power good, its
// processor cool and its disk large enough. An unprivileged user can read all of them, also under the hardening of the unit.

import { LabError } from '../errors.ts'
import { HostFiles, roomOn } from '../kit/host_files.ts'

/** A fact is null if this computer cannot tell. */
export type HostFacts = {
  clock_synced: boolean | null
  /** Whether the voltage was too low in the last two seconds. */
  under_voltage: boolean | null
  /** The temperature in °C, and the one that is too hot for this processor. */
  temperature: { celsius: number; hot: number } | null
  /** The space of the file system of the data folder, in bytes. */
  room: Room | null
  /** The wall clock minus the monotonic clock, which changes when the clock is set or the computer sleeps. */
  wall_ahead_ms: number
}
export type Room = { free: number; total: number }

export interface Host {
  look(): Promise<HostFacts>
  /** Reads this fact alone, for frequent checks. */
  underVoltage(): Promise<boolean | null>
}

/** `root` is a folder with the file system of a computer, for tests. */
export function thisHost({ data_dir, root = '' }: { data_dir: string; root?: string }): Host {
  const files = new HostFiles(root)
  return {
    async look() {
      const [clock_synced, under_voltage, temperature, room] = await Promise.all([
        clockSynced(files),
        underVoltage(files),
        temperatureOf(files),
        roomOn(data_dir).catch(() => null),
      ])
      return { clock_synced, under_voltage, temperature, room, wall_ahead_ms: Date.now() - performance.now() }
    },
    underVoltage: () => underVoltage(files),
  }
}

/** A computer without any known fact. */
export const unknownHost: Host = {
  look: async () => ({ clock_synced: null, under_voltage: null, temperature: null, room: null, wall_ahead_ms: 0 }),
  underVoltage: async () => null,
}

/** Reads board and kernel, for people. */
export async function boardOf(files: HostFiles): Promise<{ model: string | null; kernel: string | null }> {
  const [model, kernel] = await Promise.all([files.text('/proc/device-tree/model'), files.text('/proc/sys/kernel/osrelease')])
  return { model: model?.replaceAll('\0', '') ?? null, kernel: kernel ?? null }
}

/** The free space that is scarce, and that is nearly none: a share of the disk, and bytes that suffice on a large disk. */
const scarce = { part: 0.1, bytes: 10e9 }
const nearlyNone = { part: 0.02, bytes: 2e9 }

type RoomLevel = 'enough' | 'scarce' | 'nearly none'

export function levelOf({ free, total }: Room): RoomLevel {
  const isLess = ({ part, bytes }: typeof scarce) => free < Math.min(total * part, bytes)
  return isLess(nearlyNone) ? 'nearly none' : isLess(scarce) ? 'scarce' : 'enough'
}

/** Rejects with `storage` if the disk would be nearly full with so many more bytes: the state needs the rest. */
export async function mustHaveRoom(folder: string, bytes: number): Promise<void> {
  const { free, total } = await roomOn(folder)
  if (levelOf({ free: free - bytes, total }) !== 'nearly none') return
  const sentence = `the disk has ${Math.floor(free / 1e6)} MB left, too little for this file: free some space, then try again`
  throw new LabError('storage', sentence, { retry_after_s: 60 })
}

/** Formats the free space as `9.5 % (3 GB of 32 GB)`. */
export function roomInWords({ free, total }: Room): string {
  const part = total > 0 ? (100 * free) / total : 0
  return `${part < 10 ? part.toFixed(1) : Math.round(part)} % (${gigabytes(free)} of ${gigabytes(total)})`
}

function gigabytes(bytes: number): string {
  return bytes < 1e9 ? `${Math.round(bytes / 1e6)} MB` : `${(bytes / 1e9).toFixed(bytes < 1e10 ? 1 : 0)} GB`
}

/**
 * Reads whether timesyncd has set the clock: it has its folder while it runs, and the file in it after a synchronization (systemd-timesyncd.service(8)). For
 * other programs no file tells; adjtimex(2) would, but Node lacks it and `ProtectClock=` forbids it.
 */
async function clockSynced(files: HostFiles): Promise<boolean | null> {
  if (await files.has('/run/systemd/timesync/synchronized')) return true
  return (await files.has('/run/systemd/timesync')) ? false : null
}

/** Reads the alarm of the kernel driver (raspberrypi-hwmon.c), which asks the firmware every two seconds and shows only the last answer. */
async function underVoltage(files: HostFiles): Promise<boolean | null> {
  const sensor = (await sensorsIn(files)).get('rpi_volt')
  const alarm = sensor && (await files.text(`${sensor}/in0_lcrit_alarm`))
  return alarm === undefined ? null : alarm === '1'
}

/**
 * Keyed by sensor of the processor: the temperature from which it is too hot. A Raspberry Pi throttles at 80 °C; processors of
 * other computers are made for more.
 */
const hotAt: Record<string, number> = {
  'cpu-thermal': 80,
  cpu_thermal: 80,
  'soc-thermal': 80,
  x86_pkg_temp: 95,
  coretemp: 95,
  k10temp: 95,
}

async function temperatureOf(files: HostFiles): Promise<HostFacts['temperature']> {
  for (const { kind, file } of [...(await thermalZones(files)), ...(await thermometers(files))]) {
    const hot = hotAt[kind]
    const celsius = Number((await files.text(file)) ?? Number.NaN) / 1000
    // A sensor that is switched off reports 0, or an impossibly low temperature.
    if (hot !== undefined && Number.isFinite(celsius) && celsius > -90 && celsius !== 0) return { celsius, hot }
  }
  return null
}

async function thermalZones(files: HostFiles): Promise<{ kind: string; file: string }[]> {
  const zones = (await files.names('/sys/class/thermal')).filter((name) => name.startsWith('thermal_zone'))
  return Promise.all(
    zones.map(async (name) => ({
      kind: (await files.text(`/sys/class/thermal/${name}/type`)) ?? '',
      file: `/sys/class/thermal/${name}/temp`,
    })),
  )
}

async function thermometers(files: HostFiles): Promise<{ kind: string; file: string }[]> {
  const sensors = await sensorsIn(files)
  const known = Object.keys(hotAt).filter((kind) => sensors.has(kind))
  return known.map((kind) => ({ kind, file: `${sensors.get(kind)}/temp1_input` }))
}

/** Finds the folder of each sensor by its name, of the first if two share it. The numbers of the folders change with each boot. */
async function sensorsIn(files: HostFiles): Promise<ReadonlyMap<string, string>> {
  const folders = (await files.names('/sys/class/hwmon')).map((entry) => `/sys/class/hwmon/${entry}`)
  const named = await Promise.all(folders.map(async (folder) => [(await files.text(`${folder}/name`)) ?? '', folder] as const))
  return new Map(named.reverse())
}
