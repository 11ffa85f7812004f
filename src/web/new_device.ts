// The device that the screen *Add a device* describes: as the service takes it, and as a command at a shell.

export type Transport = { kind: 'serial'; path: string } | { kind: 'tcp'; host: string; port?: number } | { kind: 'simulated' }

export type NewDevice = {
  device_id: string
  driver: string
  name?: string
  transport?: Transport
  settings?: { model: string }
}

/** Returns a free id such as `shaker-2`. */
export function freeId(type: string, taken: readonly string[]): string {
  for (let place = 1; ; place++) {
    const id = `${type.replaceAll('_', '-')}-${place}`
    if (!taken.includes(id)) return id
  }
}

/** Parses `HOST:PORT`; undefined for any other text. */
export function boxAt(address: string): Transport | undefined {
  const [, host, port] = /^(?:tcp:\/\/)?\[?([^\s/[\]]+?)\]?:(\d{1,5})$/.exec(address.trim()) ?? []
  return host === undefined ? undefined : { kind: 'tcp', host, port: Number(port) }
}

/** Parses `HOST` or `HOST:PORT` of an instrument whose driver knows its port; undefined for any other text. */
export function instrumentAt(address: string): Transport | undefined {
  const host = /^(?:tcp:\/\/)?(?:\[([^\s/[\]]+)\]|([^\s/[\]:]+))$/.exec(address.trim())
  return host ? { kind: 'tcp', host: host[1] ?? host[2]! } : boxAt(address)
}

/** Returns the command that adds the device at a shell; `benchd` is how the program is called there. */
export function commandFor({ device_id, driver, name, transport, settings }: NewDevice, benchd: string): string {
  const words = [
    ...(benchd === 'benchd' ? ['sudo'] : []),
    ...[benchd, 'devices', 'add', quoted(device_id), '--driver', driver],
    ...(transport ? ['--port', quoted(portOf(transport))] : []),
    ...(name ? ['--name', quoted(name)] : []),
    ...(settings ? ['--set', quoted(`model=${JSON.stringify(settings.model)}`)] : []),
  ]
  return words.join(' ')
}

function portOf(transport: Transport): string {
  if (transport.kind === 'simulated') return 'simulated'
  if (transport.kind === 'serial') return transport.path
  const { host, port } = transport
  return `tcp://${host.includes(':') ? `[${host}]` : host}${port === undefined ? '' : `:${port}`}`
}

/** Quotes a word for a shell where that is needed. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
