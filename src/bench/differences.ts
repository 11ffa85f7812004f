// Compares two configurations, and names the differences by the paths of the file.

import { isDeepStrictEqual } from 'node:util'
import type { Config } from '../config.ts'

/** Lists the differences in the order of the file: `listen.port`, `devices: shaker-1 is new`, `devices: shaker-1.settings.model`. */
export function differences(from: Config, to: Config): string[] {
  const { devices: had, ...before } = from
  const { devices: has, ...after } = to
  return [...places(plain(before), plain(after)), ...ofDevices(had, has)]
}

function ofDevices(had: Config['devices'], has: Config['devices']): string[] {
  const [before, after] = [byId(had), byId(has)]
  const gone = had.filter(({ device_id }) => !after.has(device_id)).map(({ device_id }) => `${device_id} is gone`)
  const others = has.flatMap((device) => {
    const { device_id } = device
    const known = before.get(device_id)
    return known ? places(plain(known), plain(device)).map((place) => `${device_id}.${place}`) : [`${device_id} is new`]
  })
  const stayed = (list: Config['devices']) => list.map(({ device_id }) => device_id).filter((id) => before.has(id) && after.has(id))
  const order = isDeepStrictEqual(stayed(had), stayed(has)) ? [] : ['their order']
  return [...gone, ...others, ...order].map((words) => `devices: ${words}`)
}

/** `opened` lists the devices that are new or must be reopened; a device that differs only in name or limits is not among them. */
export type DeviceChanges = { opened: Config['devices']; gone: string[] }

export function deviceChanges({ devices: had }: Pick<Config, 'devices'>, { devices: has }: Pick<Config, 'devices'>): DeviceChanges {
  const [before, after] = [byId(had), byId(has)]
  const isAnother = (device: Config['devices'][number]) => {
    const known = before.get(device.device_id)
    return !known || places(plain(known), plain(device)).some((place) => !/^(name|limits)(\.|$)/.test(place))
  }
  return { opened: has.filter(isAnother), gone: had.map(({ device_id }) => device_id).filter((id) => !after.has(id)) }
}

/** `changed` names the different settings, as `differences` does; empty for an added or removed device. */
export type ReloadedDevice = { device_id: string; status: 'ADDED' | 'CHANGED' | 'REMOVED'; changed: string[] }

/** Lists the devices that a reload adds, changes or removes. Unlike `deviceChanges`, it includes devices that differ only in name or limits. */
export function reloadedDevices({ devices: had }: Pick<Config, 'devices'>, { devices: has }: Pick<Config, 'devices'>): ReloadedDevice[] {
  const [before, after] = [byId(had), byId(has)]
  const removed = had.filter(({ device_id }) => !after.has(device_id))
  const others = has.flatMap((device): ReloadedDevice[] => {
    const { device_id } = device
    const known = before.get(device_id)
    if (!known) return [{ device_id, status: 'ADDED', changed: [] }]
    const changed = places(plain(known), plain(device))
    return changed.length > 0 ? [{ device_id, status: 'CHANGED', changed }] : []
  })
  return [...removed.map(({ device_id }) => ({ device_id, status: 'REMOVED' as const, changed: [] })), ...others]
}

function byId(devices: Config['devices']): Map<string, Config['devices'][number]> {
  return new Map(devices.map((device) => [device.device_id, device]))
}

/** Removes derived members, and `$schema`, which is for editors. */
function plain(value: object): object {
  return { ...value, kind: undefined, driven_by: undefined, $schema: undefined }
}

/** Lists the paths of the innermost members that differ. A list counts as one member. */
function places(one: unknown, other: unknown, name = ''): string[] {
  if (isDeepStrictEqual(one, other)) return []
  if (!isBranch(one) || !isBranch(other)) return [name]
  const members = new Set([...Object.keys(one), ...Object.keys(other)])
  return [...members].flatMap((member) => places(one[member], other[member], name ? `${name}.${member}` : member))
}

function isBranch(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
