// Answers a request with a stream, which ends with its key and counts in the limits of streams.

import { LabError } from '../errors.ts'
import type { Hub } from '../events/hub.ts'
import type { Outlet } from '../events/streams.ts'
import type { LongRequests } from '../keys/long_requests.ts'
import type { Refusals } from '../kit/refusals.ts'
import { type Exchange, requestIdHeader } from './contract.ts'
import { requestIdOf } from './headers.ts'
import { bodyOutlet, socketOutlet } from './outlets.ts'
import { apiVersion } from './version.ts'

/** The rooms of the bench that a stream uses. */
export type Streaming = { hub: Hub; long_requests: LongRequests; refusals: Refusals }

/** `close` is for an outlet that is closed already; `end` closes it. */
type Subscription = { close(): void; end(): void }

/**
 * Headers with which reverse proxies pass each event on at once. The first is for nginx. The second is for Caddy 2.6.2 with `encode`, which compresses a stream whose
 * first piece has 512 bytes, does not flush it, and ignores `no-transform`.
 */
const promptHeaders = { 'X-Accel-Buffering': 'no', 'Content-Encoding': 'identity' }

/** Opens a stream; `subscribe` begins to write to the outlet. Throws `overloaded`, and `stopping` while the service ends. */
export async function openStream(rooms: Streaming, c: Exchange, subscribe: (outlet: Outlet) => Subscription): Promise<Response> {
  const headers = { ...answerHeaders('text/event-stream; charset=utf-8'), ...promptHeaders, [requestIdHeader]: requestIdOf(c) }
  if (c.req.method === 'HEAD') return new Response(null, { headers })
  mustHaveRoom(rooms)
  const leave = rooms.long_requests.enter(keyOf(c), () => subscription.end())
  const close = () => {
    leave()
    subscription?.close()
  }
  // A page of another origin needs the headers that a middleware adds to an answer.
  const response = c.req.header('origin') === undefined ? c.env?.outgoing : undefined
  const { outlet, body } = response ? { outlet: socketOutlet(response, headers, close), body: null } : bodyOutlet(close, c.env?.outgoing)
  const subscription = subscribe(outlet)
  if (body) return new Response(body, { headers })
  const { RESPONSE_ALREADY_SENT } = await import('@hono/node-server/utils/response')
  // The clone is Node's own Response: on a light one the mark would be missed, and it would be sent.
  return RESPONSE_ALREADY_SENT.clone()
}

/** Throws as `Streams.mustHaveRoom`. */
function mustHaveRoom({ hub, refusals }: Streaming): void {
  try {
    hub.streams.mustHaveRoom()
  } catch (error) {
    if (error instanceof LabError && error.code === 'overloaded') refusals.count('subscribers', `a stream was refused: ${error.message}`)
    throw error
  }
}

/** Returns the key of a long request; undefined on the control socket, which needs no key. */
export function keyOf(c: Exchange): string | undefined {
  return c.env?.local ? undefined : c.get('principal').key_id
}

export function answerHeaders(type: string): Record<string, string> {
  return { 'Content-Type': type, 'Cache-Control': 'no-store', 'X-API-Version': apiVersion }
}
