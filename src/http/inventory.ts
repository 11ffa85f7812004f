// The routes of the inventory of a storage.

import * as v from 'valibot'
import type { Runs } from '../bench/runs.ts'
import { OperationResult } from '../devices/records.ts'
import type { Registry } from '../devices/registry.ts'
import { described } from '../kit/described.ts'
import { Inventory, SlotContent } from '../workflow/inventory.ts'
import { json, type Route, routesOf } from './contract.ts'

type Rooms = { runs: Runs; registry: Registry }

const route = routesOf<Rooms>('runs')

const path = '/api/devices/:device_id/inventory'
const conflicts = 'A conflict if no topology is loaded that has the slots of the storage.'

export const inventoryRoutes: Route<Rooms>[] = [
  route('GET', path, {
    operation_id: 'getInventory',
    summary: 'Get the inventory of a storage: which labware is in which slot, and since when',
    description: conflicts,
    scope: 'read',
    success: { description: 'The slots that are taken, and the transfer stations', schema: Inventory },
    errors: [404, 409],
    handle({ rooms, param }) {
      const { device_id } = rooms.registry.find(param('device_id'))
      return json(rooms.runs.inventories.of(device_id))
    },
  }),
  route('PUT', path, {
    operation_id: 'correctInventory',
    summary: 'Correct slots in the inventory of a storage',
    description: `Slots that are not named stay as they are, and nothing moves. It is on the disk when this answers. A conflict for a slot whose labware a run moves, too. ${conflicts}`,
    scope: 'operate',
    body: v.strictObject({
      slots: described(v.pipe(v.array(SlotContent), v.minLength(1), v.maxLength(1000)), 'Content of slots, as somebody found it'),
    }),
    success: { description: 'Taken at your word', schema: OperationResult },
    errors: [400, 404, 409, 503],
    async handle({ rooms, param, body }) {
      const { device_id } = rooms.registry.find(param('device_id'))
      const { stored, slots } = await rooms.runs.inventories.correct(device_id, body().slots)
      return json({ success: true, message: `the inventory of ${device_id} is corrected: ${stored.length} of ${slots} slots are taken` })
    },
  }),
]
