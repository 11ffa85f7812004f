// The one configuration file: its schema, and every device's settings held against its driver's.

import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFile, realpath } from 'node:fs/promises'
import * as v from 'valibot'
import { type AnyDriver, isOnPins } from '../drivers/driver.ts'
import { type DriverName, driverNames, drivers } from '../drivers/index.ts'
import { atOdds, type Claim, claimsOf, lineClaim } from '../drivers/transports/claims.ts'
import { ContactWiring } from '../drivers/transports/wiring.ts'
import { LabError, messageOf } from './errors.ts'
import { didYouMean } from './kit/did_you_mean.ts'
import { installation } from './kit/installation.ts'
import { parseJsonWithComments } from './kit/json.ts'
import { Id } from './kit/name.ts'
import { checked } from './kit/schema.ts'

/** Words that stand where a device's id would stand in the paths of the teachpoints, and those that JavaScript keeps for itself. */
const takenIds = ['bulk', 'export', 'constructor', 'prototype', '__proto__']
const DeviceId = v.pipe(
  Id,
  v.check((id) => !takenIds.includes(id), 'this id would collide with a path of the API; take another'),
)

const Transport = v.variant('kind', [
  v.strictObject({ kind: v.literal('serial'), path: v.pipe(v.string(), v.nonEmpty()) }),
  v.strictObject({ kind: v.literal('pins') }),
  v.strictObject({ kind: v.literal('simulated') }),
])

const Bound = v.strictObject({ min: v.optional(v.pipe(v.number(), v.finite())), max: v.optional(v.pipe(v.number(), v.finite())) })

const DeviceConfig = v.strictObject({
  device_id: DeviceId,
  driver: v.picklist([...driverNames, 'external']),
  name: v.optional(v.pipe(v.string(), v.maxLength(128))),
  transport: v.optional(Transport),
  settings: v.optional(v.record(v.string(), v.unknown()), {}),
  limits: v.optional(v.record(v.string(), Bound), {}),
  on_restart: v.optional(v.picklist(['halt', 'leave']), 'halt'),
  identity: v.optional(
    v.strictObject({ model: v.optional(v.string()), serial_number: v.optional(v.string()), firmware_version: v.optional(v.string()) }),
    {},
  ),
})

const Count = (least: number, most: number) => v.pipe(v.number(), v.integer(), v.minValue(least), v.maxValue(most))

/** A bound of the service: a whole number from 1 to `most`. */
const Limit = (usual: number, most: number, description: string) => v.optional(v.pipe(Count(1, most), v.description(description)), usual)

/** The bounds of the service as a whole; `kit/refusals.ts` counts what they refuse. */
const Limits = v.strictObject({
  subscribers: Limit(256, 10_000, 'Event streams at once'),
  connections: Limit(512, 100_000, 'Connections at once; a new one closes the oldest that has asked nothing for a second'),
  connections_per_address: Limit(64, 100_000, 'Connections of one address that have asked nothing for a second'),
  requests_per_connection: Limit(8, 1000, 'Requests that a connection may send before the first of them is answered'),
  handshake_s: Limit(10, 120, 'Seconds that a TLS handshake may take'),
  answer_s: Limit(60, 3600, 'Seconds without progress after which an answer is given up that its client does not take'),
  answers_mib: Limit(64, 1024, 'MiB of all answers together that their clients have not taken yet'),
  long_requests_per_key: Limit(64, 10_000, 'Event streams, waits and event reads of one key at once'),
  pairings_per_address: Limit(2, 5, 'Requests for a key of one address that may wait'),
  open_simulations: Limit(32, 10_000, 'PURE_SIM runs and dry runs that are open'),
  open_runs: Limit(100, 10_000, 'LIVE and DEVICE_SIM runs that are open'),
  open_threads: Limit(5000, 1_000_000, 'Labware threads of all runs and dry runs that are open'),
  pages_per_address: Limit(16, 1024, 'Files of the pages a second for one address; eight times as many at once'),
  bodies_mib: Limit(32, 1024, 'MiB of the bodies of all requests under way together'),
})
export type Limits = v.InferOutput<typeof Limits>

