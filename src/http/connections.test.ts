// Who holds a connection, who gives it up, and what the rest of the service does not pay for it. Real sockets, a clock turned by hand.

import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { Hono } from 'hono'
import { type Test, test } from 'tap'
import { VirtualClock } from '../kit/clock.ts'
import { silent } from '../kit/log.ts'
import { type Bound, Refusals } from '../kit/refusals.ts'
import { usualBounds } from '../testing/http.ts'
import { Connections, protectConnection } from './connections.ts'
import { closeServer, listen, serverOf } from './server.ts'

type Limits = ConstructorParameters<typeof Connections>[1]['limits'] extends () => infer Its ? Its : never
type Handle = (request: IncomingMessage, response: ServerResponse) => void

const usual: Limits = {
  connections: 4,
  connections_per_address: 4,
  requests_per_connection: 8,
  requests_mib: 16,
  answer_s: 60,
  answers_mib: 64,
  untaken_per_key: 16,
}
const get = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'

/** A server that handles each request as told, and clients of it. */
async function opened(t: Test, limits: Partial<Limits> = {}, handle: Handle = (_, response) => void response.end('ok')) {
  const clock = new VirtualClock()
  const refusals = new Refusals({ log: silent, clock })
  const server = createServer()
  const connections = new Connections(server, { limits: () => ({ ...usual, ...limits }), refusals, clock })
  server.on('request', (request, response) => {
    if (connections.begin(request, response)) handle(request, response)
  })
  const { port } = await listen(server, '127.0.0.1', 0)
  const clients: Socket[] = []
  t.teardown(async () => {
    for (const client of clients) client.destroy()
    await closeServer(server, 0)
  })
  return {
    server,
    connections,
    clock,
    times: timesOf(refusals),
    /** Resolves when the server has taken the connection. */
    async join(from = '127.0.0.1'): Promise<Socket> {
      const taken = once(server, 'connection')
      const client = connect({ port, host: '127.0.0.1', localAddress: from })
      client.on('error', () => undefined)
      clients.push(client)
      await Promise.all([taken, once(client, 'connect')])
      return client.resume()
    },
  }
}

function timesOf(refusals: Refusals) {
  return (bound: Bound) => refusals.counts.find((one) => one.bound === bound)!.times
}

/** Whether a connection still answers. */
async function answers(client: Socket): Promise<boolean> {
  const said = Promise.race([once(client, 'data').then(() => true), once(client, 'close').then(() => false)])
  if (client.destroyed) return false
  client.write(get)
  return said
}

test('a new connection takes the place of the oldest that has asked nothing for a second', async (t) => {
  const { join, clock, connections, times } = await opened(t)
  const old = [await join(), await join(), await join(), await join()]
  await clock.advance(1000)
  const closed = once(old[0]!, 'close')
  const late = await join()
  await closed
  t.equal(connections.size, 4)
  t.equal(times('connections'), 1)
  for (const client of [...old.slice(1), late]) t.ok(await answers(client))
})

test('in their first second connections stay, up to twice as many; then the oldest go', async (t) => {
  const { join, clock, connections } = await opened(t, { connections_per_address: 100 })
  const clients: Socket[] = []
  for (let i = 0; i < 8; i++) clients.push(await join())
  t.equal(connections.size, 8)
  const first = once(clients[0]!, 'close')
  clients.push(await join())
  await first
  t.equal(connections.size, 8, 'a ninth has no place')
  const others = clients.slice(1, 5).map((client) => once(client, 'close'))
  await clock.advance(1000)
  await Promise.all(others)
  t.equal(connections.size, 4)
  for (const client of clients.slice(5)) t.ok(await answers(client))
})

test('of connections that are too many eight are closed at once, and then forty a second: each client that is cut off comes again', async (t) => {
  const { join, clock, connections } = await opened(t, { connections: 15, connections_per_address: 2 })
  for (let i = 0; i < 30; i++) await join()
  await clock.advance(1000)
  t.equal(connections.size, 22)
  await clock.advance(99)
  t.equal(connections.size, 22)
  await clock.advance(1)
  t.equal(connections.size, 18)
  await join()
  t.equal(connections.size, 19, 'one more has a place until then')
  await clock.advance(1000)
  t.equal(connections.size, 2)
})

