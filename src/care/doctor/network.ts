// The reachability of the service: its addresses, port, certificate, and name on the network.

import { X509Certificate } from 'node:crypto'
import { createServer } from 'node:net'
import { networkInterfaces } from 'node:os'
import { readTls } from '../../config/tls.ts'
import { messageOf } from '../../errors.ts'
import { type Finding, finder } from './finding.ts'
import type { Patient } from './patient.ts'

export async function network({ config, service, is_this }: Patient): Promise<Finding[]> {
  const { ok, warn, fail } = finder('network')
  if (!config) return []
  const { host, port, tls } = config.listen
  const scheme = tls ? 'https' : 'http'
  const why = service.is === 'absent' && is_this && port !== 0 ? await whyClosed(host, port) : undefined
  if (why === 'EADDRINUSE') {
    return [
      fail(`another program has port ${port}`, `sudo ss -ltnp 'sport = :${port}' names it; end it, or choose another port in listen.port`),
    ]
  }
  if (why === 'EADDRNOTAVAIL' || why === 'ENOTFOUND') {
    return [
      fail(
        `this computer has no address ${host}`,
        'see which it has: ip addr; then: benchd config set listen.host ADDRESS, or 0.0.0.0 for all',
      ),
    ]
  }
  if (['127.0.0.1', '::1', 'localhost'].includes(host)) return [ok(`only this computer reaches it: ${scheme}://${host}:${port}`)]
  if (!is_this && (host === '0.0.0.0' || host === '::')) return [ok(`${scheme} on port ${port}, at each address that it has`)]
  const here = host === '0.0.0.0' || host === '::' ? addresses() : [host]
  if (here.length) return [ok(here.map((address) => `${scheme}://${address.includes(':') ? `[${address}]` : address}:${port}`).join('  '))]
  return [warn('this computer has no address on any network', 'see its cable or its wireless network: ip addr')]
}

/** Lists the addresses that other computers can use. */
function addresses(): string[] {
  const all = Object.values(networkInterfaces()).flatMap((list) => list ?? [])
  return all.filter(({ internal, address }) => !internal && !address.startsWith('fe80:')).map(({ address }) => address)
}

/** Returns the error code of opening the port; undefined if it can be opened. */
function whyClosed(host: string, port: number): Promise<string | undefined> {
  const server = createServer()
  return new Promise((resolve) => {
    server.once('error', ({ code }: NodeJS.ErrnoException) => resolve(code))
    server.listen(port, host, () => server.close(() => resolve(undefined)))
  })
}

const day_ms = 86_400_000
const soon_days = 30

export async function certificate({ config, files, installation }: Patient, now = Date.now()): Promise<Finding[]> {
  const { ok, warn, fail, skip } = finder('tls')
  if (!config) return []
  const { tls } = config.listen
  if (!tls)
    return [
      skip(
        'it is off: who listens on the network can read the keys',
        `${installation.makeCert()} makes a certificate; name it in listen.tls`,
      ),
    ]
  const fix = `make a new one: ${installation.makeCert(tls)}, then: benchd config reload`
  try {
    const { valid_to, cert } = await readTls({ cert: files.at(tls.cert), key: files.at(tls.key) })
    const days = Math.floor((Date.parse(valid_to) - now) / day_ms)
    if (days < 0) return [fail(`the certificate ended on ${valid_to}`, fix)]
    const { validFrom, ca } = new X509Certificate(cert)
    const begins = Date.parse(validFrom)
    if (begins > now) return [warn(`the certificate begins on ${new Date(begins).toISOString()} only`, 'see the clock of this computer')]
    // The first versions of make-cert.sh made such certificates.
    if (ca) return [warn('the certificate may sign others: whoever trusts it trusts its key for every name there is', fix)]
    const words = `the certificate is good for ${days} days more`
    return [days < soon_days ? warn(words, fix) : ok(words)]
  } catch (error) {
    if (messageOf(error).includes('EACCES')) return [skip('the key of the certificate cannot be read by you', 'sudo benchd doctor')]
    return [fail(messageOf(error), fix)]
  }
}

/** The bench's name on the network, as `benchd.avahi.xml` gives it. */
export async function avahi({ files, config }: Patient): Promise<Finding> {
  const { ok, warn, skip } = finder('avahi')
  const text = await files.text('/etc/avahi/services/benchd.service')
  if (text === undefined) return skip('the bench is not announced on the network by name; its address works all the same')
  if (!(await files.has('/run/avahi-daemon/pid')))
    return warn('avahi-daemon does not run', 'sudo apt install avahi-daemon; sudo systemctl start avahi-daemon')
  if (!config) return ok('it announces the bench by name')
  const { port, tls } = config.listen
  const announced = { port: /<port>(\d+)<\/port>/.exec(text)?.[1], tls: /tls=(\d)/.exec(text)?.[1] }
  const wanted = { port: String(port), tls: tls ? '1' : '0' }
  if (announced.port === wanted.port && announced.tls === wanted.tls) return ok(`it announces the bench by name, on port ${port}`)
  return warn(
    `it announces port ${announced.port} and tls=${announced.tls}, and the configuration has ${wanted.port} and tls=${wanted.tls}`,
    'change /etc/avahi/services/benchd.service; it is taken up at once',
  )
}
