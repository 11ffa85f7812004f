// For tests of the coordinator: an HTTP server that answers like a bench, from a table, and records its requests.

import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { RemoteBench } from '../coordinator/benches.ts'

type Lifetime = { teardown(call: () => unknown): void }
type Answer = object | number | ((response: ServerResponse, request: IncomingMessage) => void)

export type FakeBench = {
  bench: RemoteBench
  url: string
  /** Keyed by `METHOD path`: a body for 200, a status, or a function that answers; 404 for everything else. Tests may change it. */
  answers: Record<string, Answer>
  /** The requests so far, without GET, as `METHOD path` and the body. */
  asked: string[]
}

export async function fakeBench(t: Lifetime, answers: Record<string, Answer> = {}, name = 'prep'): Promise<FakeBench> {
  const asked: string[] = []
  const table: Record<string, Answer> = { 'GET /api/lab': { link: { epoch: 'e1' } }, ...answers }
  const server = createServer(async (request, response) => {
    const what = `${request.method} ${request.url}`
    const body = request.method === 'GET' || request.method === 'DELETE' ? '' : ` ${JSON.stringify(await json(request))}`
    if (request.method !== 'GET') asked.push(what + body)
    const answer = table[what] ?? 404
    if (typeof answer === 'function') return answer(response, request)
    response.writeHead(typeof answer === 'number' ? answer : 200, { 'Content-Type': 'application/json' })
    response.end(JSON.stringify(typeof answer === 'number' ? { detail: `answered ${answer}` } : answer))
  }).listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const bench = new RemoteBench(name, 'bk_test', () => ({ url }))
  t.teardown(() => {
    bench.close()
    server.closeAllConnections()
    server.close()
  })
  return { bench, url, answers: table, asked }
}
