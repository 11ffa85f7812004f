// The MCP server that a bench opens.

import type { Bench } from '../bench/bench.ts'
import { type AskBench, textFrom } from './bench_link.ts'
import { type ApiDocument, catalogOf } from './catalog.ts'
import { HttpSessions, localToken } from './http_sessions.ts'
import { sessionOf } from './server.ts'

type Fetch = (request: Request, env?: { local: true }) => Response | Promise<Response>

/** Opens the server that the configuration asks for. Each call of a tool is a request to the routes of the bench, with the key of its caller. */
export async function openMcp(bench: Bench, fetch: Fetch): Promise<HttpSessions> {
  const { config, version, clock, keys } = bench
  const askWith =
    (key: string | undefined): AskBench =>
    async ({ method, path, body, headers }) => {
      if (key === undefined) throw new Error('the call came without a key')
      const isLocal = key === localToken
      const its = {
        ...headers,
        Host: '127.0.0.1',
        ...(!isLocal && { 'X-API-Key': key }),
        ...(body && { 'Content-Type': 'application/json' }),
      }
      const request = new Request(`http://127.0.0.1${path}`, { method, headers: its, ...(body && { body: JSON.stringify(body) }) })
      const response = await (isLocal ? fetch(request, { local: true }) : fetch(request))
      return {
        status: response.status,
        headers: { 'x-reason': response.headers.get('x-reason') ?? undefined },
        body: await response.text(),
      }
    }
  const document = JSON.parse(await textFrom(askWith(localToken), '/openapi.json')) as ApiDocument
  const catalog = catalogOf(document)
  return new HttpSessions({
    session: (scope) => sessionOf({ catalog, version, scope, allow_motion: config.mcp!.allow_motion, askWith }),
    opens: (key_id) => keys.opens(key_id),
    clock,
  })
}
