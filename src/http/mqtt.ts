// The route of the connection to the MQTT broker.

import * as v from 'valibot'
import type { Links } from '../bench/links.ts'
import { described } from '../kit/described.ts'
import { json, type Route, routesOf } from './contract.ts'

type Rooms = { links: Links }

const route = routesOf<Rooms>('system')

const Link = v.strictObject({
  url: described(v.string(), 'The address of the broker'),
  topic: described(v.string(), 'The first part of all topics'),
  is_connected: v.boolean(),
  failure: described(v.nullable(v.string()), 'One sentence about what is wrong; null where nothing is'),
  sent: described(v.number(), 'Messages that were sent since the service began'),
  dropped: described(v.number(), 'Events and answers that were dropped since the service began, because the broker was away or slow'),
})

export const mqttRoutes: Route<Rooms>[] = [
  route('GET', '/api/mqtt', {
    operation_id: 'getMqtt',
    summary: 'Show how this bench is connected to its MQTT broker',
    scope: 'read',
    success: {
      description: '`link` is null where the configuration has no `mqtt`',
      schema: v.strictObject({ link: v.nullable(Link) }),
    },
    handle: ({ rooms: { links } }) => json({ link: links.mqtt?.status() ?? null }),
  }),
]
