// `benchd ports`: lists serial ports, and with --identify finds the port of a cable.

import { setTimeout as sleep } from 'node:timers/promises'
import { ask, serviceOf, serviceOptions } from './client.ts'
import { command } from './command.ts'
import { CliError } from './exit.ts'
import { print, table } from './table.ts'
import { note } from './terminal.ts'

type Port = import('../../drivers/transports/ports.ts').SerialPort & { device_id: string | null }
type Look = () => Promise<Port[]>

const lookEveryMs = 250
/** The delay until udev has given a new port its lasting name. */
const settle_ms = 500

const ports = command({
  name: 'ports',
  summary: 'List the serial ports and the adapters at them; with --identify, find a port by unplugging its adapter',
  options: {
    identify: { type: 'boolean', help: 'Wait until an adapter is unplugged or plugged in, and name its port' },
    here: { type: 'boolean', help: 'List the ports of this computer without a service' },
    root: { type: 'string', value: 'DIR', help: 'Folder that holds dev and sys in place of /, for --here' },
    ...serviceOptions,
  },
  example: 'benchd ports --identify',
  async run({ options }) {
    const look = options.here || options.root ? lookHere(options.root) : lookThere(serviceOf(options))
    if (options.identify) return identified(look, options.json ? (port) => print(JSON.stringify(port)) : (port) => print(described(port)))
    const found = await look()
    print(options.json ? JSON.stringify({ ports: found }) : found.length ? await listed(found) : 'no serial port is there')
    return 0
  },
})

export const commands = [ports]

function lookHere(root = ''): Look {
  return async () => {
    const { serialPorts } = await import('../../drivers/transports/ports.ts')
    return (await serialPorts({ dev: `${root}/dev`, sys: `${root}/sys/class/tty` })).map((port) => ({ ...port, device_id: null }))
  }
}

function lookThere(service: ReturnType<typeof serviceOf>): Look {
  return async () => {
    try {
      return (await ask<{ ports: Port[] }>(service, 'GET', '/api/system/ports')).ports
    } catch (error) {
      if (error instanceof CliError && error.exit === 'unreachable')
        throw new CliError('unreachable', `${error.message}; without a service: benchd ports --here`)
      throw error
    }
  }
}

/** Waits for a change, and reports its port. */
async function identified(look: Look, tell: (port: Port) => void): Promise<number> {
  const before = await look()
  note(`${before.length} ports; unplug the one in question now, or plug it in`)
  const { gone, come } = await changed(look, before)
  if (gone) note(`${nameOf(gone)} is gone; plug it in again`)
  const back =
    come ??
    (
      await changed(
        look,
        before.filter((port) => port !== gone),
      )
    ).come
  if (back) tell(back)
  return back ? 0 : 1
}

type PortChange = { gone: Port | undefined; come: Port | undefined }

/** Resolves with the first port that was plugged or unplugged, when its names are complete. */
async function changed(look: Look, before: readonly Port[]): Promise<PortChange> {
  for (;;) {
    if (isChange(difference(before, await look()))) {
      await sleep(settle_ms)
      const settled = difference(before, await look())
      if (isChange(settled)) return settled
    }
    await sleep(lookEveryMs)
  }
}

function difference(before: readonly Port[], now: readonly Port[]): PortChange {
  const without = (these: readonly Port[], those: readonly Port[]) => these.find(({ path }) => !those.some((other) => other.path === path))
  return { gone: without(before, now), come: without(now, before) }
}

function isChange({ gone, come }: PortChange): boolean {
  return gone !== undefined || come !== undefined
}

function nameOf({ by_id, path }: Port): string {
  return by_id ?? path
}

function described(port: Port): string {
  const { path, by_id, device_id, product } = port
  const what = product ? `, ${product}` : ''
  const whose = device_id ? `; ${device_id} is on it` : ''
  return by_id ? `it is ${by_id} (${path}${what})${whose}` : `it is ${path}${what}${whose}; it has no lasting name of its own`
}

async function listed(found: readonly Port[]): Promise<string> {
  const rows = found.map(({ path, by_id, vendor_id, product_id, manufacturer, product, device_id }) => [
    path,
    device_id ?? '-',
    vendor_id ? `${vendor_id}:${product_id}` : '-',
    [manufacturer, product].filter(Boolean).join(' ') || '-',
    by_id ?? '-',
  ])
  const twins = await twinsIn(found)
  return [table(['PORT', 'DEVICE', 'USB', 'WHAT', 'LASTING NAME'], rows), ...(twins.length ? ['', ...twins] : [])].join('\n')
}

/** Returns a sentence for each pair of USB ports that can be confused. */
async function twinsIn(found: readonly Port[]): Promise<string[]> {
  const { areOnOneAdapter, isTwin } = await import('../../drivers/transports/ports.ts')
  return found.flatMap((one, i) =>
    found.slice(i + 1).flatMap((other) => {
      if (one.vendor_id === null || !isTwin(one, other)) return []
      const both = `${one.path} and ${other.path}`
      if (areOnOneAdapter(one, other)) return [`${both} are two ports of one adapter`]
      const name = one.by_path ?? other.by_path ?? '/dev/serial/by-path/...'
      return [`${both} are adapters that say the same of themselves; name each by its socket, e.g. ${name}`]
    }),
  )
}
