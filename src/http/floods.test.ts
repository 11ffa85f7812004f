// What a client without a key can make the service hold or do, and what a stop does not wait for.

import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { type Test, test } from 'tap'
import { dialled, heard, openService, openTestBench, repliesIn, said, usualBounds } from '../testing/http.ts'
import type { App } from './app.ts'
import { ourHosts } from './entrance.ts'
import { mostSmall } from './gathered_request.ts'
import { closeServer, listen, serverOf } from './server.ts'
import { stopPathOf } from './stop_path.ts'

const headers = (count: number) => Array.from({ length: count }, (_, i) => `x-${i}: 1\r\n`).join('')
const chunked = 'Host: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n'

test('a request has at most a hundred headers, and is otherwise refused before anything is looked at', async (t) => {
  const { port } = await openService(t)
  const head = 'GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n'
  t.equal(repliesIn(await said(port, `${head}${headers(98)}\r\n`))[0]!.status, 200)
  for (const count of [100, 150, 1000]) {
    const replies = repliesIn(await said(port, `GET /health HTTP/1.1\r\nHost: localhost\r\n${headers(count)}\r\n`.repeat(3)))
    t.match(replies, [{ status: 431, body: { detail: /at most 100 headers/ } }], `${count} more, and what came behind is not answered`)
    t.equal(replies[0]!.headers.get('x-reason'), 'headers_too_large')
    t.equal(replies[0]!.headers.get('connection'), 'close')
  }
})

test('a request has at most a hundred trailers', async (t) => {
  const { port } = await openService(t)
  const body = JSON.stringify({ app_name: 'a', scope: 'read' })
  const head = `POST /api/keys/requests HTTP/1.1\r\nConnection: close\r\n${chunked}\r\n${body.length.toString(16)}\r\n${body}\r\n0\r\n`
  for (const count of [101, 150])
    t.match(repliesIn(await said(port, `${head}${headers(count)}\r\n`)), [{ status: 431, body: { detail: /100 trailers/ } }])
  t.match(repliesIn(await said(port, `${head}${headers(100)}\r\n`)), [{ status: 201 }])
})

/** A server that never answers `/held`, and says which other requests it has handled. */
async function serving(t: Test, admits: boolean, { local = false, fetched = async (_: Request) => {} } = {}) {
  const handled: string[] = []
  const app: Pick<App, 'fetch'> & { admits: () => boolean } = {
    fetch: async (request) => {
      const { pathname, search } = new URL(request.url)
      handled.push(`${request.method} ${pathname}${search}`)
      if (pathname === '/held') await new Promise(() => {})
      await fetched(request)
      return new Response('ok')
    },
    admits: () => admits,
  }
  const server = serverOf(() => app, { ...(await usualBounds()), local })
  const { port } = await listen(server, '127.0.0.1', 0)
  const clients: Socket[] = []
  t.teardown(async () => {
    for (const client of clients) client.destroy()
    await closeServer(server, 0)
  })
  return {
    server,
    port,
    handled,
    /** Sends a request behind one that is not answered, and resolves when the server has taken both, and has handled one that `passes`. */
    async behindHeld(request: string, passes = false): Promise<string[]> {
      handled.splice(0)
      const client = await dialled(port)
      clients.push(client)
      let taken = 0
      const both = new Promise<void>((resolve) => {
        const count = () => {
          if (++taken < 2) return
          server.off('request', count).off('checkExpectation', count)
          resolve()
        }
        server.on('request', count).on('checkExpectation', count)
      })
      client.write(`GET /held HTTP/1.1\r\nHost: localhost\r\n\r\n${request}`)
      await both
      for (let turn = 0; turn < 5 || (passes && handled.length < 2); turn++) await new Promise(setImmediate)
      client.destroy()
      // On a busy computer the first request may have its turn later than one that passes.
      return handled.filter((one) => one !== 'GET /held')
    },
  }
}

const ask = (line: string, more = '') => `${line} HTTP/1.1\r\nHost: localhost\r\n${more}\r\n`

