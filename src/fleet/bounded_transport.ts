// The connection of the NATS client, with bounds on what a broker may have the client keep. Without them the client keeps a greeting that does not
// end, and looks at all of it again with each piece; later it keeps a line or a message of any length, and answers to a broker that reads none.

import type { Socket } from 'node:net'
import { type ConnectionOptions, type NatsConnection, NatsConnectionImpl, setTransportFactory } from '@nats-io/transport-node'
import { NodeTransport, nodeResolveHost } from '@nats-io/transport-node/lib/node_transport.js'

/** Bytes of the largest message that is sent and taken, whatever the broker allows; its headers are among them. */
export const largestMessage = 8 * 1024 * 1024
/** A greeting names the servers of a cluster, and is a few KiB long; every other line is shorter. The parser takes a microsecond for each byte of it. */
const mostGreeting = 65_536
/** The broker adds headers of its own to a message that it was asked for. */
const mostKept = largestMessage + 65_536
/** Before a broker has taken what was sent, a client says no more than a few frames. */
const mostUntaken = 1000

type Parser = NatsConnectionImpl['protocol']['parser']

class BoundedTransport extends NodeTransport {
  #parser: Parser | undefined
  #untaken = 0

  /** The broker has let the client in: from now on it is bound by what the parser keeps. */
  letIn(parser: Parser): void {
    this.#parser = parser
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

  /** Hands each piece to the parser. Where that does not understand it, the client would keep all that comes afterwards. */
  override async *iterate(): AsyncGenerator<Uint8Array> {
    try {
      for await (const piece of super.iterate()) {
        if (this.socket.destroyed) return
        if (!this.socket.writableNeedDrain) this.#untaken = 0
        yield piece
        if ((this.#parser?.argBuf?.length ?? 0) > mostGreeting) this.#leave('a line without an end')
        if ((this.#parser?.msgBuf?.length ?? 0) > mostKept) this.#leave('a message that is too large')
      }
    } finally {
      this.#leave('what no broker says')
    }
  }

  override send(frame: Uint8Array): void {
    if (++this.#untaken > mostUntaken) this.#leave('more questions than a client can answer')
    else super.send(frame)
  }

  #bound(socket: Socket): void {
    let bytes = 0
    const count = (piece: Uint8Array) => {
      bytes += piece.length
      if (this.#parser) socket.off('data', count)
      else if (bytes > mostGreeting) this.#leave('more than a broker does before it lets a client in', socket)
    }
    socket.on('data', count)
  }

  /** Does nothing where the connection has ended. */
  #leave(what: string, socket = this.socket): void {
    socket.destroy(new Error(`it sends ${what}`))
  }
}

/** Connects as the client's own `connect` does. */
export async function boundedConnect(options: ConnectionOptions): Promise<NatsConnection> {
  setTransportFactory({ factory: () => new BoundedTransport(), dnsResolveFn: nodeResolveHost })
  const connection = (await NatsConnectionImpl.connect(options)) as NatsConnectionImpl
  const { transport } = connection.protocol
  if (transport instanceof BoundedTransport) transport.letIn(connection.protocol.parser)
  return connection
}