/** The file as it is written. */
export const ConfigFile = v.strictObject({
  $schema: v.optional(v.string()),
  format: v.literal(1),
  system_id: v.optional(Id, 'system'),
  listen: v.optional(
    v.strictObject({
      host: v.optional(v.pipe(v.string(), v.nonEmpty()), '0.0.0.0'),
      port: v.optional(Count(0, 65535), 8520),
      tls: v.optional(v.nullable(v.strictObject({ cert: v.string(), key: v.string() })), null),
    }),
    {},
  ),
  hosts: v.optional(v.array(v.pipe(v.string(), v.nonEmpty())), []),
  cors: v.optional(v.strictObject({ origins: v.optional(v.array(v.pipe(v.string(), v.url())), []) }), {}),
  time_scale: v.optional(v.pipe(v.number(), v.minValue(1), v.maxValue(1000)), 1),
  stop_input: v.optional(ContactWiring),
  devices: v.optional(v.array(DeviceConfig), []),
  events: v.optional(
    v.strictObject({
      segment_mib: v.optional(Count(1, 1024), 8),
      commit_ms: v.optional(Count(1, 10_000), 100),
      queue: v.optional(Count(1, 100_000), 1000),
    }),
    {},
  ),
  limits: v.optional(Limits, {}),
})
export type ConfigFile = v.InferOutput<typeof ConfigFile>

/** A device that is ready to be opened: its driver is loaded, its settings are the driver's own. */
export type DeviceConfig = Omit<ConfigFile['devices'][number], 'driver' | 'transport' | 'settings'> & {
  name: string
  driver: DriverName | 'external'
} & (
    | { kind: 'external' }
    | { kind: 'driven'; transport: NonNullable<ConfigFile['devices'][number]['transport']>; driven_by: AnyDriver; settings: unknown }
  )
export type Config = Omit<ConfigFile, 'devices'> & { devices: DeviceConfig[] }

/** Reads and checks a file. Throws `config`, naming the file, the place in it, and what it must be. */
export async function readConfig(path: string): Promise<Config> {
  let text: string
  try {
    text = await readFile(path, 'utf8')
  } catch (error) {
    throw new LabError('config', `the configuration ${path} cannot be read: ${messageOf(error)}`, { cause: error })
  }
  return parseConfig(text, path)
}

/** Checks a text; `origin` is what messages call it. */
export async function parseConfig(text: string, origin: string): Promise<Config> {
  try {
    return await checkConfig(parseJsonWithComments(text, origin), origin)
  } catch (error) {
    if (error instanceof LabError && error.code === 'invalid') throw new LabError('config', error.message, { cause: error })
    throw error
  }
}

/** Checks what such a file holds. */
export async function checkConfig(content: unknown, origin: string): Promise<Config> {
  const file = checked(ConfigFile, content, origin, 'config')
  await refuseDoubles(file.devices, origin)
  const devices = await Promise.all(file.devices.map((device) => checkDevice(device, origin)))
  refuseSharedPins(file.stop_input, devices, origin)
  return { ...file, devices }
}

type Paths = { cert: string; key: string }
export type Certificate = { cert: string; key: string; fingerprint: string; valid_to: string }

/** The certificate and its key, as text, with what people compare it by and when it ends. Throws `config`. */
export async function readTls(paths: Paths): Promise<Certificate> {
  const read = async (path: string) => {
    try {
      return await readFile(path, 'utf8')
    } catch (error) {
      throw new LabError('config', `listen.tls: ${path} cannot be read: ${messageOf(error)}`, { cause: error })
    }
  }
  const pair = { cert: await read(paths.cert), key: await read(paths.key) }
  return { ...pair, ...mustFit(pair, paths) }
}

function mustFit({ cert, key }: Paths, paths: Paths): { fingerprint: string; valid_to: string } {
  try {
    const certificate = new X509Certificate(cert)
    if (!certificate.checkPrivateKey(createPrivateKey(key))) throw new Error('it is not of this key')
    // What OpenSSL takes for too weak it says here alone.
    process.getBuiltinModule('node:tls').createSecureContext({ cert, key })
    return { fingerprint: certificate.fingerprint256, valid_to: certificate.validTo }
  } catch (error) {
    const sentence = `listen.tls: ${paths.cert} and its key are not right: ${messageOf(error)}; make new ones: ${installation().makeCert(paths)}`
    throw new LabError('config', sentence, { cause: error })
  }
}

/** Two devices on one port would change each other's settings before the lock of the port is even tried. */
async function refuseDoubles(devices: ConfigFile['devices'], origin: string): Promise<void> {
  const ids = new Set<string>()
  const ports = new Map<string, string>()
  for (const { device_id, transport } of devices) {
    if (ids.has(device_id)) throw new LabError('config', `${origin}: two devices are called ${device_id}; give each an id of its own`)
    ids.add(device_id)
    if (transport?.kind !== 'serial') continue
    const port = await realpath(transport.path).catch(() => transport.path)
    const other = ports.get(port)
    if (other)
      throw new LabError('config', `${origin}: ${other} and ${device_id} are on one port, ${transport.path}; see which of them is there`)
    ports.set(port, device_id)
  }
}