test('only the POST of somebody who may stop passes those that wait, and it forgives what does not matter', async (t) => {
  const admitting = await serving(t, true)
  for (const path of ['/api/stop', '/api/stop/', '//api//stop', '/api/stop?x=%', '/api/stop/?a&a'])
    t.same(await admitting.behindHeld(ask(`POST ${path}`), true), ['POST /api/stop'], path)
  t.same(await admitting.behindHeld(ask('POST /api/devices/a%20b/stop/'), true), ['POST /api/devices/a%20b/stop'])
  t.same(await admitting.behindHeld(ask('POST /api/stop', 'Expect: much\r\n'), true), ['POST /api/stop'], 'an unknown Expect')
  for (const line of ['GET /api/stop', 'PUT /api/stop', 'POST /api/stopped', 'POST /api/devices/stop', 'POST /x/api/stop', 'GET /health'])
    t.same(await admitting.behindHeld(ask(line)), [], `${line} waits`)
  t.same(await admitting.behindHeld(ask('POST /api/devices/a/shake', 'Expect: much\r\n')), [], 'nor is a refusal made at once')
  const strict = await serving(t, false)
  for (const path of ['/api/stop', '/api/stop/', '/api/devices/a/stop']) t.same(await strict.behindHeld(ask(`POST ${path}`)), [], path)
  const local = await serving(t, false, { local: true })
  t.same(await local.behindHeld(ask('POST /api/stop'), true), ['POST /api/stop'], 'the control socket needs no key')
})

test('a path of a stop keeps the device as it is written', async (t) => {
  t.equal(stopPathOf('POST', '/api//devices///x%2Fy/stop//'), '/api/devices/x%2Fy/stop')
  for (const url of ['', undefined, '/api/devices//stop', '/api/stop/x', '/api/devices/a/b/stop'])
    t.equal(stopPathOf('POST', url), undefined)
  t.equal(stopPathOf('GET', '/api/stop'), undefined)
})

test('who may stop: a valid key and our Host', async (t) => {
  const { hono, secrets } = await openTestBench(t)
  const admits = (...rawHeaders: string[]) => (hono as unknown as App).admits!({ rawHeaders } as IncomingMessage)
  const wrong = `${secrets.read.slice(0, 12)}${'A'.repeat(43)}`
  t.ok(admits('host', 'localhost', 'X-API-Key', secrets.read))
  t.ok(admits('Host', 'localhost:8520', 'Authorization', `Bearer ${secrets.operate}`))
  t.notOk(admits('Host', 'localhost'), 'no key')
  t.notOk(admits('Host', 'localhost', 'X-API-Key', wrong), 'the id of a key')
  t.notOk(admits('Host', 'localhost', 'X-API-Key', `bk_abcdefgh_${'A'.repeat(43)}`))
  t.notOk(admits('Host', 'localhost', 'X-API-Key', 'x'))
  t.notOk(admits('Host', 'other.example', 'X-API-Key', secrets.read), 'another Host')
  t.notOk(admits('X-API-Key', secrets.read), 'no Host')
  t.notOk(admits('Host', 'localhost', 'X-API-Key', secrets.read, 'Authorization', `Bearer ${secrets.operate}`), 'two keys')
})

test('a stop over the network forgives its address, an Expect and a query, but needs its key', async (t) => {
  const { port, secrets } = await openService(t)
  const key = `X-API-Key: ${secrets.read}\r\nConnection: close\r\n`
  const stops = { '/api/stop/': '', '//api/stop?why': '', '/api/devices/shaker-1/stop/': '', '/api/stop': 'Expect: much\r\n' }
  for (const [path, more] of Object.entries(stops)) {
    t.match(repliesIn(await said(port, ask(`POST ${path}`, `${key}${more}`))), [{ status: 200 }], path)
    t.match(repliesIn(await said(port, ask(`POST ${path}`, `Connection: close\r\n${more}`))), [{ status: 401 }], path)
  }
})

