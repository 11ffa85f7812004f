// The route of the lab of many benches, as this bench sees it.

import * as v from 'valibot'
import { LabError } from '../errors.ts'
import type { Fleet } from '../fleet/fleet.ts'
import { described } from '../kit/described.ts'
import { json, type Route, routesOf } from './contract.ts'

const route = routesOf<{ fleet: Fleet | undefined }>('system')

const Link = v.strictObject({
  lab: v.string(),
  name: described(v.string(), 'The name of this bench in the lab'),
  servers: v.array(v.string()),
  state: described(v.picklist(['connected', 'away', 'foreign']), '`foreign`: another box has the name of this bench, so nothing is sent'),
  failure: described(v.nullable(v.string()), 'One sentence about what is wrong; null where nothing is'),
  epoch: described(v.string(), 'Names the history of the event log; sequence numbers are counted in it'),
  machine: described(v.string(), 'The machine id of this computer'),
  waiting: described(v.nullable(v.number()), 'Events that were not sent yet; null before the broker has said how far it is'),
  lag_s: described(v.number(), 'How long the oldest of them has been waiting', 's'),
  sent: described(v.number(), 'Events that were sent since the service began'),
  lost: described(v.number(), 'Events that were removed or lost here before they could be sent, since the service began'),
})

const Bench = v.strictObject({
  name: v.string(),
  state: described(
    v.picklist(['here', 'silent', 'unknown']),
    '`silent`: not heard for 35 s or more; `unknown`: this bench has not listened for long enough to tell',
  ),
  heard_s: described(
    v.nullable(v.number()),
    'How long ago the last message came; null if none has come since this bench began to listen',
    's',
  ),
  url: described(v.string(), 'The address of its page'),
  fingerprint: described(v.nullable(v.string()), 'SHA-256 of its certificate; null without TLS'),
  version: v.string(),
  epoch: v.string(),
  machine: v.string(),
  health: described(v.string(), 'The status of its `/health`'),
  devices: described(v.record(v.string(), v.number()), 'How many devices are in each state'),
  incidents: described(v.number(), 'Incidents that nobody has acknowledged'),
  positions: described(
    v.array(v.string()),
    'Positions with `handover` of all its topologies, where carriers bring labware and take it from; 32 at most',
  ),
})

export const fleetRoutes: Route<{ fleet: Fleet | undefined }>[] = [
  route('GET', '/api/lab', {
    operation_id: 'getLab',
    summary: 'Show how this bench is connected to its lab, and which benches are there',
    scope: 'read',
    success: {
      description: '`link` is null where the configuration has no `fleet`; the benches are sorted by name, this one included',
      schema: v.strictObject({ link: v.nullable(Link), benches: v.array(Bench) }),
    },
    handle: ({ rooms: { fleet } }) => json({ link: fleet?.status() ?? null, benches: fleet?.benches() ?? [] }),
  }),
  route('POST', '/api/lab/epoch', {
    operation_id: 'drawEpoch',
    summary: 'Go on under the name of this bench after another box has sent events under it; draws a new epoch',
    scope: 'admin',
    success: { description: 'The connection with the new epoch', schema: v.strictObject({ link: Link }) },
    errors: [409, 503],
    async handle({ rooms: { fleet } }) {
      if (!fleet) throw new LabError('conflict', 'this bench belongs to no lab: its configuration has no "fleet"')
      return json({ link: await fleet.newEpoch() })
    },
  }),
]