async function checkDevice(device: ConfigFile['devices'][number], origin: string): Promise<DeviceConfig> {
  const { device_id, name = device_id, driver, transport, settings, ...rest } = device
  const what = `${origin}: ${device_id}`
  if (driver === 'external') {
    if (transport) throw new LabError('config', `${what}: an external device is driven elsewhere and takes no transport`)
    for (const [member, given] of Object.entries({ settings, limits: device.limits })) {
      if (Object.keys(given).length) throw new LabError('config', `${what}: an external device is driven elsewhere and takes no ${member}`)
    }
    return { ...rest, device_id, name, driver, kind: 'external' }
  }
  if (!transport)
    throw new LabError(
      'config',
      `${what}: transport is missing; {"kind": "simulated"}, {"kind": "serial", "path": "/dev/serial/by-id/…"} or {"kind": "pins"}`,
    )
  const driven_by: AnyDriver = await drivers[driver]()
  refuseWrongTransport(driven_by, { transport, settings }, what)
  const own = checked(driven_by.settings, settings, `${what}.settings`, 'config')
  refuseWideBounds(device.limits, driven_by.profile(own).limits, what)
  return { ...rest, device_id, name, driver, kind: 'driven', transport, driven_by, settings: own }
}

/** The defaults of the wiring are the simulation's: on real pins they would drive whatever hangs there. */
function refuseWrongTransport(
  driver: AnyDriver,
  { transport, settings }: { transport: { kind: string }; settings: Record<string, unknown> },
  what: string,
): void {
  if (transport.kind === 'simulated') return
  const wanted = isOnPins(driver) ? 'pins' : 'serial'
  if (transport.kind !== wanted)
    throw new LabError('config', `${what}: its transport must be {"kind": "${wanted}"${wanted === 'serial' ? ', "path": "…"' : ''}}`)
  for (const member of wanted === 'pins' ? ['pins', 'i2c'] : []) {
    if (!(member in settings)) throw new LabError('config', `${what}.settings.${member} is missing: say how it is wired`)
  }
}

function refuseSharedPins(stop_input: ConfigFile['stop_input'], devices: readonly DeviceConfig[], origin: string): void {
  const taken: (Claim & { by: string })[] = stop_input ? [{ ...lineClaim(stop_input), by: 'stop_input' }] : []
  for (const device of devices) {
    if (device.kind !== 'driven' || device.transport.kind !== 'pins' || !isOnPins(device.driven_by)) continue
    for (const claim of claimsOf(device.driven_by.plan(device.settings))) {
      const mine = { ...claim, by: device.device_id }
      for (const other of taken) refuseClash(other, mine, origin)
      taken.push(mine)
    }
  }
}

function refuseClash(one: Claim & { by: string }, other: Claim & { by: string }, origin: string): void {
  const why = atOdds(one, other)
  if (!why) return
  const both = one.by === other.by ? `${one.by} uses ${one.words} twice` : `${one.by} and ${other.by} both use ${one.words}`
  const uses = one.words === other.words ? both : `${one.by} uses ${one.words}, and ${other.by} ${other.words}`
  throw new LabError('config', `${origin}: ${uses}: ${why}`)
}

/** Limits of the configuration are there to narrow what the model takes. */
function refuseWideBounds(
  bounds: ConfigFile['devices'][number]['limits'],
  limits: Record<string, { min: number; max: number; unit: string }>,
  what: string,
): void {
  for (const [name, { min, max }] of Object.entries(bounds)) {
    const limit = limits[name]
    if (!limit)
      throw new LabError('config', `${what}.limits: there is no limit ${JSON.stringify(name)}${didYouMean(name, Object.keys(limits))}`)
    const [least, most] = [min ?? limit.min, max ?? limit.max]
    if (least > most) throw new LabError('config', `${what}.limits.${name}: min ${least} is above max ${most}`)
    if (least < limit.min || most > limit.max) {
      throw new LabError(
        'config',
        `${what}.limits.${name}: the model takes ${limit.min} to ${limit.max} ${limit.unit}; limits here can only narrow that`,
      )
    }
  }
}