test('the address that holds most gives up its oldest connection, whoever was first', async (t) => {
  const { join, clock } = await opened(t)
  const honest = await join('127.0.0.2')
  const many = [await join(), await join(), await join()]
  await clock.advance(1000)
  const closed = once(many[0]!, 'close')
  await join('127.0.0.3')
  await closed
  t.ok(await answers(honest))
})

test('an address holds no more idle connections than it may, while others have theirs', async (t) => {
  const { join, clock, times } = await opened(t, { connections: 100, connections_per_address: 2 })
  const other = await join('127.0.0.2')
  const many = [await join(), await join(), await join()]
  await clock.advance(500)
  t.equal(times('connections_per_address'), 0)
  const closed = once(many[0]!, 'close')
  await clock.advance(500)
  await closed
  t.equal(times('connections_per_address'), 1)
  for (const client of [other, ...many.slice(1)]) t.ok(await answers(client))
})

test('a connection is protected until the request of a valid key is answered, and then the last to go', async (t) => {
  const held: ServerResponse[] = []
  const { join, clock } = await opened(t, { connections: 2 }, (request, response) => {
    protectConnection(request, response)
    held.push(response)
  })
  const [busy, idle] = [await join(), await join()]
  busy.write(get)
  while (held.length === 0) await new Promise(setImmediate)
  await clock.advance(1000)
  const replaced = once(idle, 'close')
  const next = await join()
  await replaced
  await clock.advance(1000)
  const answered = once(busy, 'data')
  held[0]!.end('done')
  await answered
  while (!held[0]!.closed) await new Promise(setImmediate)
  // What was protected has waited for less than a second now.
  const again = once(next, 'close')
  await join()
  await again
  t.notOk(busy.destroyed)
})

test('where each connection is protected the new one is closed, unless one only waits for its answer to be taken', async (t) => {
  const held: ServerResponse[] = []
  const { join, clock, connections } = await opened(t, { connections: 2 }, (request, response) => {
    protectConnection(request, response)
    held.push(response)
  })
  const clients = [await join(), await join()]
  for (const client of clients) client.write(get)
  while (held.length < 2) await new Promise(setImmediate)
  const refused = await join()
  const closed = once(refused, 'close')
  await clock.advance(1000)
  await closed
  t.equal(connections.size, 2)

  clients[1]!.pause()
  held[1]!.end(Buffer.alloc(32 * 1024 * 1024))
  const next = await join()
  await clock.advance(1000)
  t.equal(connections.size, 2)
  t.notOk(clients[0]!.destroyed)
  t.notOk(next.destroyed)
  t.ok(held[1]!.destroyed || held[1]!.socket === null || held[1]!.socket?.destroyed)
})

test('of a burst no more requests are made than a connection may send before its first answer', async (t) => {
  let begun = 0
  const { join, server, times } = await opened(t, { requests_per_connection: 8 }, () => {
    begun++
  })
  let made = 0
  server.on('request', () => {
    made++
  })
  const client = await join()
  const closed = once(client, 'close')
  client.write(get.repeat(1000))
  await closed
  t.equal(begun, 8)
  t.equal(made, 9, 'the parser has stopped')
  t.equal(times('requests_per_connection'), 1)
  const next = await join()
  next.write(get.repeat(8))
  while (begun < 16) await new Promise(setImmediate)
  t.equal(made, 17, 'it works as before for others')
})

test('answers that wait behind another end with their connection', async (t) => {
  const waiting: ServerResponse[] = []
  const { join } = await opened(t, {}, (_, response) => void waiting.push(response))
  const client = await join()
  client.write(get.repeat(3))
  while (waiting.length < 3) await new Promise(setImmediate)
  const closed = Promise.all(waiting.map((response) => once(response, 'close')))
  client.destroy()
  await closed
  t.ok(waiting.every(({ destroyed }) => destroyed))
})

