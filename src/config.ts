// The one configuration file: its schema, and every device's settings held against its driver's.

import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFile, realpath } from 'node:fs/promises'
import * as v from 'valibot'
import { type BridgeConfig, type BridgeName, type BridgePlace, bridges, wrongWithOperations } from '../drivers/bridge/attach.ts'
import { type AnyDriver, isOnPins } from '../drivers/driver.ts'
import { type DriverName, driverNames, drivers } from '../drivers/index.ts'
import { atOdds, type Claim, claimsOf, lineClaim } from '../drivers/transports/claims.ts'
import { ContactWiring } from '../drivers/transports/wiring.ts'
import { FleetConfig } from './config/fleet.ts'
import { Notify } from './config/notify.ts'
import { BridgeType } from './devices/description.ts'
import { LabError, messageOf } from './errors.ts'
import { described, Whole } from './kit/described.ts'
import { didYouMean, nearest } from './kit/did_you_mean.ts'
import { readText } from './kit/disk.ts'
import { readError } from './kit/durable.ts'
import { installation } from './kit/installation.ts'
import { parseJsonWithComments } from './kit/json.ts'
import { Host, Id } from './kit/name.ts'
import { judged } from './kit/schema.ts'

/** Words that stand where a device's id would stand in the paths of the teachpoints, and those that JavaScript keeps for itself. */
const takenIds = ['bulk', 'export', 'constructor', 'prototype', '__proto__']
const DeviceId = v.pipe(
  Id,
  v.check((id) => !takenIds.includes(id), 'this id would collide with a path of the API; take another'),
)

const TcpPort = Whole(1, 65535)

const Transport = v.variant('kind', [
  v.strictObject({
    kind: v.literal('serial'),
    path: described(v.pipe(v.string(), v.nonEmpty()), 'The port, best by its name below /dev/serial/by-id'),
  }),
  v.strictObject({
    kind: v.literal('tcp'),
    host: described(Host, 'Name or address of the box that has the serial line'),
    port: described(TcpPort, 'TCP port of the line on that box'),
  }),
  v.strictObject({ kind: v.literal('pins') }),
  v.strictObject({
    kind: v.literal('bridge'),
    command: v.optional(
      described(
        v.pipe(v.array(v.pipe(v.string(), v.maxLength(4096))), v.minLength(1), v.maxLength(64)),
        'The program of a bridge and its arguments; it is started by the service, or by systemd where that starts the service',
      ),
    ),
    socket: v.optional(
      described(v.pipe(v.string(), v.startsWith('/'), v.maxLength(107)), 'The Unix socket on which the program of a bridge listens'),
    ),
    host: v.optional(described(Host, 'Address on which the program of a bridge listens')),
    port: v.optional(described(TcpPort, 'TCP port on which the program of a bridge listens')),
    trusted_network: v.optional(
      described(v.boolean(), 'Whether anybody in the network between may say what the instrument does; without it `host` is this computer'),
      false,
    ),
  }),
  v.strictObject({ kind: v.literal('simulated') }),
])
type Transport = v.InferOutput<typeof Transport>

const bridgeNames = Object.keys(bridges) as BridgeName[]

const Bound = v.strictObject({ min: v.optional(v.pipe(v.number(), v.finite())), max: v.optional(v.pipe(v.number(), v.finite())) })

const DeviceConfig = v.strictObject({
  device_id: described(DeviceId, 'Its name in the API, in commands and in workflows: letters, digits, `-` and `_`'),
  driver: described(v.picklist([...driverNames, ...bridgeNames, 'external']), 'The driver of the instrument'),
  type: v.optional(
    described(BridgeType, 'The kind of device, only for `bridge` and `simulated`: `reader`, `liquid_handler` or any other word'),
  ),
  name: v.optional(described(v.pipe(v.string(), v.maxLength(128)), 'The name that people use; default: the model that its driver tells')),
  transport: v.optional(described(Transport, 'How the device is reached; only `external` has none')),
  settings: v.optional(described(v.record(v.string(), v.unknown()), 'Settings of its driver, below'), {}),
  limits: v.optional(described(v.record(v.string(), Bound), 'Narrower limits than those of the model: `{"speed": {"max": 1500}}`'), {}),
  on_restart: v.optional(
    described(v.picklist(['halt', 'leave']), 'Whether a device that was left on is halted when the service begins'),
    'halt',
  ),
  identity: v.optional(
    described(
      v.strictObject({ model: v.optional(v.string()), serial_number: v.optional(v.string()), firmware_version: v.optional(v.string()) }),
      'The identity that the instrument told when it was added; another instrument is refused',
    ),
    {},
  ),
})

