// Servers that are no good broker: one that never stops sending before it has let the bench in, of which the bench takes little, and one that
// never answers.

import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { type Test, test } from 'tap'
import { fleetBench } from '../testing/fleet.ts'
import { connectTo } from './wire.ts'

const mib = 1024 * 1024
const info = `INFO {"server_id":"x","version":"2.10.0","proto":1,"max_payload":1048576,"headers":true,"jetstream":true}\r\n`

/** How the flood begins; it goes on without a line end. */
const beginnings: Record<string, string> = {
  'a greeting that does not end': 'INFO {"server_id":"',
  'what is no greeting': '',
  'a message that nobody asked for': `${info}MSG x 1 99999999\r\n`,
  'a second greeting that does not end': `${info}INFO {"server_id":"`,
}

for (const [what, beginning] of Object.entries(beginnings)) {
  test(`a broker that sends ${what} is left, and little of it is taken`, async (t) => {
    const { url, sent } = await flooding(t, beginning)
    await t.rejects(connectTo({ servers: [url], name: 'bench-1' }), {
      code: 'disconnected',
      message: /^the broker nats:\S+ sends more than a broker does before it lets a client in: see that it is the broker of the lab$/,
    })
    const bytes = await sent
    // The kernels of both sides hold some MiB.
    t.ok(bytes < 16 * mib, `${bytes} bytes were sent`)
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
  const piece = Buffer.alloc(65_536, 'x')
  let gone = (_bytes: number) => {}
  const sent = new Promise<number>((resolve) => (gone = resolve))
  const url = await listening(t, (socket) => {
    const flood = () => {
      while (!socket.destroyed && socket.write(piece)) {}
    }
    socket.on('drain', flood).once('close', () => gone(socket.bytesWritten - socket.writableLength))
    socket.write(beginning)
    flood()
  })
  return { url, sent }
}
