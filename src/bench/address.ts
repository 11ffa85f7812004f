// The address at which others reach the bench.

import { hostname } from 'node:os'
import type { Config } from '../config.ts'

const everywhere = ['0.0.0.0', '::']
const hereOnly = /^(127\.|::1$|localhost$)/

/** Returns the address that the configuration names; else that of this computer as its certificate has it. */
export function addressOf({ fleet, listen: { host, port, tls } }: Config): string {
  const name = everywhere.includes(host) ? `${hostname()}.local` : host.includes(':') ? `[${host}]` : host
  return fleet?.url ?? `${tls ? 'https' : 'http'}://${name}:${port}`
}

/** Returns the address of the page for links in messages; undefined if other computers cannot open it, or the port is chosen at each start. */
export function pageOf(config: Config): string | undefined {
  const { host, port } = config.listen
  if (!config.fleet?.url && (hereOnly.test(host) || port === 0)) return undefined
  return `${addressOf(config).replace(/\/$/, '')}/`
}
