// The connection of the NATS client, with a bound on what a broker may send before it has let the client in. Without the bound the client keeps a
// greeting that does not end, and looks at all of it again with each piece.

import type { Socket } from 'node:net'
import { type ConnectionOptions, type NatsConnection, NatsConnectionImpl, setTransportFactory } from '@nats-io/transport-node'
import { NodeTransport, nodeResolveHost } from '@nats-io/transport-node/lib/node_transport.js'

/** A greeting names the servers of a cluster, and is a few KiB long. */
const mostGreeting = 262_144

class BoundedTransport extends NodeTransport {
  #isLetIn = false

  /** Ends the bound. */
  letIn(): void {
    this.#isLetIn = true
  }

  override async dial(place: { hostname: string; port: number }): Promise<Socket> {
    const socket = await super.dial(place)
    this.#bound(socket)
    return socket
  }

  /** The client is done with the greeting, and has taken all listeners off. */
  override setupHandlers(): void {
    super.setupHandlers()
    this.#bound(this.socket)
  }

  #bound(socket: Socket): void {
    let bytes = 0
    const count = (piece: Uint8Array) => {
      bytes += piece.length
      if (this.#isLetIn) socket.off('data', count)
      else if (bytes > mostGreeting) socket.destroy(new Error('it sends more than a greeting'))
    }
    socket.on('data', count)
  }
}

/** Connects as the client's own `connect` does. */
export async function boundedConnect(options: ConnectionOptions): Promise<NatsConnection> {
  setTransportFactory({ factory: () => new BoundedTransport(), dnsResolveFn: nodeResolveHost })
  const connection = (await NatsConnectionImpl.connect(options)) as NatsConnectionImpl
  const { transport } = connection.protocol
  if (transport instanceof BoundedTransport) transport.letIn()
  return connection
}
