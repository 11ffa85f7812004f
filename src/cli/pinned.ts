// A connection to a service whose certificate is known by its fingerprint: nothing is said, no key either, to one that has another.

import { connect, type TLSSocket } from 'node:tls'
import { CliError } from './exit.ts'

/** SHA-256, in hexadecimal, as `benchd status` and make-cert.sh print it, or without the colons. */
const fingerprintPattern = /^([0-9a-f]{2}:?){32}$/i

/** Rejects with `usage` for what is no fingerprint, or no https, with `not_allowed` for another certificate, and with what the network says. */
export async function pinned(url: URL, fingerprint: string, wait_s: number): Promise<TLSSocket> {
  if (!fingerprintPattern.test(fingerprint))
    throw new CliError('usage', `${fingerprint} is no SHA-256 fingerprint: 32 pairs of 0-9 and A-F`)
  if (url.protocol !== 'https:') throw new CliError('usage', `${url.origin} has no certificate: a fingerprint wants https://`)
  const socket = await connected(url, wait_s)
  const { fingerprint256 } = socket.getPeerCertificate()
  if (plain(fingerprint256) === plain(fingerprint)) return socket
  socket.destroy()
  const sentence = `the certificate of ${url.origin} is ${fingerprint256}, not the one that was named: somebody may be in between; if it was renewed, name the new one`
  throw new CliError('not_allowed', sentence)
}

/** Connects whoever signed the certificate: the fingerprint alone counts. */
function connected({ hostname, port }: URL, wait_s: number): Promise<TLSSocket> {
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  const servername = /^[\d.]+$|:/.test(host) ? '' : host
  return new Promise((resolve, reject) => {
    const socket = connect({ host, port: Number(port || 443), servername, rejectUnauthorized: false }, () => {
      socket.setTimeout(0)
      resolve(socket)
    })
    socket.once('error', reject)
    if (wait_s > 0) socket.setTimeout(wait_s * 1000, () => socket.destroy(new Error(`no answer within ${wait_s} s`)))
  })
}

function plain(fingerprint: string): string {
  return fingerprint.replaceAll(':', '').toLowerCase()
}
