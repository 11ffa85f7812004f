// The facts about the computer that a service runs on, from its files alone: whether its clock is set, its power good, its
// processor cool and its disk roomy. All of it can be read by a user without rights, under the hardening of the unit too.

import { HostFiles, roomOn } from '../kit/host_files.ts'

/** null where this computer cannot tell. */
export type HostFacts = {
  clock_synced: boolean | null
  /** Whether the voltage was too low in the last two seconds. */
  under_voltage: boolean | null
  /** °C, and what is too hot for this processor. */
  temperature: { celsius: number; hot: number } | null
  /** The space of the file system of the data folder, in bytes. */
  room: Room | null
  /** The wall clock less the monotonic one: it changes when somebody sets the clock, and when the computer slept. */
  wall_ahead_ms: number
}
export type Room = { free: number; total: number }

export interface Host {
  look(): Promise<HostFacts>
  /** Alone, for who wants to know it more often. */
  underVoltage(): Promise<boolean | null>
}

/** `root` is a folder laid out like a computer, for trying things. */
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

/** A computer of which nothing is known. */
export const unknownHost: Host = {
  look: async () => ({ clock_synced: null, under_voltage: null, temperature: null, room: null, wall_ahead_ms: 0 }),
  underVoltage: async () => null,
}

/** Board and kernel, for people. */
export async function boardOf(files: HostFiles): Promise<{ model: string | null; kernel: string | null }> {
  const [model, kernel] = await Promise.all([files.text('/proc/device-tree/model'), files.text('/proc/sys/kernel/osrelease')])
  return { model: model?.replaceAll('\0', '') ?? null, kernel: kernel ?? null }
}

/** Less than this is scarce, and less than that nearly nothing: a part of the disk, but a large disk need not keep so much. */
const scarce = { part: 0.1, bytes: 10e9 }
const nearlyNone = { part: 0.02, bytes: 2e9 }

type RoomLevel = 'enough' | 'scarce' | 'nearly none'

export function levelOf({ free, total }: Room): RoomLevel {
  const isLess = ({ part, bytes }: typeof scarce) => free < Math.min(total * part, bytes)
  return isLess(nearlyNone) ? 'nearly none' : isLess(scarce) ? 'scarce' : 'enough'
}

/** `9.5 % (3 GB of 32 GB)`. */
export function roomInWords({ free, total }: Room): string {
  const part = total > 0 ? (100 * free) / total : 0
  return `${part < 10 ? part.toFixed(1) : Math.round(part)} % (${gigabytes(free)} of ${gigabytes(total)})`
}

function gigabytes(bytes: number): string {
  return bytes < 1e9 ? `${Math.round(bytes / 1e6)} MB` : `${(bytes / 1e9).toFixed(bytes < 1e10 ? 1 : 0)} GB`
}

/**
 * timesyncd has its folder for as long as it runs, and in it that file once it has set the clock (systemd-timesyncd.service(8)). Of
 * other programs that set clocks the files say nothing: adjtimex(2) would, which Node has not and `ProtectClock=` forbids.
 */
async function clockSynced(files: HostFiles): Promise<boolean | null> {
  if (await files.has('/run/systemd/timesync/synchronized')) return true
  return (await files.has('/run/systemd/timesync')) ? false : null
}

/** The driver asks the firmware every two seconds what was since, and shows the last answer only (raspberrypi-hwmon.c of the kernel). */
async function underVoltage(files: HostFiles): Promise<boolean | null> {
  const sensor = (await sensorsIn(files)).get('rpi_volt')
  const alarm = sensor && (await files.text(`${sensor}/in0_lcrit_alarm`))
  return alarm === undefined ? null : alarm === '1'
}

/**
 * Temperatures of the processor, by its sensor, from which on it is too hot. A Raspberry Pi begins to slow down at 80 °C; processors of
 * other computers are made for more, and run there.
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
    // A sensor that is switched off says 0, or something below the coldest place on earth.
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

/** The folder of each sensor by its name, of the first where two have one name: the numbers of the folders are others after each start. */
async function sensorsIn(files: HostFiles): Promise<ReadonlyMap<string, string>> {
  const folders = (await files.names('/sys/class/hwmon')).map((entry) => `/sys/class/hwmon/${entry}`)
  const named = await Promise.all(folders.map(async (folder) => [(await files.text(`${folder}/name`)) ?? '', folder] as const))
  return new Map(named.reverse())
}
