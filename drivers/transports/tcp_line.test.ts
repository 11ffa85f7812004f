import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import { type Test, test } from 'tap'
import { VirtualClock } from '../../src/kit/clock.ts'
import { openBox } from '../../src/testing/drivers/box.ts'
import { boxWords, tcpLine } from './tcp_line.ts'

const serial = { baud: 9600 }

/** A box, and an open line to it; `heard` is all that came through. */
async function connected(t: Test) {
  let heard = ''
  let wake = () => {}
  const box = await openBox((bytes) => {
    heard += Buffer.from(bytes).toString()
    wake()
  })
  const clock = new VirtualClock()
  const line = tcpLine({ host: '127.0.0.1', port: box.port, serial, clock })
  t.teardown(async () => {
    await line.close()
    await box.close()
  })
  await line.open()
  /** Resolves when the box has heard so much. */
  const hears = async (text: string) => {
    while (!heard.includes(text)) await new Promise<void>((resolve) => (wake = resolve))
    return heard
  }
  const lost = () => new Promise<string>((resolve) => line.onLost(resolve))
  return { box, line, clock, hears, lost }
}

test('bytes go both ways, are seen, and a speed that is the box’s can only be confirmed', async (t) => {
  const { box, line, hears, clock } = await connected(t)
  const seen: string[] = []
  line.onWire((direction, bytes) => seen.push(`${direction} ${Buffer.from(bytes)}`))
  const answer = new Promise<string>((resolve) => line.onBytes((bytes) => resolve(Buffer.from(bytes).toString())))
  line.write(Buffer.from('hello'))
  t.equal(await hears('hello'), 'hello')
  t.equal(clock.timers, 1, 'an answer is expected')
  box.send(Buffer.from('hi'))
  t.equal(await answer, 'hi')
  t.equal(clock.timers, 0)
  t.same(seen, ['to_device hello', 'to_host hi'])
  await line.setBaud(9600)
  await t.rejects(line.setBaud(19_200), { code: 'device_failed', message: /cannot be set to 19200 baud: the speed is the box's/ })
  t.equal(await line.setModem({ dtr: true }), false)
  await line.close()
  t.equal(line.state, 'closed')
  t.throws(() => line.write(Buffer.from('x')), { code: 'disconnected' })
})

test('a box that refuses, or is not known, is told with what to do, and taken when it is there again', async (t) => {
  const { box, line, lost, hears } = await connected(t)
  const gone = lost()
  await box.setFault('refuse')
  t.match(await gone, /^127\.0\.0\.1:\d+ was disconnected/)
  t.equal(line.state, 'lost')
  await t.rejects(line.open(), {
    code: 'disconnected',
    message: /refuses the connection; see its port, and that no other program is connected/,
  })
  t.throws(() => line.write(Buffer.from('never')), { code: 'disconnected' })
  await box.mend()
  await line.open()
  line.write(Buffer.from('again'))
  t.equal(await hears('again'), 'again', 'and nothing that was written before is delivered')
  const nobody = tcpLine({ host: 'no-such-box.invalid', port: 1, serial })
  await t.rejects(nobody.open(), { code: 'disconnected', message: /no-such-box\.invalid:1 (is not known|cannot be looked up)/ })
})

test('a connection that is reset, or closed by the box, is lost at once', async (t) => {
  const { box, line, lost } = await connected(t)
  const gone = lost()
  box.reset()
  t.match(await gone, /was disconnected/)
  await line.open()
  t.equal(line.state, 'open')
})

test('a box that refuses a further client is told as in use, with what it says, and the line is open again when the box has let it in', async (t) => {
  let greeting: string | undefined = 'Port already in use\r\n'
  const accepted: Socket[] = []
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    if (greeting === undefined) accepted.push(socket)
    else socket.end(greeting)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const clock = new VirtualClock()
  const { port } = server.address() as AddressInfo
  const line = tcpLine({ host: '127.0.0.1', port, serial, clock })
  t.teardown(async () => {
    await line.close()
    for (const socket of accepted) socket.destroy()
    server.close()
  })
  const closed = new Promise<string>((resolve) => line.onLost(resolve))
  await line.open()
  t.match(
    await closed,
    /^127\.0\.0\.1:\d+ was disconnected \(the box is in use by another client: it closed the connection at once and said "Port already in use"/,
  )
  const message = `127.0.0.1:${port} is in use by another client: it closed the connection at once and said "Port already in use"; end the other program`
  for (let tries = 0; tries < 2; tries++) await t.rejects(line.open(), { code: 'disconnected', message })
  t.equal(line.state, 'lost', 'it is never taken for open')
  greeting = 'Device open failure: Value or file not found\r\n'
  await t.rejects(line.open(), {
    message: /closed the connection at once and said "Device open failure.*; see that .*its serial port is there/,
  })
  greeting = undefined
  const opening = line.open()
  while (!accepted.length) await setImmediate()
  while (line.state !== 'open') {
    await setImmediate()
    await clock.advance(100)
  }
  await opening
  await line.close()
  await line.open()
  t.equal(line.state, 'open', 'the next time it is open at once')
})

test('a connection is lost when nothing came over it for 40 s after something was written, and not while nobody asks', async (t) => {
  const { box, line, lost, clock, hears } = await connected(t)
  await clock.advance(3600_000)
  t.equal(line.state, 'open')
  await box.setFault('half_open')
  const gone = lost()
  line.write(Buffer.from('one'))
  await clock.advance(30_000)
  line.write(Buffer.from('two'))
  await clock.advance(9000)
  t.equal(line.state, 'open')
  await clock.advance(2000)
  t.match(await gone, /nothing came for 40 s/)
  await box.mend()
  await line.open()
  line.write(Buffer.from('three'))
  t.equal(await hears('three'), 'three')
})

test('bytes that the socket does not take at once are told as not sent, and never arrive', async (t) => {
  const sockets: Socket[] = []
  const server = createServer((socket) => sockets.push(socket.on('error', () => undefined).pause()))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const line = tcpLine({ host: '127.0.0.1', port: (server.address() as AddressInfo).port, serial })
  await line.open()
  const gone = new Promise<string>((resolve) => line.onLost(resolve))
  const fill = () => {
    for (;;) line.write(Buffer.alloc(1024 * 1024, 'x'))
  }
  t.throws(fill, { code: 'disconnected', message: /took no more bytes; see that the box is switched on/ })
  t.match(await gone, /took no more bytes/)
  t.equal(line.state, 'lost')
  t.throws(() => line.write(Buffer.from('stop')), { code: 'disconnected' })
  for (const socket of sockets) socket.destroy()
})

test('a line that is closed while it is being connected is closed', async (t) => {
  const { box } = await connected(t)
  const line = tcpLine({ host: '127.0.0.1', port: box.port, serial })
  const opening = line.open()
  await Promise.all([t.rejects(opening, { code: 'disconnected', message: /closed while it was being opened/ }), line.close()])
  t.equal(line.state, 'closed')
})

test('what the box must be set to is said in words', (t) => {
  const at = { host: 'box', port: 4001 }
  t.equal(
    boxWords(at, { baud: 9600 }),
    'the box at box:4001 must have raw TCP, 9600 baud, 8 data bits, no parity, 1 stop bit and no flow control',
  )
  t.match(boxWords(at, { baud: 9600, data_bits: 7, parity: 'even', stop_bits: 2 }), /7 data bits, even parity, 2 stop bits/)
  t.end()
})
