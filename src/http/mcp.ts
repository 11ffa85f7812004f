// The routes of MCP. The protocol is that of its specification, so they are not in the OpenAPI document.

import * as v from 'valibot'
import type { Links, McpCaller } from '../bench/links.ts'
import { LabError } from '../errors.ts'
import { type Call, type Exchange, type Route, routesOf } from './contract.ts'
import { keyOf } from './entrance.ts'
import { requestIdOf } from './headers.ts'

type Rooms = { links: Links }

const route = routesOf<Rooms>('system')

const success = { description: 'As the specification of MCP says', media_type: 'text/event-stream' }
/** A stop comes this way too, so that every key may call it and nothing but the lack of a key refuses it. */
const scope = 'any'

export const mcpRoutes: Route<Rooms>[] = [
  route('POST', '/mcp', {
    operation_id: 'postMcp',
    summary: 'Send a message of MCP',
    scope,
    is_unrecorded: true,
    body: v.unknown(),
    success,
    errors: [400, 404, 503],
    handle: (call) => serverOf(call).handle(requestOf(call.c), callerOf(call.c), call.body()),
  }),
  route('DELETE', '/mcp', {
    operation_id: 'endMcp',
    summary: 'End a session of MCP',
    scope,
    is_unrecorded: true,
    success,
    errors: [404],
    handle: (call) => serverOf(call).handle(requestOf(call.c), callerOf(call.c), undefined),
  }),
]

function serverOf({ rooms: { links } }: Pick<Call<Rooms, unknown, unknown>, 'rooms'>) {
  if (links.mcp) return links.mcp
  throw new LabError('not_found', 'this bench serves no MCP here; add "mcp": {} to its configuration and restart it, or use: benchd mcp')
}

const passed = ['accept', 'content-type', 'mcp-session-id', 'mcp-protocol-version', 'last-event-id']

/** Makes a request that has what MCP reads; the body is passed beside it. */
function requestOf(c: Exchange): Request {
  const headers = passed.flatMap((name): [string, string][] => {
    const value = c.req.header(name)
    return value === undefined ? [] : [[name, value]]
  })
  return new Request('http://localhost/mcp', { method: c.req.method, headers: [...headers, ['x-request-id', requestIdOf(c)]] })
}

/** Throws `forbidden` for a caller without a key, such as a plug-in, which calls the routes themselves. */
function callerOf(c: Exchange): McpCaller {
  const { key_id, scope } = c.get('principal')
  if (c.env?.local) return { key_id, scope, is_local: true }
  const api_key = keyOf((name) => c.req.header(name))
  if (api_key === undefined) throw new LabError('forbidden', 'MCP is for callers with a key; call the routes themselves')
  return { key_id, scope, is_local: false, api_key }
}
