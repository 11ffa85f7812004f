// The devices of the configuration, each held against its driver, and all against each other.

import { realpath } from 'node:fs/promises'
import * as v from 'valibot'
import { type BridgeConfig, type BridgeName, type BridgePlace, bridges, wrongWithSettings } from '../../drivers/bridge/attach.ts'
import { type AnyDriver, isOnPins, type LineDriver } from '../../drivers/driver.ts'
import { type OutsideDriver, outsideDriver, placeOf as placeOfDriver, shippedDriver } from '../../drivers/outside.ts'
import { settings as personSettings } from '../../drivers/person/person.ts'
import { atOdds, type Claim, claimsOf, lineClaim } from '../../drivers/transports/claims.ts'
import type { PersonSettings } from '../devices/device.ts'
import { messageOf } from '../errors.ts'
import { didYouMean, nearest } from '../kit/did_you_mean.ts'
import { judged } from '../kit/schema.ts'
import { type ConfigFile, configFileWith, type Transport } from './file.ts'

/** A device that is ready to be opened: its driver is loaded, its settings are the driver's own. */
export type DeviceConfig = Omit<ConfigFile['devices'][number], 'driver' | 'type' | 'transport' | 'settings'> & { name: string } & (
    | { kind: 'external'; driver: 'external' }
    | { kind: 'person'; driver: 'person'; settings: PersonSettings }
    | {
        kind: 'driven'
        driver: string
        transport: DriverTransport
        driven_by: AnyDriver
        settings: unknown
        /** The folder or package of a driver of the lab's own; absent for one of the catalogue. */
        outside?: Outside
        /** The path of a driver of the lab's own that is not used, because the catalogue has one of that name. */
        unused?: string
      }
    /** A device whose driver could not be loaded: it cannot be used, and disturbs no other. */
    | { kind: 'unloaded'; driver: string; outside: Outside; why: string }
    | ({ kind: 'bridge' } & BridgeConfig)
  )
export type Outside = Pick<OutsideDriver, 'source' | 'path' | 'stamp'>
/** The transport of a driver. The TCP port is that of the driver, if the configuration names none. */
type DriverTransport = Exclude<Transport, { kind: 'bridge' | 'tcp' }> | TcpPlace
type TcpPlace = { kind: 'tcp'; host: string; port: number }
/** A device of the file. The members whose names are in `wrong` do not have the right shape, and stand-ins are in their place. */
export type ReadDevice = { device: ConfigFile['devices'][number]; wrong: ReadonlySet<string> }

/** `outside` are the names of drivers of the lab's own. */
export function readDevice(written: unknown, index: number, outside: readonly string[] = []): ReadDevice {
  const Written = configFileWith(outside).entries.devices.wrapped.item
  const members: Record<string, unknown> = { ...Object(written) }
  const known = Object.keys(Written.entries)
  // A misspelled member counts as a wrong one, and not as one that is missing.
  const misspelled = Object.keys(members).flatMap((name) => (known.includes(name) ? [] : (nearest(name, known) ?? [])))
  const wrong = new Set(misspelled.filter((name) => !(name in members)))
  for (const [name, schema] of Object.entries(Written.entries)) if (!v.is(schema, members[name])) wrong.add(name)
  const right = Object.fromEntries(Object.entries(members).filter(([name]) => known.includes(name) && !wrong.has(name)))
  const device = v.parse(Written, { device_id: 'none', driver: 'external', ...right })
  return { device: wrong.has('device_id') ? { ...device, device_id: `devices[${index}]` } : device, wrong }
}

/** The names by which this computer calls itself. A host that has the end of a name server, `localhost.`, is the same one. */
const thisComputer = /^(localhost|localhost\.localdomain|127\.0\.0\.1|\[?::1\]?|\[?::ffff:127\.0\.0\.1\]?)$/

function hostOf(host: string): string {
  const name = host.toLowerCase().replace(/\.$/, '')
  return thisComputer.test(name) ? 'localhost' : name
}

function nameOf(transport: Transport): string {
  return transport.kind === 'serial' ? transport.path : 'host' in transport ? `${transport.host?.toLowerCase()}:${transport.port}` : ''
}