test('requests of one connection are handled one after another, in order, and one that passes at once', async (t) => {
  const handled: string[] = []
  const under: ServerResponse[] = []
  const bench = await opened(t, {}, (request, response) => {
    bench.connections.inTurn(
      request,
      response,
      () => {
        handled.push(request.url!)
        under.push(response)
      },
      () => request.url!.startsWith('/pass'),
    )
  })
  const client = await bench.join()
  const paths = ['/a', '/b', '/pass/1', '/c', '/pass/2', '/e']
  client.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`).join(''))
  while (handled.length < 3) await once(bench.server, 'request')
  t.same(handled, ['/a', '/pass/1', '/pass/2'], 'only those pass one that is not answered')
  for (const next of ['/b', '/c', '/e']) {
    const before = handled.length
    for (const response of under.splice(0)) response.end('ok')
    while (handled.length === before) await new Promise(setImmediate)
    t.equal(handled.at(-1), next)
  }
  // What its client has given up is not handled any more.
  const arrived = once(bench.server, 'request')
  client.write('GET /d HTTP/1.1\r\nHost: localhost\r\n\r\n')
  await arrived
  const closed = once(under[0]!, 'close')
  client.destroy()
  await closed
  await new Promise(setImmediate)
  t.equal(handled.includes('/d'), false)
})

test('requests that take long share the turns of the event loop, in order, and one that passes waits for none of them', async (t) => {
  const arrived: (() => void)[] = []
  const handled: string[] = []
  let now = 0
  let gone: ServerResponse | undefined
  const bench = await opened(t, { connections_per_address: 9, connections: 9 }, (request, response) => {
    const handle = () => {
      handled.push(request.url!)
      now += request.url === '/short' ? 1 : 20
      response.end('ok')
    }
    if (request.url === '/gone') gone = response
    arrived.push(() => bench.connections.inTurn(request, response, handle, () => request.url === '/pass'))
  })
  bench.clock.now = () => now
  const ask = async (path: string) => {
    const client = await bench.join()
    const came = once(bench.server, 'request')
    client.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
    await came
  }
  for (const path of ['/short', '/a', '/b', '/gone', '/c', '/pass']) await ask(path)
  for (const one of arrived.splice(0)) one()
  t.same(handled, ['/short', '/a', '/pass'], 'what takes long is the last in its turn')
  gone!.destroy()
  await ask('/late')
  for (const one of arrived.splice(0)) one()
  const settle = async () => {
    for (let i = 0; i < 5; i++) await new Promise(setImmediate)
  }
  await settle()
  now += 9
  await bench.clock.advance(9)
  await settle()
  t.equal(handled.length, 3, 'after a long turn the others wait for as long as it took')
  for (let turns = 0; turns < 9 && !handled.includes('/late'); turns++) {
    const before = handled.length
    now += 100
    await bench.clock.advance(100)
    await settle()
    t.ok(handled.length <= before + 1, 'one in each turn')
  }
  t.same(handled, ['/short', '/a', '/pass', '/b', '/c', '/late'], 'nothing overtakes, and nobody is answered who is gone')
})

test('requests behind one that was refused for overload are refused unhandled, and the connection is used on', async (t) => {
  const handled: string[] = []
  const bench = await opened(t, {}, (request, response) => {
    const handle = () => {
      handled.push(request.url!)
      if (request.url === '/full') response.statusCode = 503
      response.end('done')
    }
    bench.connections.inTurn(request, response, handle, () => false)
  })
  const client = await bench.join()
  let text = ''
  client.on('data', (bytes) => {
    text += bytes
  })
  client.write(['/full', '/b', '/c'].map((path) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`).join(''))
  while (text.split('an earlier request of this connection was refused').length < 3) await new Promise(setImmediate)
  t.same(handled, ['/full'])
  t.equal(text.match(/HTTP\/1\.1 503/g)?.length, 3)
  t.ok(await answers(client))
})

test('eight requests at once are answered in order, again and again', async (t) => {
  let n = 0
  const { join } = await opened(t, {}, (_, response) => void response.end(`<${n++}>`))
  const client = await join()
  let text = ''
  client.on('data', (bytes) => {
    text += bytes
  })
  for (let round = 1; round <= 20; round++) {
    client.write(get.repeat(8))
    while (!text.includes(`<${round * 8 - 1}>`)) await new Promise(setImmediate)
  }
  t.same(
    [...text.matchAll(/<(\d+)>/g)].map(([, number]) => Number(number)),
    Array.from({ length: 160 }, (_, i) => i),
  )
})