/** A bound of the service: a whole number from 1 to `most`. */
const Limit = (usual: number, most: number, description: string) => v.optional(described(Whole(1, most), description), usual)

/** The bounds of the service as a whole; `kit/refusals.ts` counts what they refuse. */
const Limits = v.strictObject({
  subscribers: Limit(256, 10_000, 'Event streams at once'),
  connections: Limit(512, 100_000, 'Connections at once; a new one closes the oldest that has asked nothing for a second'),
  connections_per_address: Limit(64, 100_000, 'Connections of one address that have asked nothing for a second'),
  requests_per_connection: Limit(8, 1000, 'Requests that a connection may send before the first of them is answered'),
  handshake_s: Limit(10, 120, 'Seconds that a TLS handshake may take'),
  answer_s: Limit(60, 3600, 'Seconds without progress after which an answer is given up that its client does not take'),
  answers_mib: Limit(64, 1024, 'MiB of all answers together that their clients have not taken yet'),
  untaken_per_key: Limit(16, 10_000, 'Answers of more than 128 KiB of one key that wait to be read by its clients'),
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
  $schema: v.optional(described(v.string(), 'Address of the schema, for editors')),
  format: described(v.literal(1), 'Format of this file'),
  system_id: v.optional(described(Id, 'Name of the bench in events and messages'), 'system'),
  listen: v.optional(
    v.strictObject({
      host: v.optional(described(Host, 'Address to listen on; `127.0.0.1` for this computer alone'), '0.0.0.0'),
      port: v.optional(described(Whole(0, 65535), 'Port to listen on; 0 for any that is free'), 8520),
      tls: v.optional(
        v.nullable(
          v.strictObject({
            cert: described(v.string(), 'Path of the certificate, PEM; with it the service speaks HTTPS alone'),
            key: described(v.string(), 'Path of its key, PEM'),
          }),
        ),
        null,
      ),
    }),
    {},
  ),
  hosts: v.optional(
    described(v.array(v.pipe(v.string(), v.nonEmpty())), 'More names by which browsers may call the service, behind a proxy for example'),
    [],
  ),
  cors: v.optional(
    v.strictObject({
      origins: v.optional(described(v.array(v.pipe(v.string(), v.url())), 'Web pages of other hosts that may call the API'), []),
    }),
    {},
  ),
  time_scale: v.optional(
    described(v.pipe(v.number(), v.minValue(1), v.maxValue(1000)), 'How many times as fast simulated instruments go'),
    1,
  ),
  stop_input: v.optional(described(ContactWiring, 'A contact on a GPIO pin that stops every device while it is active')),
  devices: v.optional(v.array(DeviceConfig), []),
  events: v.optional(
    v.strictObject({
      segment_mib: v.optional(described(Whole(1, 1024), 'MiB of one file of the event log'), 8),
      commit_ms: v.optional(described(Whole(1, 10_000), 'Milliseconds between two syncs of the event log to the card'), 100),
      queue: v.optional(described(Whole(1, 100_000), 'Events that a stream may be behind before it loses the oldest'), 1000),
    }),
    {},
  ),
  limits: v.optional(Limits, {}),
  notify: v.optional(Notify, []),
  fleet: v.optional(described(FleetConfig, 'The broker of the lab, where this bench is one of many')),
})
export type ConfigFile = v.InferOutput<typeof ConfigFile>

