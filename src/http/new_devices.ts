// The routes that add a device to the configuration: which drivers there are, who is at a port, and the device itself.

import * as v from 'valibot'
import { type AnyDriver, isOnPins } from '../../drivers/driver.ts'
import { driverNames } from '../../drivers/index.ts'
import { outsideDriver, outsideNames, placeOf, shippedDriver } from '../../drivers/outside.ts'
import type { NewDevices } from '../bench/new_devices.ts'
import type { Reloading } from '../bench/reloading.ts'
import type { Runs } from '../bench/runs.ts'
import { DeviceConfig, DeviceId, ExpectedIdentity, SerialTransport, SimulatedTransport, TcpTransport } from '../config/file.ts'
import { folderOf } from '../config.ts'
import { Identity, OperationResult } from '../devices/records.ts'
import { LabError } from '../errors.ts'
import { described } from '../kit/described.ts'
import { json, type Route, routesOf } from './contract.ts'

type Rooms = { reloading: Reloading; new_devices: NewDevices; openRuns(): Promise<Runs> }

const route = routesOf<Rooms>('devices')

/** Over the network only device files may be named: other files are none of a browser's business. */
const Serial = v.strictObject({
  ...SerialTransport.entries,
  path: v.pipe(SerialTransport.entries.path, v.regex(/^\/dev\/(?!.*\.\.)/, 'it must be a path below /dev')),
})
const Settings = described(v.optional(v.record(v.string(), v.unknown()), {}), 'Settings of the driver')
const DriverName = v.pipe(v.string(), v.regex(/^[a-z][a-z0-9_-]{0,62}$/, 'must be the name of a driver, from `GET /api/drivers`'))

export const newDeviceRoutes: Route<Rooms>[] = [
  route('GET', '/api/drivers', {
    operation_id: 'listDrivers',
    summary: 'List the drivers of instruments on a line, and whether a device can be added',
    scope: 'admin',
    success: {
      description: 'The drivers, and the configuration file',
      schema: v.strictObject({
        config_file: described(v.nullable(v.string()), 'The configuration file; null if there is none, as in the demo'),
        is_writable: described(v.boolean(), 'Whether the service may write the file; if not, `POST /api/devices` is refused'),
        drivers: v.array(
          v.strictObject({
            driver: v.string(),
            instrument: described(v.string(), 'The maker and the name of the instrument'),
            type: v.string(),
            is_tcp: described(v.boolean(), 'Whether the instrument can be on the network: itself, or behind a serial box'),
            source: described(
              v.picklist(['shipped', 'folder', 'package']),
              'Whether it ships with benchd, or is one of the lab that lies beside the configuration; the latter is loaded when a device of the configuration names it',
            ),
            tcp_port: described(
              v.nullable(v.number()),
              'The usual TCP port of an instrument that is on the network itself and has no serial port; null for the others',
            ),
            models: described(v.array(v.string()), 'The values of `settings.model`; empty if the driver has no such setting'),
            model: described(v.nullable(v.string()), 'The default of `settings.model`; null without one'),
          }),
        ),
      }),
    },
    async handle({ rooms: { reloading, new_devices } }) {
      const [found, own, is_writable] = await Promise.all([Promise.all(driverNames.map(rowOf)), ownRows(reloading), new_devices.mayWrite()])
      return json({ config_file: reloading.path ?? null, is_writable, drivers: [...found.flat(), ...own] })
    },
  }),
  route('POST', '/api/drivers/:driver/identify', {
    operation_id: 'identifyInstrument',
    summary: 'Ask the instrument at a port who it is, by a driver',
    description:
      'Only questions of that driver are sent, and nothing moves. A port of a configured device is a conflict. An instrument that does not answer, or not as one of ' +
      'the driver does, is no error: `message` says so.',
    scope: 'admin',
    body: v.strictObject({ transport: v.variant('kind', [Serial, TcpTransport]), settings: Settings }),
    success: {
      description: 'The answer of the instrument',
      schema: v.strictObject({
        identity: described(v.nullable(Identity), 'The identity; null if the instrument does not tell it, or does not answer'),
        expected: described(v.nullable(ExpectedIdentity), 'The members to keep as the `identity` of the device'),
        message: v.string(),
        is_wrong: described(v.boolean(), 'Whether the answer is not one of an instrument of this driver'),
        fitting_drivers: described(v.array(v.string()), 'The drivers that fit a wrong answer'),
      }),
    },
    errors: [400, 404, 409, 503],
    async handle({ rooms, param, body }) {
      const driver = param('driver')
      if (!(await shippedDriver(driver)) && !placeOf(driver, folderOf(rooms.reloading.path)))
        throw new LabError('not_found', `there is no driver ${param('driver').slice(0, 64)}; GET /api/drivers lists the drivers`)
      const { identity, words, fitting } = await rooms.new_devices.identify({ driver, ...body() })
      const { worthTeaching } = await import('../care/identity.ts')
      const expected = identity && worthTeaching(identity)
      return json({ identity, expected, message: words, is_wrong: fitting !== undefined, fitting_drivers: fitting ?? [] })
    },
  }),
  route('POST', '/api/devices', {
    operation_id: 'addDevice',
    summary: 'Add a device to the configuration, and take it up without a restart',
    description:
      'The service checks the whole configuration with the device, writes the file atomically, keeps the file as it was beside it, and opens the device. No other device is ' +
      'touched. 403 if the service may not write the file; 409 if the id or the port is in use, or the file has changes that are not in force.',
    scope: 'admin',
    body: v.strictObject({
      device_id: described(DeviceId, 'The name of the device in the API, in commands and in workflows'),
      driver: described(
        DriverName,
        'The driver, or `person` for somebody who carries labware by hand; `GET /api/drivers` lists the drivers, and those of the lab beside the configuration',
      ),
      name: DeviceConfig.entries.name,
      transport: v.optional(v.variant('kind', [Serial, TcpTransport, SimulatedTransport])),
      settings: Settings,
      identity: v.optional(described(ExpectedIdentity, 'The identity that the instrument told; another instrument is refused later')),
    }),
    success: {
      status: 201,
      description: 'The configuration has the device',
      schema: v.strictObject({
        ...OperationResult.entries,
        device_id: v.string(),
        config_file: v.string(),
        old_copy: described(v.string(), 'The path of the file as it was before'),
        in_force: described(v.boolean(), 'Whether the service has the device now; if not, `message` says why'),
      }),
      headers: ['Location'],
    },
    errors: [400, 409, 503],
    async handle({ rooms, body }) {
      const { settings, ...device } = body()
      const { device_id } = device
      const wanted = { ...device, ...(Object.keys(settings).length > 0 && { settings }) }
      const { why_not, ...written } = await rooms.new_devices.add(wanted, () => reload(rooms))
      const in_force = why_not === undefined
      const message = in_force
        ? `${device_id} is in the configuration, and in force`
        : `${device_id} is in the configuration, and not in force: ${why_not}; then POST /api/system/reload`
      return json({ success: true, message, device_id, ...written, in_force }, 201, { Location: `/api/devices/${device_id}` })
    },
  }),
]

