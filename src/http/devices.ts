// The GET routes of devices: identity, capabilities, readings, and the wire log.

import * as v from 'valibot'
import { type Question, type QuestionShape, questions, readings } from '../devices/reading_table.ts'
import { mostOfDay, type Readings } from '../devices/readings.ts'
import { Capabilities, DeviceInfo, DeviceSummary, Initialized, OwnReading, Reading } from '../devices/records.ts'
import type { Registry } from '../devices/registry.ts'
import { Wire } from '../devices/wire_log.ts'
import { inCamelCase } from '../kit/camel_case.ts'
import { described } from '../kit/described.ts'
import { json, type Route, routesOf } from './contract.ts'
import { decimal, Numeral, whole } from './numeral.ts'
import { mustBeSpan } from './time_span.ts'

type Rooms = { registry: Registry; readings: Readings }

const route = routesOf<Rooms>('devices')

const path = '/api/devices/:device_id'
const UnixTime = Numeral(decimal, 'it is Unix time in seconds')

export const deviceRoutes: Route<Rooms>[] = [
  route('GET', '/api/devices', {
    operation_id: 'listDevices',
    summary: 'List connected devices',
    scope: 'read',
    success: {
      description: 'The devices, in the order of the configuration',
      schema: v.strictObject({ devices: v.array(DeviceSummary) }),
    },
    handle: ({ rooms }) => json({ devices: rooms.registry.all().map((instrument) => instrument.summary()) }),
  }),
  route('GET', path, {
    operation_id: 'getDevice',
    summary: 'Get device info',
    scope: 'read',
    success: { description: 'The device, what it is doing, and what is latched on it', schema: DeviceInfo },
    errors: [404],
    async handle({ rooms, param }) {
      const instrument = rooms.registry.find(param('device_id'))
      await instrument.operation.recall()
      return json(instrument.info())
    },
  }),
  route('GET', '/api/capabilities', {
    operation_id: 'listCapabilities',
    summary: 'List the capabilities of all devices',
    scope: 'read',
    success: { description: 'In the order of the configuration', schema: v.strictObject({ devices: v.array(Capabilities) }) },
    handle: ({ rooms }) => json({ devices: rooms.registry.all().map((instrument) => instrument.capabilities()) }),
  }),
  route('GET', `${path}/capabilities`, {
    operation_id: 'getDeviceCapabilities',
    summary: 'Get device capabilities',
    scope: 'read',
    success: {
      description: 'The operations of the device, with a JSON Schema for each body, and its limits',
      schema: Capabilities,
    },
    errors: [404],
    handle: ({ rooms, param }) => json(rooms.registry.find(param('device_id')).capabilities()),
  }),
  route('GET', `${path}/initialized`, {
    operation_id: 'getDeviceInitialized',
    summary: readings.initialized.summary,
    scope: 'read',
    success: { description: 'Whether it takes operations', schema: Initialized },
    errors: [404],
    handle({ rooms, param }) {
      const { device_id, is_initialized } = rooms.registry.find(param('device_id')).summary()
      return json({ device_id, is_initialized })
    },
  }),
  ...(Object.keys(questions) as Question[]).map(questionRoute),
  route('GET', `${path}/readings`, {
    operation_id: 'getDeviceReadings',
    summary: 'Get the readings of the last hour or day: temperatures, and what the program behind a device tells',
    description:
      'Without `since` the last hour. A device that has readings is asked every 10 s, and every 2 s while somebody follows `GET /api/live`; also while it is stopped or has a fault, as long as it ' +
      'answers. An instrument with a watchdog of its own is not asked then, because a question could keep it on. Kept in memory: of the last hour each reading, of the ' +
      'last day one each 10 s. Empty after a restart, and for a device that has none.',
    scope: 'read',
    query: v.object({
      since: v.optional(described(UnixTime, 'Unix time, inclusive; an hour ago where it is left out', 's')),
      until: v.optional(described(UnixTime, 'Unix time, exclusive', 's')),
      most: v.optional(
        described(
          v.pipe(Numeral(whole, 'it must be a whole number'), v.minValue(10), v.maxValue(mostOfDay)),
          `At most so many; 1,800 where it is left out. Of more, those with the least and the greatest values of equal spans are given`,
        ),
      ),
    }),
    success: {
      description: 'The readings, oldest first',
      schema: v.strictObject({ device_id: v.string(), readings: v.array(Reading) }),
    },
    errors: [400, 404],
    handle({ rooms, param, query }) {
      const { device_id } = rooms.registry.find(param('device_id'))
      const span = query()
      mustBeSpan(span)
      return json({ device_id, readings: rooms.readings.between(device_id, span) })
    },
  }),
  route('GET', `${path}/readings/:reading`, {
    operation_id: 'getDeviceReading',
    summary: 'Get a reading that the program behind a device has described',
    description: '`capabilities` lists them under `readings`. Answered at once, also while an operation runs.',
    scope: 'read',
    success: { description: 'The value now', schema: OwnReading },
    errors: [400, 404, 409, 500],
    async handle({ rooms, param }) {
      const [device_id, reading] = [param('device_id'), param('reading')]
      return json({ device_id, reading, ...(await rooms.registry.find(device_id).questions.read(reading)) })
    },
  }),
  route('GET', `${path}/wire`, {
    operation_id: 'getDeviceWire',
    summary: 'Get the last words between the device and the service, as they went over the wire',
    scope: 'read',
    success: { description: 'The last 200 frames, and those before a latched fault', schema: Wire },
    errors: [400, 404],
    handle: ({ rooms, param }) => json(rooms.registry.find(param('device_id')).wire()),
  }),
]

function questionRoute(name: Question): Route<Rooms> {
  const { success, answer, shown, ...words }: QuestionShape = questions[name]
  return route('GET', `${path}/${name}`, {
    operation_id: `getDevice${inCamelCase(name.replace(/^get_/, ''))}`,
    ...words,
    scope: 'read',
    success: { description: success, schema: answer },
    errors: [400, 404, 409, 500],
    async handle({ rooms, param }) {
      const device_id = param('device_id')
      return json({ device_id, ...shown((await rooms.registry.find(device_id).questions.ask(name)) as never) })
    },
  })
}
