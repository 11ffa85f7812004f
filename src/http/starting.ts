// The answers before the lab is open.

import { Hono } from 'hono'
import { packageVersion } from '../kit/package_version.ts'
import type { Env } from './contract.ts'
import { answerHeaders } from './open_stream.ts'
import { apiVersion } from './version.ts'

const versioned = { 'X-API-Version': apiVersion }
const streams = ['/events/stream', '/api/live']

export function startingApp(): Hono<Env> {
  const hono = new Hono<Env>()
  const health = { status: 'starting', version: packageVersion(), uptime_s: 0, reasons: [] }
  hono.get('/health', (c) => c.json(health, 503, versioned))
  // An EventSource that is answered 503 gives up for good; one whose stream ends opens it anew.
  hono.on('GET', streams, (c) => c.body('retry: 1000\n: the service is starting\n\n', 200, answerHeaders('text/event-stream')))
  hono.all('*', (c) =>
    c.json({ detail: 'the service is starting; ask again in a second' }, 503, { ...versioned, 'Retry-After': '1', 'X-Reason': 'starting' }),
  )
  return hono
}
