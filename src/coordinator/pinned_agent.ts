// TLS connections to a bench whose certificate is pinned by its fingerprint. Nothing, not even a key, is sent to a server with another certificate.

import { Agent } from 'node:https'
import type { Duplex } from 'node:stream'
import { type ConnectionOptions, connect } from 'node:tls'

/** Without a fingerprint the certificate must be one that this computer trusts. */
export function pinnedAgent(fingerprint: string | undefined): Agent {
  const options = { keepAlive: true, maxSockets: 8 }
  return fingerprint === undefined ? new Agent(options) : new PinnedAgent(plain(fingerprint), options)
}

const handshake_ms = 10_000

class PinnedAgent extends Agent {
  readonly #wanted: string

  constructor(wanted: string, options: ConstructorParameters<typeof Agent>[0]) {
    super(options)
    this.#wanted = wanted
  }

  override createConnection(options: ConnectionOptions, done: (error: Error | null, socket: Duplex) => void): undefined {
    const socket = connect({ ...options, rejectUnauthorized: false })
    const failed = (error: Error) => done(error, socket)
    socket.once('error', failed)
    socket.setTimeout(handshake_ms, () => socket.destroy(new Error('it does not finish the TLS handshake')))
    socket.once('secureConnect', () => {
      socket.off('error', failed)
      socket.setTimeout(0)
      const { fingerprint256 = '' } = socket.getPeerCertificate()
      if (plain(fingerprint256) === this.#wanted) return done(null, socket)
      socket.destroy()
      failed(new Error(`its certificate is ${fingerprint256}, not the one that was named: somebody may be in between`))
    })
  }
}

function plain(fingerprint: string): string {
  return fingerprint.replaceAll(':', '').toLowerCase()
}