test('an answer that its client does not take is given up, and one that it takes late is not', async (t) => {
  const { join, times } = await opened(t, { answer_s: 0.2 }, (_, response) => void response.end(Buffer.alloc(32 * 1024 * 1024)))
  const [never, late] = [await join(), await join()]
  never.pause()
  never.write(get)
  late.write(get)
  let bytes = 0
  late.on('data', (piece) => {
    bytes += piece.length
  })
  while (bytes < 32 * 1024 * 1024) await new Promise(setImmediate)
  t.ok(await answers(late), 'its connection is used on')
  while (times('answer_s') === 0) await new Promise(setImmediate)
  t.equal(times('answer_s'), 1)
})

test('what waits for clients is bounded for all of them together: the largest is given up', async (t) => {
  const sizes = [20, 40, 24]
  const { join, clock, times, connections } = await opened(t, { answers_mib: 64 }, (_, response) => {
    response.end(Buffer.alloc((sizes.shift() ?? 0) * 1024 * 1024))
  })
  const clients = [await join(), await join(), await join()]
  for (const client of clients) {
    client.pause()
    const asked = sizes.length
    client.write(get)
    while (sizes.length === asked) await new Promise(setImmediate)
    await clock.advance(100)
  }
  t.equal(times('answers_mib'), 0)
  const last = await join()
  t.ok(await answers(last))
  t.equal(times('answers_mib'), 1)
  t.equal(connections.size, 3)
})