/** Takes up the changed file, as `POST /api/system/reload` does. */
async function reload({ openRuns, reloading }: Rooms): Promise<void> {
  const { catalog } = await openRuns()
  await reloading.take(() => catalog.read())
  await catalog.runtime.standing.persisted()
}

/** Describes a driver of a line; none of those on pins, whose wiring is written by hand. */
async function rowOf(driver: string) {
  const found = (await shippedDriver(driver))!
  return isOnPins(found) ? [] : [rowFor(found, driver, 'shipped')]
}

/** Lists the drivers of the lab's own. One that no device names is not loaded, so that only its name is known. */
async function ownRows({ path, config: { devices } }: Reloading) {
  const folder = folderOf(path)
  if (folder === undefined) return []
  const named = new Set(devices.map(({ driver }) => driver))
  const names = (await outsideNames(folder)).filter((name) => !(driverNames as string[]).includes(name))
  return Promise.all(
    names.map(async (name) => {
      const place = placeOf(name, folder)!
      const found = named.has(name) ? await outsideDriver(name, place) : undefined
      if (found && 'driver' in found && !isOnPins(found.driver)) return rowFor(found.driver, name, place.source)
      return { ...unknown, driver: name, instrument: `driver of the lab: ${name}`, source: place.source }
    }),
  )
}

const unknown = { type: 'unknown', is_tcp: true, tcp_port: null, models: [], model: null }

function rowFor(
  { about, type, settings, tcp, changes_speed }: Exclude<AnyDriver, { plan: unknown }>,
  driver: string,
  source: 'shipped' | 'folder' | 'package',
) {
  return {
    driver,
    instrument: about.instrument,
    type,
    source,
    is_tcp: changes_speed !== true,
    tcp_port: tcp?.port ?? null,
    ...modelsOf(settings),
  }
}

/** Lists the values of the setting `model`, and its default. */
function modelsOf(settings: v.GenericSchema): { models: string[]; model: string | null } {
  const { model } = (settings as unknown as { entries?: Record<string, { wrapped?: { options?: readonly string[] } }> }).entries ?? {}
  const models = [...(model?.wrapped?.options ?? [])]
  return { models, model: models.length > 0 ? (v.parse(settings, {}) as { model: string }).model : null }
}
