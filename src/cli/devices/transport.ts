// Converts `--port` of a device to the transport in the configuration.

import { CliError } from '../exit.ts'

type Transport = { kind: string; path?: string; host?: string; port?: number }

/** Throws a usage error for an invalid address. */
export function transportOf(port: string): Transport {
  if (port === 'simulated' || port === 'pins') return { kind: port }
  if (!port.startsWith('tcp:')) return { kind: 'serial', path: port }
  const [, host, number] = /^tcp:\/\/\[?([^/[\]]+?)\]?:(\d{1,5})$/.exec(port) ?? []
  if (host === undefined) throw new CliError('usage', `--port ${port} is not tcp://HOST:PORT`)
  return { kind: 'tcp', host, port: Number(number) }
}