/** Adds the port of the driver to a TCP transport without one. The name may be that of a bridge, which has no driver. */
async function completed(transport: Transport | undefined, driver: string, folder?: string): Promise<Transport | undefined> {
  if (transport?.kind !== 'tcp' || transport.port !== undefined) return transport
  const { driven_by: known } = (await driverOf(driver, folder)) ?? {}
  return !known || isOnPins(known) || !known.tcp ? transport : { ...transport, port: known.tcp.port }
}

type FoundDriver = { driven_by?: AnyDriver; outside?: Outside; unused?: string; why?: string }

/** Returns the driver of this name, one of the catalogue first; undefined where there is none. */
async function driverOf(name: string, folder: string | undefined): Promise<FoundDriver | undefined> {
  const place = placeOfDriver(name, folder)
  const driven_by = await shippedDriver(name)
  if (driven_by) return { driven_by, ...(place && { unused: place.path }) }
  if (!place) return undefined
  const { source, path, stamp, ...found } = await outsideDriver(name, place)
  const outside = { source, path, stamp }
  return 'driver' in found ? { driven_by: found.driver, outside } : { outside, why: found.why }
}

/** Returns a name that is equal for two transports at one port; undefined for a transport without a port. */
export async function portOf(written: Transport | undefined, driver: string, folder?: string): Promise<string | undefined> {
  const transport = await completed(written, driver, folder)
  if (transport?.kind === 'tcp') return `${hostOf(transport.host)}:${transport.port}`
  if (transport?.kind !== 'serial') return undefined
  return realpath(transport.path).catch(() => transport.path)
}

/** Two devices on one port would change each other's settings before the lock of the port is even tried. */
export async function doublesIn(devices: readonly ReadDevice[], folder?: string): Promise<string[]> {
  const mistakes: string[] = []
  const ids = new Set<string>()
  const ports = new Map<string, string>()
  for (const { device } of devices) {
    const { device_id, driver } = device
    const transport = await completed(device.transport, driver, folder)
    if (ids.has(device_id)) mistakes.push(`two devices are called ${device_id}; give each an id of its own`)
    ids.add(device_id)
    const port = await portOf(transport, driver, folder)
    if (port === undefined) continue
    const other = ports.get(port)
    if (other !== undefined) mistakes.push(`${other} and ${device_id} are on one port, ${nameOf(transport!)}; see which of them is there`)
    else ports.set(port, device_id)
  }
  return mistakes
}

type CheckedDevice = { device: DeviceConfig } | { mistakes: string[] }

/** `folder` is that of the configuration, beside which drivers of the lab's own lie. */
export async function checkDevice(read: ReadDevice, folder?: string): Promise<CheckedDevice> {
  const { device, wrong } = read
  const { device_id, name = device_id, driver, type, settings, ...rest } = device
  const transport = await completed(device.transport, driver, folder)
  if (wrong.has('driver')) return { mistakes: [] }
  if (isBridge(driver)) return checkBridge({ device: { ...device, driver }, wrong })
  if (type !== undefined) return { mistakes: [`${device_id}: its type is that of its driver; only bridge and simulated take a type`] }
  if (driver === 'external') {
    const given = { transport, settings, limits: device.limits }
    const mistakes = Object.entries(given)
      .filter(([, value]) => value !== undefined && Object.keys(value).length > 0)
      .map(([member]) => `${device_id}: an external device is driven elsewhere and takes no ${member}`)
    return mistakes.length ? { mistakes } : { device: { ...rest, device_id, name, driver, kind: 'external' } }
  }
  if (driver === 'person') return wrong.has('settings') ? { mistakes: [] } : checkPerson(device)
  const { outside, ...found } = (await driverOf(driver, folder))!
  const unloaded = (why: string) => ({ device: { ...rest, device_id, name, driver, kind: 'unloaded' as const, outside: outside!, why } })
  if (!found.driven_by) return unloaded(found.why!)
  try {
    return checkDriven(read, found.driven_by, { transport, ...(outside ? { outside } : found.unused && { unused: found.unused }) })
  } catch (error) {
    // A mistake in the code of a driver of the lab's own, as in its profile, concerns that device alone.
    if (outside) return unloaded(messageOf(error))
    throw error
  }
}

type Driving = { transport: Transport | undefined; outside?: Outside; unused?: string }