test('the system is asked for its addresses once a second at most', async (t) => {
  let now = 0
  let asked = 0
  let address = '192.0.2.1'
  const interfaces = () => {
    asked++
    return { eth0: [{ address }] }
  }
  const names: string[] = ['bench.example']
  const ours = ourHosts(() => names, { now: () => now, interfaces })
  t.ok(ours('localhost'))
  t.equal(asked, 0)
  for (let i = 0; i < 500; i++) t.notOk(ours(`other-${i}.example`))
  t.ok(ours('192.0.2.1:8520'))
  t.equal(asked, 1)
  address = '192.0.2.2'
  t.notOk(ours('192.0.2.2'))
  now = 1000
  t.ok(ours('192.0.2.2'), 'a new address counts within a second')
  t.equal(asked, 2)
})

test('a body in very small chunks lies in few pieces, and one in too many of them is refused', async (t) => {
  let pieces = 0
  const bodies: string[] = []
  const { port, server } = await serving(t, false, { fetched: async (request) => void bodies.push(await request.text()) })
  server.on('request', (request: IncomingMessage) => request.on('data', () => void pieces++))
  const sent = (count: number) => {
    const text = Array.from({ length: count }, (_, i) => String(i % 10)).join('')
    const bytes = `POST /x HTTP/1.1\r\nConnection: close\r\n${chunked}\r\n${[...text].map((one) => `1\r\n${one}\r\n`).join('')}0\r\n\r\n`
    return said(port, bytes).then((reply) => ({ text, reply }))
  }
  const { text, reply } = await sent(mostSmall)
  t.match(reply, /^HTTP\/1\.1 200/)
  t.same(bodies, [text])
  t.ok(pieces > 0 && pieces < 100, `${pieces} pieces`)
  const refused = await sent(mostSmall + 1)
  t.match(repliesIn(refused.reply), [
    { status: 400, body: { detail: /^the body came in over 1000 pieces of a few bytes; send it in larger ones/ } },
  ])
})

test('a chunked body that came with the head of a request that does not read it costs nothing: what comes behind it is answered', async (t) => {
  const { port } = await openService(t)
  const head = `GET /health HTTP/1.1\r\n${chunked}`
  const body = '\r\n10\r\n{"speed":"fast"}\r\n0\r\n\r\n'
  for (let times = 0; times < 100; times++) {
    const replies = repliesIn(await said(port, `${head}${body}${head}Connection: close\r\n${body}`))
    if (replies.length !== 2) t.fail(`${replies.length} answers`)
  }
  t.pass('both requests are answered each time')
})

test('a chunked body that nobody reads ends with the answer, and its connection too', async (t) => {
  const { port } = await openService(t)
  const client = await dialled(port)
  const reply = heard(client)
  client.write(`POST /health HTTP/1.1\r\n${chunked}\r\n1\r\na\r\n`)
  t.match(repliesIn(await reply), [{ status: 401 }])
})

test('two large dry runs go on at once, and a third is refused', async (t) => {
  const { port, bench, secrets } = await openService(t)
  const groups = Array.from({ length: 300 }, (_, n) => ({ group_id: `g${n}` }))
  const post = (path: string) => {
    const text = JSON.stringify({ workflow: 'smc_assay', run_mode: 'PURE_SIM', groups })
    return `POST ${path} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${secrets.operate}\r\nContent-Type: application/json\r\nContent-Length: ${text.length}\r\n\r\n${text}`
  }
  const timesOf = (bound: string) => bench.refusals.counts.find((one) => one.bound === bound)!.times
  const clients: Socket[] = []
  t.teardown(() => {
    for (const client of clients) client.destroy()
  })
  const send = async (bytes: string) => {
    const client = await dialled(port)
    clients.push(client)
    client.write(bytes)
    return client
  }
  const first = [await send(post('/api/simulations')), await send(post('/api/simulations')), await send(post('/api/simulations'))]
  const [answer] = await Promise.race(first.map((client) => once(client, 'data')))
  t.match(repliesIn(String(answer)), [
    { status: 503, body: { detail: /^2 dry runs of 200 threads and more are under way; wait until one has ended/ } },
  ])
  t.match(String(answer), /Retry-After: 5/i)
  t.equal(timesOf('large_dry_runs'), 1)
})
