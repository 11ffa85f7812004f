// New connections of a crowd do not keep out those that come after them.

import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import { connect, type Socket } from 'node:net'
import { type Test, test } from 'tap'
import { VirtualClock } from '../kit/clock.ts'
import { silent } from '../kit/log.ts'
import { Refusals } from '../kit/refusals.ts'
import { queueArrivals } from './arrivals.ts'
import { closeServer, listen } from './server.ts'

/** A server whose connections are queued; `handled` are the ports, or addresses, of those handed over, in order. */
async function opened(t: Test, { connections = 512, isTls = false } = {}) {
  const handled: Socket[] = []
  const clock = new VirtualClock()
  const refusals = new Refusals({ log: silent, clock })
  const server = createServer((_, response) => void response.end('ok'))
  server.on('connection', (socket) => void handled.push(socket))
  queueArrivals(server, { limits: () => ({ connections }), refusals, clock, isTls })
  const { port } = await listen(server, '127.0.0.1', 0)
  const clients: Socket[] = []
  t.teardown(async () => {
    for (const client of clients) client.destroy()
    await closeServer(server, 0)
  })
  /** Connects so many one after another: the kernel has all of them before the server takes one. */
  const crowd = (count: number, from = '127.0.0.1') => {
    const came = Array.from({ length: count }, () => connect({ port, host: '127.0.0.1', localAddress: from }).on('error', () => undefined))
    clients.push(...came)
    return came
  }
  const times = () => refusals.counts.find(({ bound }) => bound === 'connections')!.times
  /** Waits until so many are handed over; silent ones make room as time goes by. */
  const handedOver = async (count: number) => {
    for (; handled.length < count; await new Promise(setImmediate)) await clock.advance(10)
  }
  return { server, clock, handled, handedOver, crowd, times }
}

const get = 'GET / HTTP/1.1\r\nHost: localhost\r\n\r\n'

/** Resolves when so many have been accepted, before any was handed over in the turn of the last. */
async function accepted(server: Server, count: number): Promise<void> {
  for (let i = 0; i < count; i++) await once(server, 'connection')
}

test('the newest of a crowd is handed over first, now and then the oldest, and in the end all', async (t) => {
  const { server, handled, handedOver, crowd } = await opened(t)
  const came = crowd(40)
  await accepted(server, 40)
  const before = handled.length
  await handedOver(40)
  const order = handled.map(({ remotePort }) => came.findIndex(({ localPort }) => localPort === remotePort))
  t.ok(before < 40, 'they come faster than they are handed over')
  const after = order.slice(before)
  const waited = after.toSorted((a, b) => a - b)
  t.same(new Set(order).size, 40)
  const expected: number[] = []
  for (let at = before + 1; waited.length > 0; at++) expected.push(at % 3 === 0 ? waited.shift()! : waited.pop()!)
  t.same(after, expected)
})

test('one that asks little goes before those that have sent much', async (t) => {
  const { server, handled, handedOver, crowd } = await opened(t)
  const accepting = accepted(server, 40)
  const came = crowd(40)
  came[15]!.write(get)
  for (const client of came.slice(16)) client.write('x'.repeat(20_000))
  await accepting
  const before = handled.length
  const isHandled = () => handled.some(({ remotePort }) => remotePort === came[15]!.localPort)
  if (!isHandled()) await handedOver(Math.min(40, before + 33))
  t.ok(isHandled(), 'ahead of newer ones')
})

test('addresses take turns: one client alone does not wait for the crowd of another', async (t) => {
  const { server, handled, handedOver, crowd } = await opened(t)
  const came = accepted(server, 41)
  crowd(20, '127.0.0.2')
  crowd(1, '127.0.0.3')
  crowd(20, '127.0.0.2')
  await came
  const before = handled.length
  if (!handled.some(({ remoteAddress }) => remoteAddress === '127.0.0.3')) {
    await handedOver(before + 2)
  }
  t.ok(handled.some(({ remoteAddress }) => remoteAddress === '127.0.0.3'))
})

