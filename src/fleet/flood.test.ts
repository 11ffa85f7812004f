// A broker that never stops sending before it has let the bench in: the bench takes a greeting's worth of it, and says so.

import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { type Test, test } from 'tap'
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

/** `sent` resolves with the bytes that the first client has taken, when it is gone. */
async function flooding(t: Test, beginning: string): Promise<{ url: string; sent: Promise<number> }> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const piece = Buffer.alloc(65_536, 'x')
  const sent = once(server, 'connection').then(async ([socket]: Socket[]) => {
    const flood = () => {
      while (!socket!.destroyed && socket!.write(piece)) {}
    }
    socket!.on('error', () => undefined).on('drain', flood)
    socket!.write(beginning)
    flood()
    await new Promise((resolve) => socket!.once('close', resolve))
    return socket!.bytesWritten - socket!.writableLength
  })
  return { url: `nats://127.0.0.1:${(server.address() as AddressInfo).port}`, sent }
}
