// Ports of this computer for programs that need the number of one.

import { once } from 'node:events'
import { type AddressInfo, connect, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

const again_ms = 20

/** Returns a port of the loopback interface that nobody uses now. Another program can take it before its user does. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** Resolves once a program takes connections at the port, or when the signal is aborted. */
export async function answering(port: number, given_up?: AbortSignal): Promise<void> {
  while (!given_up?.aborted) {
    const socket = connect(port, '127.0.0.1')
    const isThere = await new Promise<boolean>((resolve) => socket.once('connect', () => resolve(true)).once('error', () => resolve(false)))
    socket.destroy()
    if (isThere) return
    await sleep(again_ms)
  }
}
