// `benchd devices add|set|remove`: the devices of the configuration file, whose comments stay.

import type { LineTransport } from '../../../drivers/attach.ts'
import type { Told } from '../../care/identity.ts'
import { devicesIn, withDevice } from '../../config/new_device.ts'
import type { Config } from '../../config.ts'
import type { Identity } from '../../devices/device.ts'
import { messageOf } from '../../errors.ts'
import { readText } from '../../kit/files.ts'
import { withoutValue, withValue } from '../../kit/json_edit.ts'
import { command, type OptionValues } from '../command.ts'
import { again, checked, literal, withDeep, written } from '../config_file.ts'
import { CliError } from '../exit.ts'
import { type LocalService, serviceOn } from '../local_service.ts'
import { configPath, dataDir } from '../places.ts'
import { print } from '../table.ts'
import { nextForPerson } from './person.ts'
import { transportOf } from './transport.ts'

const fileOptions = {
  config: { type: 'string', value: 'FILE', help: 'Configuration; default /etc/benchd/config.json' },
  'data-dir': { type: 'string', value: 'DIR', help: 'Data folder of the service that loads the change' },
} as const

const deviceOptions = {
  driver: { type: 'string', value: 'DRIVER', help: 'Driver: bioshake, a4s, … person or external' },
  port: {
    type: 'string',
    value: 'PORT',
    help: 'Path below /dev/serial/by-id, or tcp://HOST:PORT (tcp://HOST for the port of the driver), simulated, pins',
  },
  name: { type: 'string', value: 'NAME', help: 'Display name' },
  set: { type: 'string', value: 'KEY=VALUE', multiple: true, help: 'Setting of the driver, such as model="3000-T elm" or pins.lid.bcm=27' },
} as const

const add = command({
  name: 'devices add',
  summary: 'Add a device to the configuration and record its identity',
  operands: ['ID'],
  options: { ...deviceOptions, 'no-ask': { type: 'boolean', help: 'Do not ask the instrument for its identity' }, ...fileOptions },
  example: 'sudo benchd devices add shaker-1 --driver bioshake --port /dev/serial/by-id/usb-FTDI_A50285BI-if00-port0',
  run: again(async ({ options, operands: [id = ''] }) => {
    const { driver, port, name } = options
    if (!driver) throw new CliError('usage', 'benchd devices add wants --driver, and for a device that is driven from here --port')
    mustBeNamed(name)
    const file = await opened(options)
    if (file.devices.some(({ device_id }) => device_id === id)) {
      throw new CliError('busy', `${file.path} has a device ${id} already; to change it: benchd devices set ${id}`)
    }
    const device = { device_id: id, driver, ...(name !== undefined && { name }), ...(port && { transport: transportOf(port) }) }
    const at = ['devices', file.devices.length]
    const plain = settings(withDevice(file.text, device), at, options.set)
    const config = await checked(plain, file.path)
    mustBeLoaded(id, config)
    if (driver === 'person') return stored(options, file, { id, text: plain, said: nextForPerson(id) })
    const said = options['no-ask'] ? undefined : await whoIs(id, config, file.service)
    if (said?.fitting) throw new CliError('failed', `nothing was changed: ${said.words}; to add the device all the same: --no-ask`)
    const text = said?.identity ? await taught(plain, at, said.identity) : plain
    return stored(options, file, { id, text, said: said?.words })
  }),
})

const set = command({
  name: 'devices set',
  summary: 'Change a device of the configuration',
  operands: ['ID'],
  options: {
    ...deviceOptions,
    unset: { type: 'string', value: 'KEY', multiple: true, help: 'Remove a setting' },
    ask: { type: 'boolean', help: 'Ask the instrument for its identity, and record it as the expected one' },
    ...fileOptions,
  },
  example: 'sudo benchd devices set shaker-1 --port /dev/serial/by-id/usb-FTDI_A50285BI-if00-port0',
  run: again(async ({ options, operands: [id = ''] }) => {
    const file = await opened(options)
    const at = ['devices', placeOf(id, file)]
    const { name, driver, port, unset = [] } = options
    mustBeNamed(name)
    const members = Object.entries({ name, driver, ...(port && { transport: transportOf(port) }) }).filter(
      ([, value]) => value !== undefined,
    )
    if (!members.length && !options.set && !unset.length && !options.ask)
      throw new CliError('usage', 'benchd devices set wants to know what; see: benchd devices set --help')
    const changed = members.reduce((text, [member, value]) => withValue(text, [...at, member], value), file.text)
    const less = unset.reduce((text, key) => withoutValue(text, [...at, 'settings', ...key.split('.')]), changed)
    const plain = settings(less, at, options.set)
    const config = await checked(plain, file.path)
    const said = options.ask ? await whoIs(id, config, file.service, { isMoved: port !== undefined }) : undefined
    if (said && !said.identity) throw new CliError('failed', `nothing was changed: ${said.words}`)
    const text = said?.identity ? await taught(plain, at, said.identity) : plain
    return stored(options, file, { id, text, said: said?.words })
  }),
})