function checkDriven({ device, wrong }: ReadDevice, driven_by: AnyDriver, { transport, ...origin }: Driving): CheckedDevice {
  const { device_id, name = device_id, driver, type: _, settings, ...rest } = device
  const own = judged(driven_by.settings, settings)
  if (wrong.has('settings')) return { mistakes: [] }
  const mistakes = [
    ...(wrong.has('transport') ? [] : mistakesOfTransport(driven_by, { transport, settings }, device_id)),
    ...('output' in own
      ? wideBounds(device.limits, driven_by.profile(own.output).limits, device_id)
      : own.mistakes.map((mistake) => `${device_id}.settings: ${mistake}`)),
  ]
  if (!isForDriver(transport) || !('output' in own) || mistakes.length > 0) return { mistakes }
  return { device: { ...rest, device_id, name, driver, kind: 'driven', transport, driven_by, settings: own.output, ...origin } }
}

function isForDriver(transport: Transport | undefined): transport is DriverTransport {
  return transport !== undefined && transport.kind !== 'bridge' && (transport.kind !== 'tcp' || transport.port !== undefined)
}

function checkPerson({ device_id, name = device_id, transport, settings, type: _, ...rest }: ReadDevice['device']): CheckedDevice {
  const own = judged(personSettings, settings)
  const mistakes = [
    ...(transport ? [`${device_id}: a person takes no transport; leave it out`] : []),
    ...(Object.keys(rest.limits).length > 0 ? [`${device_id}: a person takes no limits; leave them out`] : []),
    ...('output' in own ? [] : own.mistakes.map((mistake) => `${device_id}.settings: ${mistake}`)),
  ]
  if (mistakes.length > 0 || !('output' in own)) return { mistakes }
  return { device: { ...rest, device_id, name, driver: 'person', kind: 'person', settings: own.output } }
}

function isBridge(driver: string): driver is BridgeName {
  return Object.hasOwn(bridges, driver)
}

type ReadBridge = { device: ReadDevice['device'] & { driver: BridgeName }; wrong: ReadDevice['wrong'] }

function checkBridge({ device, wrong }: ReadBridge): CheckedDevice {
  const { device_id, name = device_id, driver, type, transport, settings, ...rest } = device
  const own = judged(bridges[driver] as v.GenericSchema, settings)
  if (wrong.has('settings')) return { mistakes: [] }
  const place = driver === 'bridge' ? placeOf(transport, device_id) : undefined
  const misdescribed = 'output' in own && type !== undefined ? wrongWithSettings(driver, type, own.output) : undefined
  const mistakes = [
    ...(type === undefined && !wrong.has('type')
      ? [`${device_id}: type is missing; "transporter", "reader", "liquid_handler" or any other word`]
      : []),
    ...(driver === 'simulated' && transport?.kind !== 'simulated' ? [`${device_id}: its transport must be {"kind": "simulated"}`] : []),
    ...(place?.mistakes ?? []),
    ...('output' in own ? [] : own.mistakes.map((mistake) => `${device_id}.settings: ${mistake}`)),
    ...(misdescribed === undefined ? [] : [`${device_id}.settings: ${misdescribed}`]),
    ...(Object.keys(rest.limits).length > 0 ? [`${device_id}: limits are those that its program describes; leave them out`] : []),
  ]
  if (mistakes.length > 0 || wrong.has('type') || wrong.has('transport') || !('output' in own)) return { mistakes }
  const its = { ...rest, device_id, name, driver, type, settings: own.output, ...(place && { transport: place.place }) }
  return { device: { ...its, kind: 'bridge' } as DeviceConfig }
}

const loopback = /^(localhost|127(\.\d{1,3}){3}|::1)$/

/** Exactly one of a command, a socket, and a host with a port. */
function placeOf(transport: Transport | undefined, device_id: string): { place?: BridgePlace; mistakes: string[] } {
  const wanted = `${device_id}: its transport must be {"kind": "bridge", "command": ["python3", "…"]}, or with "socket", or with "host" and "port"`
  if (transport?.kind !== 'bridge') return { mistakes: [wanted] }
  const { command, socket, host, port, trusted_network } = transport
  const isTcp = host !== undefined || port !== undefined
  if ([command !== undefined, socket !== undefined, isTcp].filter(Boolean).length !== 1)
    return { mistakes: [`${wanted}, and one of these`] }
  if (command) return { place: { command }, mistakes: [] }
  if (socket !== undefined) return { place: { socket }, mistakes: [] }
  if (host === undefined || port === undefined) return { mistakes: [wanted] }
  if (loopback.test(host) || trusted_network) return { place: { host, port }, mistakes: [] }
  const sentence = `${host} is another computer, and a bridge asks for no key; if the network between is trusted, say "trusted_network": true`
  return { mistakes: [`${device_id}: ${sentence}`] }
}