test('a key whose clients leave large answers untaken gets no more until they take one, and a stop is never refused', async (t) => {
  const refused: string[] = []
  const { join, times } = await opened(t, { untaken_per_key: 2, connections: 9, connections_per_address: 9 }, (request, response) => {
    const key_id = request.headers['x-api-key'] as string | undefined
    try {
      protectConnection(request, response, key_id)
      response.end(Buffer.alloc(request.url === '/small' ? 100 : 32 * 1024 * 1024))
    } catch (error) {
      refused.push((error as Error).message)
      response.writeHead(503).end('refused')
    }
  })
  const ask = async (key_id?: string, path = '/') => {
    const client = await join()
    client.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n${key_id ? `X-API-Key: ${key_id}\r\n` : ''}\r\n`)
    await once(client, 'readable')
    return { client, status: (client.read(12) as Buffer).toString().slice(9) }
  }
  const untaken = [await ask('mine'), await ask('mine')]
  t.equal((await ask('mine')).status, '503')
  t.match(refused, [/^2 large answers to requests of this key wait to be read by its clients; read or close them, then ask again$/])
  t.equal(times('untaken_per_key'), 1)
  t.equal((await ask('other')).status, '200', 'another key has room')
  t.equal((await ask()).status, '200', 'a stop has no key here')
  untaken[0]!.client.resume()
  while ((await ask('mine', '/small')).status === '503') await new Promise(setImmediate)
  untaken[1]!.client.destroy()
  t.equal((await ask('mine')).status, '200')
})

const makeCert = fileURLToPath(new URL('../../../scripts/make-cert.sh', import.meta.url))

/** A server with a certificate of its own, which answers `ok`. */
async function openedTls(t: Test, limits: object = {}) {
  const folder = t.testdir({})
  execFileSync(makeCert, [folder], { stdio: 'ignore' })
  const bounds = await usualBounds(limits)
  // Half a second, which no configuration may say.
  const short = () => ({ ...bounds.limits(), handshake_s: 0.5, ...limits })
  const tls = { cert: readFileSync(`${folder}/cert.pem`, 'utf8'), key: readFileSync(`${folder}/key.pem`, 'utf8') }
  const hono = new Hono().get('/', (c) => c.text('ok'))
  const server = serverOf(() => hono as never, { limits: short, refusals: bounds.refusals, tls })
  const { port } = await listen(server, '127.0.0.1', 0)
  t.teardown(() => closeServer(server, 0))
  return { server, port, times: timesOf(bounds.refusals) }
}

async function countOf(server: Server): Promise<number> {
  return new Promise((resolve, reject) => server.getConnections((error, count) => (error ? reject(error) : resolve(count))))
}

test('a TLS handshake that does not end is hung up on, and its place is free', async (t) => {
  const { port, server, times } = await openedTls(t)
  const clients = ['', '\x16\x03\x01\x02\x00\x01', 'GET / HTTP/1.1\r\n\r\n', '\x16\x03\x01\x00\x05hello'].map((bytes) => {
    const client = connect(port, '127.0.0.1', () => void client.write(Buffer.from(bytes, 'latin1')))
    client.on('error', () => undefined)
    return client.resume()
  })
  await Promise.all(clients.map((client) => once(client, 'close')))
  while ((await countOf(server)) > 0) await new Promise(setImmediate)
  t.equal(times('handshake_s'), 2, 'the others were no TLS')
})

test('over TLS too a connection that asks nothing gives up its place, and one that does is answered', async (t) => {
  const { port, server, times } = await openedTls(t, { connections: 2, handshake_s: 60 })
  const join = async () => {
    const client = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false })
    client.on('error', () => undefined)
    await Promise.all([once(client, 'secureConnect'), once(server, 'secureConnection')])
    return client.resume()
  }
  const silentOnes = [await join(), await join()]
  const gone = Promise.race(silentOnes.map((client) => once(client, 'close')))
  const asking = await join()
  t.ok(await answers(asking))
  await gone
  t.equal(times('connections'), 1)
  while ((await countOf(server)) > 2) await new Promise(setImmediate)
  t.equal(await countOf(server), (server.address() as AddressInfo) && 2)
  t.ok(await answers(asking))
})

test('a connection is not read while its request waits for a turn of the event loop', async (t) => {
  let now = 0
  const arrived: { socket: Socket; take: () => void }[] = []
  const bench = await opened(t, {}, (request, response) => {
    const handle = () => {
      now += 20
      response.end('ok')
    }
    const take = () => bench.connections.inTurn(request, response, handle, () => false)
    arrived.push({ socket: request.socket, take })
  })
  bench.clock.now = () => now
  for (const client of [await bench.join(), await bench.join()]) client.write(get)
  while (arrived.length < 2) await new Promise(setImmediate)
  const [first, second] = arrived.splice(0)
  first!.take()
  second!.take()
  t.notOk(first!.socket.isPaused())
  t.ok(second!.socket.isPaused())
  now += 20
  for (let turns = 0; turns < 50 && second!.socket.isPaused(); turns++) {
    await bench.clock.advance(100)
    now += 100
    await new Promise(setImmediate)
  }
  t.notOk(second!.socket.isPaused(), 'it is read again for the request that is handled')
})

test('the memory of all unanswered requests is bounded: another is refused, and one that passes is not', async (t) => {
  const held: ServerResponse[] = []
  const bench = await opened(t, { requests_mib: 0.04, connections: 20, connections_per_address: 20 }, (request, response) => {
    const passes = () => request.url === '/pass'
    bench.connections.inTurn(request, response, () => void held.push(response), passes)
  })
  const large = (path: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\nX-A: ${'a'.repeat(12_000)}\r\n\r\n`
  const send = async (bytes: string) => {
    const client = await bench.join()
    const answer = once(client, 'data').then(([piece]) => String(piece))
    client.write(bytes)
    return answer
  }
  for (let i = 1; i <= 2; i++) {
    void send(large('/'))
    while (held.length < i) await new Promise(setImmediate)
  }
  t.match(
    await send(large('/')),
    /^HTTP\/1\.1 503 [\s\S]*Retry-After: 1[\s\S]*the requests that are not answered yet take over 0.04 MiB; send this one again/,
  )
  t.equal(bench.times('requests_mib'), 1)
  void send(large('/pass'))
  while (held.length < 3) await new Promise(setImmediate)
  t.equal(bench.times('requests_mib'), 1)
  const over = Promise.all(held.map((response) => once(response, 'close')))
  for (const response of held) response.end('ok')
  await over
  void send(large('/'))
  while (held.length < 4) await new Promise(setImmediate)
  t.pass('there is room again')
})