/** A device that is ready to be opened: its driver is loaded, its settings are the driver's own. */
export type DeviceConfig = Omit<ConfigFile['devices'][number], 'driver' | 'type' | 'transport' | 'settings'> & { name: string } & (
    | { kind: 'external'; driver: 'external' }
    | { kind: 'driven'; driver: DriverName; transport: Exclude<Transport, { kind: 'bridge' }>; driven_by: AnyDriver; settings: unknown }
    | ({ kind: 'bridge' } & BridgeConfig)
  )
export type Config = Omit<ConfigFile, 'devices'> & { devices: DeviceConfig[] }

/** Reads and checks a file. Throws `config`, naming the file, the place in it, and what it must be. */
export async function readConfig(path: string): Promise<Config> {
  let text: string
  try {
    text = await readText(path)
  } catch (error) {
    throw readError(`the configuration ${path}`, error, 'config')
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

/** Checks what such a file holds. Throws `config`, naming its mistakes. */
export async function checkConfig(content: unknown, origin: string): Promise<Config> {
  const file = judged(ConfigFile, content)
  // Where the file as a whole is wrong, its right parts are checked all the same: people mend all mistakes in one go.
  const [whole, mistakes] = 'output' in file ? [rightParts(file.output), []] : [rightParts(content), file.mistakes]
  const checked = await Promise.all(whole.devices.map(checkDevice))
  const devices = checked.flatMap((one) => ('device' in one ? [one.device] : []))
  const all = [
    ...mistakes,
    ...(await doublesIn(whole.devices)),
    ...checked.flatMap((one) => ('device' in one ? [] : one.mistakes)),
    ...clashesIn(whole.stop_input, devices),
  ]
  if ('output' in file && all.length === 0) return { ...file.output, devices }
  throw new LabError('config', all.length === 1 ? `${origin}: ${all[0]}` : `${origin} has ${all.length} mistakes:${listed(all)}`)
}

/** The largest number of mistakes that a message lists. */
const mostListed = 100

function listed(mistakes: readonly string[]): string {
  const more = mistakes.length > mostListed ? [`and ${mistakes.length - mostListed} more`] : []
  return [...mistakes.slice(0, mostListed), ...more].map((line) => `\n  ${line}`).join('')
}

/** A device of the file. The members whose names are in `wrong` do not have the right shape, and stand-ins are in their place. */
type ReadDevice = { device: ConfigFile['devices'][number]; wrong: ReadonlySet<string> }

function rightParts(content: unknown): { devices: ReadDevice[]; stop_input: ConfigFile['stop_input'] } {
  const { devices, stop_input } = Object(content) as { devices?: unknown; stop_input?: unknown }
  const contact = v.safeParse(ContactWiring, stop_input)
  return { devices: (Array.isArray(devices) ? devices : []).map(readDevice), stop_input: contact.success ? contact.output : undefined }
}

function readDevice(written: unknown, index: number): ReadDevice {
  const members: Record<string, unknown> = { ...Object(written) }
  const known = Object.keys(DeviceConfig.entries)
  // A misspelled member counts as a wrong one, and not as one that is missing.
  const misspelled = Object.keys(members).flatMap((name) => (known.includes(name) ? [] : (nearest(name, known) ?? [])))
  const wrong = new Set(misspelled.filter((name) => !(name in members)))
  for (const [name, schema] of Object.entries(DeviceConfig.entries)) if (!v.is(schema, members[name])) wrong.add(name)
  const right = Object.fromEntries(Object.entries(members).filter(([name]) => known.includes(name) && !wrong.has(name)))
  const device = v.parse(DeviceConfig, { device_id: 'none', driver: 'external', ...right })
  return { device: wrong.has('device_id') ? { ...device, device_id: `devices[${index}]` } : device, wrong }
}

type Paths = { cert: string; key: string }
export type Certificate = { cert: string; key: string; fingerprint: string; valid_to: string }

/** The certificate and its key, as text, with what people compare it by and when it ends. Throws `config`. */
export async function readTls(paths: Paths): Promise<Certificate> {
  const read = async (path: string) => {
    try {
      return await readFile(path, 'utf8')
    } catch (error) {
      throw readError(`listen.tls: ${path}`, error, 'config')
    }
  }
  const pair = { cert: await read(paths.cert), key: await read(paths.key) }
  return { ...pair, ...mustFit(pair, paths) }
}

function mustFit({ cert, key }: Paths, paths: Paths): { fingerprint: string; valid_to: string } {
  try {
    const certificate = new X509Certificate(cert)
    if (!certificate.checkPrivateKey(createPrivateKey(key))) throw new Error('it is not of this key')
    // OpenSSL says only here which certificates and keys it takes for too weak.
    process.getBuiltinModule('node:tls').createSecureContext({ cert, key })
    return { fingerprint: certificate.fingerprint256, valid_to: certificate.validTo }
  } catch (error) {
    const sentence = `listen.tls: ${paths.cert} and its key are not right: ${messageOf(error)}; make new ones: ${installation().makeCert(paths)}`
    throw new LabError('config', sentence, { cause: error })
  }
}

/** Two devices on one port would change each other's settings before the lock of the port is even tried. */
async function doublesIn(devices: readonly ReadDevice[]): Promise<string[]> {
  const mistakes: string[] = []
  const ids = new Set<string>()
  const ports = new Map<string, string>()
  for (const { device } of devices) {
    const { device_id, transport } = device
    if (ids.has(device_id)) mistakes.push(`two devices are called ${device_id}; give each an id of its own`)
    ids.add(device_id)
    if (transport?.kind !== 'serial' && transport?.kind !== 'tcp') continue
    const named = transport.kind === 'tcp' ? `${transport.host.toLowerCase()}:${transport.port}` : transport.path
    const port = transport.kind === 'tcp' ? named : await realpath(named).catch(() => named)
    const other = ports.get(port)
    if (other !== undefined) mistakes.push(`${other} and ${device_id} are on one port, ${named}; see which of them is there`)
    else ports.set(port, device_id)
  }
  return mistakes
}

type CheckedDevice = { device: DeviceConfig } | { mistakes: string[] }

async function checkDevice({ device, wrong }: ReadDevice): Promise<CheckedDevice> {
  const { device_id, name = device_id, driver, type, transport, settings, ...rest } = device
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
  const driven_by: AnyDriver = await drivers[driver]()
  const own = judged(driven_by.settings, settings)
  if (wrong.has('settings')) return { mistakes: [] }
  const mistakes = [
    ...(wrong.has('transport') ? [] : mistakesOfTransport(driven_by, { transport, settings }, device_id)),
    ...('output' in own
      ? wideBounds(device.limits, driven_by.profile(own.output).limits, device_id)
      : own.mistakes.map((mistake) => `${device_id}.settings: ${mistake}`)),
  ]
  if (!transport || transport.kind === 'bridge' || !('output' in own) || mistakes.length > 0) return { mistakes }
  return { device: { ...rest, device_id, name, driver, kind: 'driven', transport, driven_by, settings: own.output } }
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
  const misdescribed = 'output' in own && driver === 'simulated' ? wrongWithOperations(own.output) : undefined
  const mistakes = [
    ...(type === undefined && !wrong.has('type') ? [`${device_id}: type is missing; "reader", "liquid_handler" or any other word`] : []),
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
  const wanted = isOnPins(driver) ? 'pins' : 'serial'
  if (transport.kind === 'tcp' && !isOnPins(driver))
    return driver.changes_speed
      ? [
          `${device_id}: its driver changes the speed of the line while it talks, which a box on the network does not; use {"kind": "serial"}`,
        ]
      : []
  if (transport.kind !== wanted)
    return [`${device_id}: its transport must be {"kind": "${wanted}"${wanted === 'serial' ? ', "path": "…"' : ''}}`]
  return (wanted === 'pins' ? ['pins', 'i2c'] : [])
    .filter((member) => !(member in settings))
    .map((member) => `${device_id}.settings.${member} is missing: say how it is wired`)
}

function clashesIn(stop_input: ConfigFile['stop_input'], devices: readonly DeviceConfig[]): string[] {
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