/** The defaults of the wiring are the simulation's: on real pins they would drive whatever hangs there. */
function mistakesOfTransport(
  driver: AnyDriver,
  { transport, settings }: Pick<ConfigFile['devices'][number], 'transport' | 'settings'>,
  device_id: string,
): string[] {
  if (!transport)
    return [
      `${device_id}: transport is missing; {"kind": "simulated"}, {"kind": "serial", "path": "/dev/serial/by-id/…"}, {"kind": "tcp", "host": "…", "port": 4001} or {"kind": "pins"}`,
    ]
  if (transport.kind === 'simulated') return []
  const wanted = isOnPins(driver) ? 'pins' : driver.tcp ? 'tcp' : 'serial'
  if (transport.kind === 'tcp' && !isOnPins(driver)) return mistakesOfTcp(driver, transport, device_id)
  const members = { pins: '', serial: ', "path": "…"', tcp: ', "host": "…"' }
  if (transport.kind !== wanted) return [`${device_id}: its transport must be {"kind": "${wanted}"${members[wanted]}}`]
  return (wanted === 'pins' ? ['pins', 'i2c'] : [])
    .filter((member) => !(member in settings))
    .map((member) => `${device_id}.settings.${member} is missing: say how it is wired`)
}

function mistakesOfTcp({ serial, changes_speed }: LineDriver, { port }: Extract<Transport, { kind: 'tcp' }>, device_id: string): string[] {
  if (changes_speed)
    return [
      `${device_id}: its driver changes the speed of the line while it talks, which a box on the network does not; use {"kind": "serial"}`,
    ]
  return serial && port === undefined ? [`${device_id}.transport.port is missing: say which port of the serial box has the line`] : []
}

export function clashesIn(stop_input: ConfigFile['stop_input'], devices: readonly DeviceConfig[]): string[] {
  const mistakes: string[] = []
  const taken: (Claim & { by: string })[] = stop_input ? [{ ...lineClaim(stop_input), by: 'stop_input' }] : []
  for (const device of devices) {
    if (device.kind !== 'driven' || device.transport.kind !== 'pins' || !isOnPins(device.driven_by)) continue
    for (const claim of claimsOf(device.driven_by.plan(device.settings))) {
      const mine = { ...claim, by: device.device_id }
      mistakes.push(...taken.flatMap((other) => clashOf(other, mine)))
      taken.push(mine)
    }
  }
  return mistakes
}

function clashOf(one: Claim & { by: string }, other: Claim & { by: string }): string[] {
  const why = atOdds(one, other)
  if (!why) return []
  const both = one.by === other.by ? `${one.by} uses ${one.words} twice` : `${one.by} and ${other.by} both use ${one.words}`
  const uses = one.words === other.words ? both : `${one.by} uses ${one.words}, and ${other.by} ${other.words}`
  return [`${uses}: ${why}`]
}

/** Limits of the configuration are there to narrow what the model takes. */
function wideBounds(
  bounds: ConfigFile['devices'][number]['limits'],
  limits: Record<string, { min: number; max: number; unit: string }>,
  device_id: string,
): string[] {
  return Object.entries(bounds).flatMap(([name, { min, max }]) => {
    const limit = limits[name]
    const place = `${device_id}.limits`
    if (!limit) return [`${place}: there is no limit ${JSON.stringify(name)}${didYouMean(name, Object.keys(limits))}`]
    const [least, most] = [min ?? limit.min, max ?? limit.max]
    if (least > most) return [`${place}.${name}: min ${least} is above max ${most}`]
    if (least >= limit.min && most <= limit.max) return []
    return [`${place}.${name}: the model takes ${limit.min} to ${limit.max} ${limit.unit}; limits here can only narrow that`]
  })
}