const remove = command({
  name: 'devices remove',
  summary: 'Remove a device from the configuration; its teachpoints stay',
  operands: ['ID'],
  options: fileOptions,
  run: again(async ({ options, operands: [id = ''] }) => {
    const file = await opened(options)
    const text = withoutValue(file.text, ['devices', placeOf(id, file)])
    await checked(text, file.path)
    return stored(options, file, { id, text })
  }),
})

export const configured = [add, set, remove]

type File = {
  path: string
  text: string
  devices: { device_id?: unknown }[]
  service: LocalService
}

async function opened(options: OptionValues<typeof fileOptions>): Promise<File> {
  const path = configPath(options.config)
  const text = await readText(path)
  const devices = devicesOf(text, path)
  return { path, text, devices, service: await serviceOn(dataDir(options['data-dir'])) }
}

function devicesOf(text: string, path: string): File['devices'] {
  try {
    return devicesIn(text, path)
  } catch (error) {
    throw new CliError('config', messageOf(error), { cause: error })
  }
}

function placeOf(id: string, { devices, path }: File): number {
  const place = devices.findIndex(({ device_id }) => device_id === id)
  if (place < 0)
    throw new CliError('not_found', `${path} has no device ${id}; it has ${devices.map(({ device_id }) => device_id).join(', ') || 'none'}`)
  return place
}

/** Throws for a device whose driver cannot be used. */
function mustBeLoaded(id: string, { devices }: Config): void {
  const device = devices.find(({ device_id }) => device_id === id)
  if (device?.kind === 'unloaded')
    throw new CliError('failed', `nothing was changed: the driver ${device.driver} cannot be used: ${device.why}`)
}

function mustBeNamed(name: string | undefined): void {
  if (name?.trim() === '') throw new CliError('usage', '--name is empty: say what people call the device, or leave it out')
}

/** Each below the last object that is there. */
function settings(text: string, at: readonly (string | number)[], given: readonly string[] = []): string {
  return given.reduce((before, pair) => {
    const [, key, value] = /^([^=]+)=(.*)$/s.exec(pair) ?? []
    if (key === undefined || value === undefined) throw new CliError('usage', `--set ${pair} is not KEY=VALUE`)
    return withDeep(before, [...at, 'settings', ...key.split('.')], literal(value))
  }, text)
}

/**
 * Asks the instrument who it is, with questions only; a port that a service has is left to that. Returns undefined for a device that cannot
 * say it.
 */
async function whoIs(id: string, { devices }: Config, service: LocalService, { isMoved = false } = {}): Promise<Told | undefined> {
  const device = devices.find(({ device_id }) => device_id === id)
  if (device?.kind !== 'driven') return undefined
  const { transport } = device
  if (transport.kind !== 'serial' && transport.kind !== 'tcp') return undefined
  const { askWhoItIs, toldBy } = await import('../../care/identity.ts')
  return toldBy({ ...device, transport }, async (asked) => {
    const known = await asService(isMoved ? undefined : id, transport, service)
    if (known === null) throw new Error(`the service has the port, and has not heard yet who it is; try again when ${id} is connected`)
    return known ?? askWhoItIs(asked)
  })
}

/**
 * Returns the identity that a service knows if it has the device of that id, and so the port: null while it knows none. Undefined when the port is
 * free to be opened.
 */
async function asService(id: string | undefined, transport: LineTransport, service: LocalService): Promise<Identity | null | undefined> {
  if (service.is === 'absent') return undefined
  if (service.is === 'closed') throw new Error(`a service runs that may have the port (${service.why})`)
  const { devices } = await service.get<{ devices: { device_id: string }[] }>('/api/devices')
  if (devices.some(({ device_id }) => device_id === id))
    return (await service.get<{ identity: Identity | null }>(`/api/devices/${id}`)).identity
  // A box says by itself that another program is connected to it.
  if (transport.kind === 'tcp') return undefined
  const { portBehind } = await import('../../../drivers/transports/ports.ts')
  const { ports } = await service.get<{ ports: { path: string; device_id: string | null }[] }>('/api/system/ports')
  const real = await portBehind(transport.path)
  const owner = ports.find((port) => port.path === real)?.device_id
  if (owner) throw new Error(`the service has that port for ${owner}`)
  return undefined
}

async function taught(text: string, at: readonly (string | number)[], identity: Identity): Promise<string> {
  const { worthTeaching } = await import('../../care/identity.ts')
  return withValue(text, [...at, 'identity'], worthTeaching(identity))
}

type DeviceEdit = { id: string; text: string; said?: string | undefined }

/** Writes the edited file, has the service take it, and prints what came of it. */
async function stored(
  options: OptionValues<typeof fileOptions> & { json?: boolean },
  file: File,
  { id, text, said }: DeviceEdit,
): Promise<number> {
  await checked(text, file.path)
  const { path, text: before, service } = file
  const { words, old_copy, ...rest } = await written({ path, text, before, service })
  if (options.json)
    print(JSON.stringify({ success: true, device_id: id, config: file.path, old_copy, said: said ?? null, ...rest, message: words }))
  else print([...(said ? [said] : []), `wrote ${file.path} (old copy: ${old_copy})`, words].join('\n'))
  return 0
}
