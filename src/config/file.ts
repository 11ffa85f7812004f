// The configuration file as it is written.

import * as v from 'valibot'
import { type BridgeName, bridges } from '../../drivers/bridge/attach.ts'
import { driverNames } from '../../drivers/index.ts'
import { ContactWiring } from '../../drivers/transports/wiring.ts'
import { BridgeType } from '../devices/description.ts'
import { described, Whole } from '../kit/described.ts'
import { Host, Id } from '../kit/name.ts'
import { Cameras } from './cameras.ts'
import { FleetConfig } from './fleet.ts'
import { McpConfig } from './mcp.ts'
import { MqttConfig } from './mqtt.ts'
import { Notify } from './notify.ts'
import { PluginConfigs } from './plugins.ts'

/** Words that stand where a device's id would stand in the paths of the teachpoints, and those that JavaScript keeps for itself. */
const takenIds = ['bulk', 'export', 'prototype', ...Object.getOwnPropertyNames(Object.prototype)]
export const DeviceId = v.pipe(
  Id,
  v.check((id) => !takenIds.includes(id), 'is a word that the API or JavaScript keeps for itself; take another'),
)

const TcpPort = Whole(1, 65535)

export const SerialTransport = v.strictObject({
  kind: v.literal('serial'),
  path: described(
    v.pipe(v.string(), v.nonEmpty(), v.regex(/^\P{Cc}*$/u, 'must have no control character')),
    'The port, best by its name below /dev/serial/by-id',
  ),
})
export const TcpTransport = v.strictObject({
  kind: v.literal('tcp'),
  host: described(Host, 'Name or address of the instrument, or of the serial box that has its line'),
  port: v.optional(described(TcpPort, 'TCP port; an instrument that is on the network itself has a default, a serial box has none')),
})
export const SimulatedTransport = v.strictObject({ kind: v.literal('simulated') })

const Transport = v.variant('kind', [
  SerialTransport,
  TcpTransport,
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
  SimulatedTransport,
])
export type Transport = v.InferOutput<typeof Transport>

const bridgeNames = Object.keys(bridges) as BridgeName[]

const Bound = v.strictObject({ min: v.optional(v.pipe(v.number(), v.finite())), max: v.optional(v.pipe(v.number(), v.finite())) })

export const ExpectedIdentity = v.strictObject({
  model: v.optional(described(v.string(), 'Model that the instrument must report; it is written down by `benchd devices add`')),
  serial_number: v.optional(described(v.string(), 'Serial number that the instrument must report')),
  firmware_version: v.optional(described(v.string(), 'Firmware version that the instrument must report')),
})

const shippedNames: readonly string[] = [...driverNames, ...bridgeNames, 'person', 'external']

/** The name of a driver: one of the catalogue, or of the lab's own. */
function DriverNamed(outside: readonly string[]) {
  return described(v.picklist([...shippedNames, ...outside]), 'The driver of the instrument')
}

export const DeviceConfig = v.strictObject({
  device_id: described(DeviceId, 'Its name in the API, in commands and in workflows: letters, digits, `-` and `_`'),
  driver: DriverNamed([]),
  type: v.optional(
    described(
      BridgeType,
      'The kind of device, only for `bridge` and `simulated`: `transporter`, `reader`, `liquid_handler` or any other word',
    ),
  ),
  name: v.optional(described(v.pipe(v.string(), v.maxLength(128)), 'The name that people use; default: the model that its driver tells')),
  transport: v.optional(described(Transport, 'How the device is reached; only `external` and `person` have none')),
  settings: v.optional(described(v.record(v.string(), v.unknown()), 'Settings of its driver, below'), {}),
  limits: v.optional(described(v.record(v.string(), Bound), 'Narrower limits than those of the model: `{"speed": {"max": 1500}}`'), {}),
  on_restart: v.optional(
    described(v.picklist(['halt', 'leave']), 'Whether a device that was left on is halted when the service begins'),
    'halt',
  ),
  identity: v.optional(
    described(ExpectedIdentity, 'The identity that the instrument told when it was added; another instrument is refused'),
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
  requests_mib: Limit(
    16,
    1024,
    'MiB of all requests together that are not answered yet, without their bodies; a stop is never refused for it',
  ),
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
  files_mib: Limit(1024, 1_000_000, 'MiB of the files that are attached to all runs together'),
  bodies_mib: Limit(32, 1024, 'MiB of the bodies of all requests under way together'),
})
export type Limits = v.InferOutput<typeof Limits>

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
  queue: v.optional(
    v.strictObject({
      open_runs: v.optional(described(Whole(1, 100), 'How many runs of the queue may be open at once'), 1),
      resume_after_restart: v.optional(
        described(
          v.boolean(),
          'Whether the queue goes on by itself after a start of the service; otherwise it waits until a person resumes it',
        ),
        false,
      ),
    }),
    {},
  ),
  notify: v.optional(Notify, []),
  cameras: v.optional(Cameras, []),
  plugins: v.optional(PluginConfigs, {}),
  fleet: v.optional(described(FleetConfig, 'The broker of the lab, where this bench is one of many')),
  mqtt: v.optional(described(MqttConfig, 'The MQTT broker that the state of the bench is published to')),
  mcp: v.optional(described(McpConfig, 'Serves MCP at `/mcp`, by which assistants use the bench')),
})
export type ConfigFile = v.InferOutput<typeof ConfigFile>

/** Returns the schema of a file beside which there are drivers of the lab's own. */
export function configFileWith(outside: readonly string[]): typeof ConfigFile {
  if (outside.length === 0) return ConfigFile
  const device = v.strictObject({ ...DeviceConfig.entries, driver: DriverNamed(outside) })
  return v.strictObject({ ...ConfigFile.entries, devices: v.optional(v.array(device), []) })
}
