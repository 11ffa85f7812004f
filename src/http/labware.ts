// The routes of labware: its places, and corrections by an operator.

import * as v from 'valibot'
import type { Runs } from '../bench/runs.ts'
import { OperationResult } from '../devices/records.ts'
import { Name } from '../kit/name.ts'
import { Whereabouts } from '../workflow/whereabouts.ts'
import { authorOf } from './author.ts'
import { json, type Route, routesOf } from './contract.ts'

type Rooms = { runs: Runs }

const route = routesOf<Rooms>('runs')

export const labwareRoutes: Route<Rooms>[] = [
  route('GET', '/api/labware', {
    operation_id: 'listLabware',
    summary: 'List labware, and where it is',
    scope: 'read',
    success: {
      description:
        'The labware that open runs move, and the labware that stands on the bench; while no topology is loaded, the labware that stood on the last one',
      schema: v.strictObject({ labware: v.array(Whereabouts) }),
    },
    handle: ({ rooms }) => json({ labware: rooms.runs.catalog.labware() }),
  }),
  route('PUT', '/api/labware/:labware_id/location', {
    operation_id: 'relocateLabware',
    summary: 'Say where a labware is',
    description:
      'Somebody carried it there, or (`null`) took it off the bench, which is for labware without a thread. Nothing moves. A conflict while it is under way, and for a ' +
      'place where something stands or that is kept for another. Its thread goes on from there.',
    scope: 'operate',
    body: v.strictObject({ position: v.nullable(Name) }),
    success: { description: 'Taken at your word', schema: OperationResult },
    errors: [400, 404, 409, 503],
    async handle({ rooms, c, param, body }) {
      const { position } = body()
      const name = await rooms.runs.catalog.relocate(param('labware_id'), { position }, authorOf(c))
      return json({ success: true, message: position === null ? `${name} is off the bench` : `${name} stands at ${position}` })
    },
  }),
]
