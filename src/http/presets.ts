// The routes of presets: parameters of an operation that people saved under a name.

import * as v from 'valibot'
import { Preset, PresetParams, type Presets } from '../devices/presets.ts'
import { OperationResult } from '../devices/records.ts'
import type { Registry } from '../devices/registry.ts'
import { Name } from '../kit/name.ts'
import { checked } from '../kit/schema.ts'
import { json, type Route, routesOf } from './contract.ts'

type Rooms = { registry: Registry; presets: Presets }

const route = routesOf<Rooms>('devices')

const path = '/api/devices/:device_id/presets'

const PresetPath = v.strictObject({ preset: Name })

export const presetRoutes: Route<Rooms>[] = [
  route('GET', path, {
    operation_id: 'listPresets',
    summary: 'List the presets of a device: parameters that were saved under a name',
    scope: 'read',
    success: { description: 'Of all its operations', schema: v.strictObject({ presets: v.array(Preset) }) },
    errors: [404],
    handle: ({ rooms, param }) => json({ presets: rooms.presets.list(rooms.registry.find(param('device_id')).device_id) }),
  }),
  route('PUT', `${path}/:operation/:preset`, {
    operation_id: 'putPreset',
    summary: 'Save parameters of an operation under a name',
    description:
      'A preset of that name is replaced. An operation has 20 at most. The device checks the parameters when the operation is started.',
    scope: 'operate',
    body: v.strictObject({ params: PresetParams }),
    success: { description: 'The preset; on the card when this is answered', schema: Preset },
    errors: [400, 404, 409, 503],
    async handle({ rooms, param, body }) {
      const { device_id, abilities } = rooms.registry.find(param('device_id'))
      const operation = param('operation')
      abilities.mustKnow(operation)
      const { preset: name } = checked(PresetPath, { preset: param('preset') }, 'the path')
      const preset = { device_id, operation, name, params: body().params }
      await rooms.presets.put(preset)
      return json(preset)
    },
  }),
  route('DELETE', `${path}/:operation/:preset`, {
    operation_id: 'deletePreset',
    summary: 'Delete a preset',
    scope: 'operate',
    success: { description: 'Deleted', schema: OperationResult },
    errors: [404, 503],
    async handle({ rooms, param }) {
      const { device_id } = rooms.registry.find(param('device_id'))
      const [operation, name] = [param('operation'), param('preset')]
      await rooms.presets.delete({ device_id, operation, name })
      return json({ success: true, message: `${operation} of ${device_id} has no preset ${JSON.stringify(name)} any more` })
    },
  }),
]
