// Converts `--port` of a device to the transport in the configuration.

import { CliError } from '../exit.ts'

type Transport = { kind: string; path?: string; host?: string; port?: number }

/** Throws a usage error for an invalid address. Without a TCP port, that of the driver is meant. */
export function transportOf(port: string): Transport {
  if (port === 'simulated' || port === 'pins') return { kind: port }
  if (!port.startsWith('tcp:')) return { kind: 'serial', path: port }
  const [, host, number] =
    /^tcp:\/\/\[?([^/[\]]+?)\]?:(\d{1,5})$/.exec(port) ?? /^tcp:\/\/\[?([^/[\]:]+|(?<=\[)[^/[\]]+)\]?$/.exec(port) ?? []
  if (host === undefined)
    throw new CliError('usage', `--port ${port} is not tcp://HOST:PORT, or tcp://HOST for an instrument on the network`)
  return { kind: 'tcp', host, ...(number !== undefined && { port: Number(number) }) }
}
