// `benchd init`: makes the first configuration and the first key of a bench. The package installs a configuration without devices, which
// is filled in.

import { join, resolve } from 'node:path'
import { didYouMean } from '../kit/did_you_mean.ts'
import { createSynced } from '../kit/durable.ts'
import { readText } from '../kit/files.ts'
import { exists } from '../kit/folder.ts'
import { parseJsonWithComments } from '../kit/json.ts'
import { withValue } from '../kit/json_edit.ts'
import { ask } from './client.ts'
import { command } from './command.ts'
import { checked, written } from './config_file.ts'
import { nextForPerson } from './devices/person.ts'
import { transportOf } from './devices/transport.ts'
import { CliError } from './exit.ts'
import { type LocalService, serviceOn } from './local_service.ts'
import { offline } from './offline.ts'
import { dataDir, systemFolder, userFolder } from './places.ts'
import { print } from './table.ts'
import { answerTo, canAsk, note } from './terminal.ts'

type Port = import('../../drivers/transports/ports.ts').SerialPort
type Device = { device_id: string; driver: string; transport?: { kind: string; path?: string } }

const init = command({
  name: 'init',
  summary: 'Write the first configuration of a bench and create its first key; never change a configuration that has devices',
  operands: ['[DIR]'],
  options: {
    device: {
      type: 'string',
      value: 'ID=DRIVER[@PORT]',
      multiple: true,
      help: 'Device, with PORT as in devices add, or ID=person; default: ask for each port, and who carries labware',
    },
    'data-dir': { type: 'string', value: 'DIR', help: 'Folder of the state' },
    root: { type: 'string', value: 'DIR', help: 'Folder that holds dev and sys in place of /' },
  },
  example: 'benchd init --device shaker-1=bioshake@simulated',
  async run({ options, operands: [folder] }) {
    const path = pathOf(folder)
    const before = exists(path) ? await readText(path) : undefined
    if (before !== undefined && hasDevices(before, path)) throw there(path)
    const ports = await portsHere(options.root)
    const devices = options.device?.map(deviceOf) ?? (canAsk() ? await askedFor(ports) : [])
    const data = dataDir(options['data-dir'])
    const service = await serviceOn(data)
    const words = before === undefined ? await writtenNew(path, devices, ports) : await filledIn({ path, before, devices, service })
    const api_key = await firstKey(service)
    const names = devices.map(({ device_id }) => device_id)
    if (options.json) print(JSON.stringify({ success: true, config: path, devices: names, api_key: api_key ?? null }))
    else
      print(
        [
          ...words,
          ...nextSteps({
            path,
            data,
            isServed: service.is !== 'absent',
            devices,
            api_key,
            isNamed: folder !== undefined,
            isDataNamed: options['data-dir'] !== undefined,
          }),
        ].join('\n'),
      )
  },
})

export const commands = [init]

/** Returns the path of the configuration: in the named folder, else from the environment, else the default. */
function pathOf(folder: string | undefined): string {
  const named = process.env.BENCHD_CONFIG
  if (folder === undefined && named) return resolve(named)
  return join(folder === undefined ? usualFolder() : resolve(folder), 'config.json')
}

function usualFolder(): string {
  return process.geteuid?.() === 0 ? systemFolder : userFolder()
}

function hasDevices(text: string, path: string): boolean {
  const { devices } = (parseJsonWithComments(text, path) as { devices?: unknown } | null) ?? {}
  return devices !== undefined && !(Array.isArray(devices) && devices.length === 0)
}

function there(path: string): CliError {
  return new CliError('busy', `${path} has devices already and stays as it is; to add another one: benchd devices add ID --config ${path}`)
}

/** Writes a new configuration. Returns lines that say what was done. */
async function writtenNew(path: string, devices: readonly Device[], ports: readonly Port[]): Promise<string[]> {
  const text = configuration(devices, ports)
  await checked(text, path)
  await createSynced(path, text, { mode: 0o600, isNew: true })
  return [`wrote ${path}: ${inList(devices)}`]
}

type Filling = { path: string; before: string; devices: readonly Device[]; service: LocalService }

/** Adds the devices to a configuration without any, and keeps the rest with its comments. */
async function filledIn({ path, before, devices, service }: Filling): Promise<string[]> {
  if (devices.length === 0) return [`${path} stays as it is: no device was named`]
  const text = withValue(before, ['devices'], devices)
  await checked(text, path)
  const { old_copy, words } = await written({ path, text, before, service })
  return [`wrote ${path} (old copy: ${old_copy}): ${inList(devices)}`, words]
}

function inList(devices: readonly Device[]): string {
  return devices.length === 0 ? 'no devices yet' : `devices ${devices.map(({ device_id }) => device_id).join(', ')}`
}

function deviceOf(text: string): Device {
  const [, device_id, driver, port] = /^([^=@]+)=([^=@]+)(?:@(.+))?$/.exec(text) ?? []
  if (device_id === undefined || driver === undefined)
    throw new CliError('usage', `--device ${text} is not ID=DRIVER@PORT, for example shaker-1=bioshake@/dev/ttyUSB0`)
  return { device_id, driver, ...(port !== undefined && { transport: transportOf(port) }) }
}

