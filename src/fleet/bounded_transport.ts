// The connection of the NATS client, with bounds on the memory that a broker can make it use. Without them the client keeps a greeting that does not
// end, and scans all of it again with each piece. Later it keeps a line or a message of any length, and replies that the broker does not read.

import type { Socket } from 'node:net'
import { type ConnectionOptions, type NatsConnection, NatsConnectionImpl, setTransportFactory } from '@nats-io/transport-node'
import { NodeTransport, nodeResolveHost } from '@nats-io/transport-node/lib/node_transport.js'

/** Bytes of the largest message that is sent or accepted, with its headers, whatever the broker allows. */
export const largestMessage = 8 * 1024 * 1024
/** Bytes of a greeting. It names the servers of a cluster in a few KiB; every other line is shorter. The parser needs a microsecond a byte. */
const mostGreeting = 65_536
/** Bytes that the parser keeps: the broker adds headers to a requested message. */
const mostKept = largestMessage + 65_536
/** Frames that may wait for a broker to read them; a client normally has a few. */
const mostUntaken = 1000

type Parser = NatsConnectionImpl['protocol']['parser']

class BoundedTransport extends NodeTransport {
  #parser: Parser | undefined
  #untaken = 0

  /** Called when the broker has accepted the client: from now on the parser's buffer is bounded. */
  letIn(parser: Parser): void {
    this.#parser = parser
  }

  override async dial(place: { hostname: string; port: number }): Promise<Socket> {
    const socket = await super.dial(place)
    this.#bound(socket)
    return socket
  }

  /** Called after the greeting, when the client has removed all listeners. */
  override setupHandlers(): void {
    super.setupHandlers()
    this.#bound(this.socket)
  }

  /** Passes each piece to the parser. After a parser error the client would keep all further input, so the connection is ended. */
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
