// Servers that are no good broker: one that never stops sending, before or after it has let the bench in, of which the bench takes little, and
// one that never answers.

import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { type Test, test } from 'tap'
import { fleetBench } from '../testing/fleet.ts'
import { connectTo } from './wire.ts'

const mib = 1024 * 1024
const info = `INFO {"server_id":"x","version":"2.10.0","proto":1,"max_payload":1048576,"headers":true,"jetstream":true}\r\n`

const beforeItIsIn = 'more than a broker does before it lets a client in'
/** How the flood begins, which goes on without a line end, and what the bench says of it. */
const beginnings: Record<string, [beginning: string, words: string]> = {
  'a greeting that does not end': ['INFO {"server_id":"', beforeItIsIn],
  'what is no greeting': ['', beforeItIsIn],
  'a message that nobody asked for': [`${info}MSG x 1 99999999\r\n`, 'what no broker says'],
  'a second greeting that does not end': [`${info}INFO {"server_id":"`, beforeItIsIn],
}

for (const [what, [beginning, words]] of Object.entries(beginnings)) {
  test(`a broker that sends ${what} is left, and little of it is taken`, async (t) => {
    const { url, sent } = await flooding(t, beginning)
    const message = `the broker ${url} sends ${words}: see that it is the broker of the lab`
    await t.rejects(connectTo({ servers: [url], name: 'bench-1' }), { code: 'disconnected', message })
    const bytes = await sent
    // The kernels of both sides hold some MiB.
    t.ok(bytes < 16 * mib, `${bytes} bytes were sent`)
  })
}

/** Floods of a broker that has let the bench in: the beginning, the piece that comes again and again, and the words of the bench about it. */
const later: Record<string, [beginning: string, piece: string, words: string]> = {
  'a message of 60 MB': ['MSG x 1 60000000\r\n', 'x', 'a message that is too large'],
  'a line without an end': ["-ERR '", 'x', 'a line without an end'],
  'many questions at a time': ['', 'PING\r\n', 'more questions than a client can answer'],
  nonsense: ['', '\0', 'what no broker says'],
}

for (const [what, [beginning, piece, words]] of Object.entries(later)) {
  test(`a broker that lets the bench in and then sends ${what} is left, and little of it is taken`, async (t) => {
    let gone = (_bytes: number) => {}
    const sent = new Promise<number>((resolve) => (gone = resolve))
    const url = await listening(t, (socket) => {
      socket.write(info)
      let said = ''
      socket.setEncoding('utf8').on('data', (text: string) => {
        said += text
        if (!said.includes('PING')) return
        socket.removeAllListeners('data').pause().write(`PONG\r\n${beginning}`)
        flood(socket, piece, gone)
      })
    })
    const link = await connectTo({ servers: [url], name: 'bench-1' })
    t.equal(await link.closed, `the broker ${url} sends ${words}: see that it is the broker of the lab`)
    const bytes = await sent
    t.ok(bytes < 48 * mib, `${bytes} bytes were sent`)
  })
}

test('a broker that lets the bench in and then answers no question is away', async (t) => {
  let asked = () => {}
  const isAsked = new Promise<void>((resolve) => (asked = resolve))
  const url = await listening(t, (socket) => {
    socket.write(info)
    socket.setEncoding('utf8').on('data', (text: string) => {
      if (text.includes('PING')) socket.write('PONG\r\n')
      if (text.includes('$JS.API')) asked()
    })
  })
  const { fleet } = await fleetBench(t, t.testdir({}), url)
  await isAsked
  t.match(fleet.status(), { state: 'away', failure: 'the broker was not reached yet', waiting: null })
})

async function listening(t: Test, speak: (socket: Socket) => unknown): Promise<string> {
  const server = createServer((socket) => {
    t.teardown(() => socket.destroy())
    speak(socket.on('error', () => undefined))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return `nats://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** `sent` resolves with the bytes that the first client has taken, when it is gone. */
async function flooding(t: Test, beginning: string): Promise<{ url: string; sent: Promise<number> }> {
  let gone = (_bytes: number) => {}
  const sent = new Promise<number>((resolve) => (gone = resolve))
  const url = await listening(t, (socket) => {
    socket.write(beginning)
    flood(socket, 'x', gone)
  })
  return { url, sent }
}

/** Sends the piece again and again until the client is gone, and calls with the bytes that it has taken. */
function flood(socket: Socket, piece: string, gone: (bytes: number) => void): void {
  const pieces = Buffer.from(piece.repeat(65_536 / piece.length))
  const send = () => {
    while (!socket.destroyed && socket.write(pieces)) {}
  }
  socket.on('drain', send).once('close', () => gone(socket.bytesWritten - socket.writableLength))
  send()
}
