// The answers before the bench is open. A stop is accepted as soon as the devices are open, because reading open runs may take long.

import { Hono } from 'hono'
import type { Registry } from '../devices/registry.ts'
import type { Author } from '../kit/author.ts'
import type { Log } from '../kit/log.ts'
import { packageVersion } from '../kit/package_version.ts'
import type { App } from './app.ts'
import { type Env, type Exchange, json } from './contract.ts'
import { entrance } from './entrance.ts'
import { answerFailure } from './errors.ts'
import { answerHeaders } from './open_stream.ts'
import { apiVersion } from './version.ts'

const versioned = { 'X-API-Version': apiVersion }
const streams = ['/events/stream', '/api/live']

/** The rooms that a stop needs. */
export type Stoppable = Parameters<typeof entrance>[0] & { registry: Registry; log: Log }

/** `stoppable` is given when the devices are open. */
export function startingApp(stoppable?: Stoppable): Hono<Env> & App {
  const hono = new Hono<Env>()
  const health = { status: 'starting', version: packageVersion(), uptime_s: 0, reasons: [] }
  hono.get('/health', (c) => c.json(health, 503, versioned))
  // An EventSource gives up for good after 503, but reopens a stream that ends.
  hono.on('GET', streams, (c) =>
    c.body('retry: 1000\n: the service is starting\n\n', 200, answerHeaders('text/event-stream; charset=utf-8')),
  )
  const admits = stoppable && addStops(hono, stoppable)
  hono.all('*', (c) =>
    c.json({ detail: 'the service is starting; ask again in a second' }, 503, { ...versioned, 'Retry-After': '1', 'X-Reason': 'starting' }),
  )
  return Object.assign(hono, admits && { admits })
}

function addStops(hono: Hono<Env>, rooms: Stoppable): NonNullable<App['admits']> {
  const { enter, admits } = entrance(rooms)
  const stopped = (c: Exchange, stop: (author: Author) => Promise<object>) =>
    enter(c, () =>
      stop({ by: c.get('principal').name }).then(
        (result) => json(result),
        (error) => answerFailure(rooms.log, c, error),
      ),
    )
  hono.post('/api/stop', (c) => stopped(c, (author) => rooms.registry.haltAll(author)))
  hono.post('/api/devices/:device_id/stop', (c) => stopped(c, async (author) => rooms.registry.halt(c.req.param('device_id'), author)))
  return admits
}