test('what a client sends while it waits is not lost, nor is one that hangs up handed over', async (t) => {
  const { server, handled, crowd } = await opened(t)
  const came = accepted(server, 30)
  const clients = crowd(30)
  for (const client of clients) client.write(get)
  await came
  const gone = clients.filter((_, at) => at % 2)
  for (const client of gone) client.resetAndDestroy()
  const answers = await Promise.all(clients.filter((_, at) => at % 2 === 0).map(async (client) => String((await once(client, 'data'))[0])))
  t.ok(answers.every((answer) => answer.startsWith('HTTP/1.1 200')))
  t.ok(handled.length <= 30)
})

test('over TLS at most sixteen are silent at once: one that asks, hangs up, or was silent for a while makes room', async (t) => {
  const { server, clock, handled, crowd } = await opened(t, { isTls: true })
  const clients = crowd(40)
  await accepted(server, 40)
  const becomes = async (count: number) => {
    while (handled.length < count) await new Promise(setImmediate)
    for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate)
    t.equal(handled.length, count)
  }
  await becomes(16)
  const at = (place: number) => clients.find(({ localPort }) => localPort === handled[place]!.remotePort)!
  at(0).write(get)
  await becomes(17)
  at(1).destroy()
  await becomes(18)
  await clock.advance(20)
  await becomes(34)
})

test('without TLS silent connections keep nobody waiting', async (t) => {
  const { server, handled, crowd } = await opened(t)
  crowd(40)
  await accepted(server, 40)
  while (handled.length < 40) await new Promise(setImmediate)
  t.equal(handled.length, 40)
})

test('one that has hung up before its turn is not handed over', async (t) => {
  const { server, handled, crowd, handedOver } = await opened(t)
  const clients = crowd(40)
  await accepted(server, 40)
  const waited = clients.filter(({ localPort }) => !handled.some(({ remotePort }) => remotePort === localPort))
  const gone = waited.slice(5, 15)
  const closed = Promise.all(gone.map((client) => once(client.resume(), 'close')))
  for (const client of gone) client.end()
  const asks = waited[20]!
  asks.end(get)
  const [answer] = await Promise.all([once(asks, 'data'), handedOver(30)])
  await closed
  t.match(String(answer[0]), /200 OK/, 'one that asked before it ended its side is answered')
  t.notOk(handled.some(({ remotePort }) => gone.some(({ localPort }) => localPort === remotePort)))
})

test('when too many wait, the oldest of the address that has most is closed', async (t) => {
  const { server, handled, crowd, times } = await opened(t, { connections: 4 })
  const came = accepted(server, 31)
  const alone = crowd(1, '127.0.0.3')
  const many = crowd(30, '127.0.0.2')
  const closed = many.map((client) => client.resume() && once(client, 'close'))
  await came
  await Promise.race(closed)
  t.ok(times() > 0)
  t.ok(handled.length + times() <= 31)
  alone[0]!.write(get)
  const [answer] = await once(alone[0]!, 'data')
  t.match(String(answer), /200 OK/)
})

test('of connections that have sent over 8 MiB together before their turn, those that have sent most are closed', async (t) => {
  const { server, clock, handled, crowd, times } = await opened(t, { isTls: true })
  const accepting = accepted(server, 220)
  const little = crowd(20)
  const much = crowd(200)
  for (const client of little) client.write(get)
  for (const client of much) client.write(Buffer.alloc(100_000))
  await accepting
  // Sixteen take turns every 20 ms, so most of them have sent all that the server reads long before their turn.
  for (; times() === 0 && handled.length < 220; await new Promise(setImmediate)) await clock.advance(0.1)
  t.ok(times() > 0, `${handled.length} were handed over before`)
  t.ok(
    little.every(({ destroyed }) => !destroyed),
    'those that ask little go on waiting',
  )
})

test('a server that is closed closes the connections that wait', async (t) => {
  const { server, clock, crowd, handled } = await opened(t)
  const came = accepted(server, 20)
  const clients = crowd(20).map((client) => client.resume())
  await came
  const before = handled.length
  const waited = clients.filter(({ localPort }) => !handled.some(({ remotePort }) => remotePort === localPort))
  const closed = Promise.all(waited.map((client) => once(client, 'close')))
  const closing = closeServer(server, 60_000)
  await clock.advance(200)
  await closed
  t.equal(handled.length, before, 'none is handed over to a server that ends')
  server.closeAllConnections()
  await closing
})
