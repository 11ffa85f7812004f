// For tests: a serial-to-network box, such as ser2net or Moxa, with its possible faults.

import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'

/**
 * `refuse`: connections are refused. `half_open`: the box is gone, but connections seem to be open. `slow`: every byte is delayed, in both directions.
 * The method `reset` breaks present connections once.
 */
export type BoxFault = 'refuse' | 'half_open' | 'slow'

export type Box = {
  readonly port: number
  /** The number of connections so far. */
  readonly connections: number
  /** Sends bytes from the instrument to the connection; from a serial line, to all connections. */
  send(bytes: Uint8Array, connection?: number): void
  setFault(fault: BoxFault): Promise<void>
  /** Resets half-open connections, as a restarted box does. */
  mend(): Promise<void>
  reset(): void
  close(): Promise<void>
}

const slow_ms = 150

/** Opens a box, or an instrument on the network that tells `most` connections apart. `hear` receives the bytes for the instrument. */
export async function openBox(hear: (bytes: Uint8Array, connection: number) => void, most = 1): Promise<Box> {
  /** The number of each connection; all of a box that has one serial line are number 0. */
  const sockets = new Map<Socket, number>()
  let fault: BoxFault | undefined
  let connections = 0
  /** Passes bytes on, subject to the present fault. */
  const pass = (on: (bytes: Uint8Array) => void, bytes: Uint8Array) => {
    if (fault === 'slow') setTimeout(on, slow_ms, bytes)
    else if (fault !== 'half_open') on(bytes)
  }
  const server = createServer((socket) => {
    const connection = most === 1 ? 0 : connections
    connections++
    sockets.set(socket, connection)
    socket.setNoDelay(true)
    socket.on('data', (bytes) => pass((its) => hear(its, connection), bytes))
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
  })
  const listen = async (port: number) => {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
  }
  const reset = () => {
    for (const socket of sockets.keys()) socket.resetAndDestroy()
    sockets.clear()
  }
  const switchOff = async () => {
    if (!server.listening) return
    const closed = once(server, 'close')
    server.close()
    reset()
    await closed
  }
  await listen(0)
  const { port } = server.address() as AddressInfo
  return {
    port,
    get connections() {
      return connections
    },
    send: (bytes, connection = 0) =>
      pass((its) => {
        for (const [socket, number] of sockets) if (number === connection) socket.write(its)
      }, bytes),
    async setFault(its) {
      fault = its
      if (its === 'refuse') await switchOff()
    },
    async mend() {
      if (fault === 'half_open') reset()
      fault = undefined
      if (!server.listening) await listen(port)
    },
    reset,
    close: switchOff,
  }
}
