// The routes of the service itself.

import * as v from 'valibot'
import { portBehind, serialPorts } from '../../drivers/transports/ports.ts'
import { type Health as HealthNow, healthStates } from '../bench/bench.ts'
import type { Reloading } from '../bench/reloading.ts'
import type { HostFacts } from '../care/host.ts'
import type { Config } from '../config.ts'
import { LabError } from '../errors.ts'
import { allows, type Scope } from '../keys/keys.ts'
import { described } from '../kit/described.ts'
import { HostFiles } from '../kit/host_files.ts'
import { json, type Route, routesOf } from './contract.ts'
import { apiVersion } from './version.ts'

type Rooms = { config: Config; version: string; reloading: Reloading; host: HostFacts | undefined; health(): HealthNow }

const route = routesOf<Rooms>('system')

const Health = v.strictObject({
  status: v.picklist(healthStates),
  version: v.string(),
  uptime_s: v.number(),
  reasons: v.array(described(v.string(), 'A word for each thing that is not well')),
})

const Text = v.nullable(v.string())

const Port = v.strictObject({
  path: described(v.string(), 'As the kernel calls it; it can be another one after a restart'),
  by_id: described(Text, 'Its lasting name, for the configuration; null where the adapter has none'),
  by_path: described(Text, 'The name of the socket that it is plugged into'),
  vendor_id: Text,
  product_id: Text,
  manufacturer: Text,
  product: Text,
  serial_number: Text,
  device_id: described(Text, 'The device of the configuration that is on it'),
})

export const Changes = v.strictObject({
  config_file: described(v.nullable(v.string()), 'The file that the configuration is from; null where there is none, as in the demo'),
  at_once: described(
    v.array(v.string()),
    'The changes that a reload takes over: `hosts`, `cors.origins`, `limits.…`, devices, a new certificate',
  ),
  needs_restart: described(v.array(v.string()), 'The changes that need a restart: `listen.port`, `system_id`'),
})

export const systemRoutes: Route<Rooms>[] = [
  route('GET', '/health', {
    operation_id: 'getHealth',
    summary: 'Whether the service is well; needs no key',
    scope: 'public',
    success: {
      description: 'The service answers requests; 503 with the same body while it starts and stops',
      schema: Health,
      also: [503],
    },
    handle({ rooms }) {
      const health = rooms.health()
      return json(health, health.status === 'ok' || health.status === 'degraded' ? 200 : 503)
    },
  }),
  route('GET', '/api/system', {
    operation_id: 'getSystem',
    summary: 'Versions and the id of this system',
    scope: 'read',
    success: {
      description: 'The service: its version and name',
      schema: v.strictObject({
        version: v.string(),
        api_version: v.string(),
        system_id: v.string(),
        time_scale: described(v.number(), 'How many seconds of a simulated instrument pass in one; 1 on a real bench'),
        tls_fingerprint: described(Text, 'SHA-256 of the certificate; null without TLS'),
      }),
    },
    handle({ rooms: { version, config, reloading } }) {
      return json({
        version,
        api_version: apiVersion,
        system_id: config.system_id,
        time_scale: config.time_scale,
        tls_fingerprint: reloading.fingerprint ?? null,
      })
    },
  }),
  route('GET', '/api/system/time', {
    operation_id: 'getTime',
    summary: 'The time of the service, and how far it can be trusted',
    description: 'Events and records bear this time. A clock that is set by more than a second while the service runs is an incident.',
    scope: 'read',
    success: {
      description: 'The time of the computer',
      schema: v.strictObject({
        time: described(v.number(), 'Unix time', 's'),
        utc: described(v.string(), 'The same as text of ISO 8601'),
        clock_synced: described(v.nullable(v.boolean()), 'Whether a time server has set the clock; null where nobody knows'),
        boot_id: described(Text, 'Another one since each start of the computer; null where nobody knows'),
        uptime_s: described(v.number(), 'Since the start of the service, whatever was done to the clock', 's'),
      }),
    },
    handle: async ({ rooms }) => json(await timeOf(rooms)),
  }),
  route('GET', '/api/system/changes', {
    operation_id: 'getSystemChanges',
    summary: 'How the configuration file differs from the configuration in force',
    description: '400 where the file is not right; a key of scope admin is told what is wrong in it. Changes nothing.',
    scope: 'read',
    success: { description: 'The members that differ; two empty lists where none does', schema: Changes },
    errors: [400, 503],
    async handle({ rooms, c }) {
      const { scope } = c.get('principal')
      return json(await rooms.reloading.changes().catch((error) => throwTo(scope, error)))
    },
  }),
  route('GET', '/api/system/ports', {
    operation_id: 'listPorts',
    summary: 'List the serial ports, what is plugged in there, and which device is on it',
    scope: 'read',
    success: { description: 'The ports of this computer', schema: v.strictObject({ ports: v.array(Port) }) },
    async handle({ rooms }) {
      const [ports, devices] = await Promise.all([serialPorts(), devicesByPort(rooms)])
      return json({ ports: ports.map((port) => ({ ...port, device_id: devices.get(port.path) ?? null })) })
    },
  }),
]

/** Throws the error. A key that may not read the configuration gets no quotation of the file, which can be a secret. */
function throwTo(scope: Scope, error: unknown): never {
  if (allows(scope, 'admin') || !(error instanceof LabError)) throw error
  const sentence =
    'the configuration file has a mistake and cannot be taken over; repeat the request with a key of scope admin to see the mistake'
  throw new LabError(error.code, sentence, { cause: error })
}

async function devicesByPort({ config }: Rooms): Promise<Map<string, string>> {
  const wired = config.devices.flatMap((device) =>
    device.kind === 'driven' && device.transport.kind === 'serial' ? [{ ...device, path: device.transport.path }] : [],
  )
  return new Map(await Promise.all(wired.map(async ({ device_id, path }) => [await portBehind(path), device_id] as const)))
}

async function timeOf({ health, host }: Rooms): Promise<object> {
  const now = Date.now()
  const boot_id = (await new HostFiles().text('/proc/sys/kernel/random/boot_id')) ?? null
  return {
    time: now / 1000,
    utc: new Date(now).toISOString(),
    clock_synced: host?.clock_synced ?? null,
    boot_id,
    uptime_s: health().uptime_s,
  }
}
