// Free TCP ports of this computer.

import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

const again_ms = 20

/** Returns a free port of the loopback interface, which another program may still take first. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Resolves when a program accepts connections at the port, or when the signal is aborted. */
export async function answering(port: number, given_up?: AbortSignal): Promise<void> {
  while (!given_up?.aborted) {
    const socket = connect(port, '127.0.0.1')
    const isThere = await new Promise<boolean>((resolve) => socket.once('connect', () => resolve(true)).once('error', () => resolve(false)))
    socket.destroy()
    if (isThere) return
    await sleep(again_ms)
  }
}