async function portsHere(root = ''): Promise<Port[]> {
  const { serialPorts } = await import('../../drivers/transports/ports.ts')
  return serialPorts({ dev: `${root}/dev`, sys: `${root}/sys/class/tty` })
}

/** Asks a person for the driver of each port, and who carries labware; nothing is sent to any port. */
async function askedFor(ports: readonly Port[]): Promise<Device[]> {
  const devices = await askedForPorts(ports)
  const isCarried = devices.some(({ device_id }) => device_id.startsWith('transporter-'))
  return isCarried ? devices : [...devices, ...(await askedForCarrier())]
}

async function askedForCarrier(): Promise<Device[]> {
  for (;;) {
    const answer = (await answerTo('Who carries labware? (Enter: nobody yet; person: somebody at the bench, by hand): ')).trim()
    if (answer === '') return []
    if (answer === 'person') return [{ device_id: 'hands', driver: 'person' }]
    note(`there is no carrier ${answer}${didYouMean(answer, ['person'])}; a robot is added with: benchd devices add`)
  }
}

async function askedForPorts(ports: readonly Port[]): Promise<Device[]> {
  const { driverNames, drivers } = await import('../../drivers/index.ts')
  const devices: Device[] = []
  for (const port of ports) {
    const path = port.by_id ?? port.path
    for (;;) {
      const answer = (
        await answerTo(`What is on ${inWords(port)}? Its driver (${driverNames.join(', ')}), or Enter to leave it out: `)
      ).trim()
      if (answer === '') break
      const driver = driverNames.find((name) => name === answer)
      if (!driver) {
        note(`there is no driver ${answer}${didYouMean(answer, driverNames)}`)
        continue
      }
      const { type } = await drivers[driver]()
      const place = devices.filter(({ device_id }) => device_id.startsWith(`${type}-`)).length + 1
      devices.push({ device_id: `${type}-${place}`, driver, transport: { kind: 'serial', path } })
      break
    }
  }
  return devices
}

function inWords({ by_id, path, manufacturer, product }: Port): string {
  const what = [manufacturer, product].filter(Boolean).join(' ')
  return `${by_id ?? path}${what && ` (${what})`}`
}

function configuration(devices: readonly Device[], ports: readonly Port[]): string {
  const used = devices.map(({ transport }) => transport?.path)
  const unused = ports.filter(({ by_id, path }) => !used.includes(path) && !(by_id && used.includes(by_id)))
  const entries = devices.map((device) => `\n    ${JSON.stringify(device)}`).join(',')
  return `{
  // The configuration of a bench for benchd. Comments are allowed. After a change: benchd config check, then benchd config reload.
  "format": 1,
  // Every address of this computer; "127.0.0.1" for this computer alone. Whoever comes over the network needs a key: benchd key create
  "listen": { "host": "0.0.0.0", "port": 8520 },
  // One line for each device. The command benchd devices add adds a line, and asks the instrument who it is.${unused
    .map((port) => `\n  // A port without a device: ${inWords(port).replaceAll(/[\r\n]/g, ' ')}`)
    .join('')}
  "devices": [${entries}${entries && '\n  '}]
}
`
}

/** Makes the first key; undefined if there is a key already, or this user may not ask the running service. */
async function firstKey(service: LocalService): Promise<string | undefined> {
  const wish = { name: 'first admin', scope: 'admin' as const }
  if (service.is === 'closed') return undefined
  if (service.is === 'answering') {
    const { keys } = await service.get<{ keys: object[] }>('/api/keys')
    return keys.length > 0 ? undefined : (await ask<{ api_key: string }>(service.service, 'POST', '/api/keys', wish)).api_key
  }
  if ((await offline(service.folder, 'key list', undefined)).length > 0) return undefined
  return (await offline(service.folder, 'key create', wish)).api_key
}

type Made = {
  path: string
  data: string
  isServed: boolean
  devices: readonly Device[]
  api_key: string | undefined
  isNamed: boolean
  isDataNamed: boolean
}

function nextSteps({ path, data, isServed, devices, api_key, isNamed, isDataNamed }: Made): string[] {
  const config = isNamed ? ` --config ${path}` : ''
  const folder = isDataNamed ? ` --data-dir ${data}` : ''
  const first = devices[0]?.device_id
  return [
    api_key === undefined
      ? `made no key: the bench has keys already; see: benchd key list${folder}`
      : `the first key, scope admin: ${api_key}\nSave the key now: it is shown only this once, and ${join(data, 'keys.json')} has only its hash.`,
    'Next:',
    ...(first === undefined ? [`  benchd devices add shaker-1 --driver bioshake --port PORT${config}${folder}`] : []),
    ...(isServed ? [] : [`  benchd serve${config}${folder}`]),
    `  benchd devices ${first === undefined ? 'list' : `init ${first}`}${folder}${isServed ? '' : '        # in a second terminal'}`,
    ...devices.filter(({ driver }) => driver === 'person').map(({ device_id }) => `  ${nextForPerson(device_id)}`),
  ]
}
