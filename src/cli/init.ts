// `benchd init`: the first configuration of a bench, and its first key.

import { join, resolve } from 'node:path'
import { didYouMean } from '../kit/did_you_mean.ts'
import { createSynced } from '../kit/durable.ts'
import { exists } from '../kit/folder.ts'
import { isServed } from '../kit/folder_lock.ts'
import { command } from './command.ts'
import { transportOf } from './devices/transport.ts'
import { CliError } from './exit.ts'
import { offline } from './offline.ts'
import { dataDir, systemFolder, userFolder } from './places.ts'
import { print } from './table.ts'
import { answerTo, canAsk, note } from './terminal.ts'

type Port = import('../../drivers/transports/ports.ts').SerialPort
type Device = { device_id: string; driver: string; transport?: { kind: string; path?: string } }

const init = command({
  name: 'init',
  summary: 'Write the first configuration of a bench, and make its first key; nothing is ever written over',
  operands: ['[DIR]'],
  options: {
    device: {
      type: 'string',
      value: 'ID=DRIVER@PORT',
      multiple: true,
      help: 'A device; PORT as in devices add. Default: asks for each port',
    },
    'data-dir': { type: 'string', value: 'DIR', help: 'Folder of the state' },
    root: { type: 'string', value: 'DIR', help: 'A folder that holds dev and sys in place of /' },
  },
  example: 'benchd init --device shaker-1=bioshake@simulated',
  async run({ options, operands: [folder] }) {
    const path = join(folder === undefined ? usualFolder() : resolve(folder), 'config.json')
    if (exists(path)) throw there(path)
    const ports = await portsHere(options.root)
    const devices = options.device?.map(deviceOf) ?? (canAsk() ? await askedFor(ports) : [])
    const text = configuration(devices, ports)
    const { parseConfig } = await import('../config.ts')
    await parseConfig(text, 'the configuration')
    await createSynced(path, text, { mode: 0o600, isNew: true })
    const data = dataDir(options['data-dir'])
    const api_key = await firstKey(data)
    const names = devices.map(({ device_id }) => device_id)
    if (options.json) print(JSON.stringify({ success: true, config: path, devices: names, api_key: api_key ?? null }))
    else print(nextSteps({ path, data, names, api_key, isNamed: folder !== undefined, isDataNamed: options['data-dir'] !== undefined }))
    return 0
  },
})

export const commands = [init]

function usualFolder(): string {
  return process.geteuid?.() === 0 ? systemFolder : userFolder()
}

function there(path: string): CliError {
  return new CliError('busy', `${path} is there already and stays as it is; to add a device to it: benchd devices add ID --config ${path}`)
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

/** Asks a person for the driver of each port; nothing is sent to any. */
async function askedFor(ports: readonly Port[]): Promise<Device[]> {
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
  const left = ports.filter(({ by_id, path }) => !used.includes(path) && !(by_id && used.includes(by_id)))
  const entries = devices.map((device) => `\n    ${JSON.stringify(device)}`).join(',')
  return `{
  // The configuration of a bench for benchd. Comments are allowed. After a change: benchd config check, then benchd config reload.
  "format": 1,
  // Every address of this computer; "127.0.0.1" for this computer alone. Whoever comes over the network needs a key: benchd key create
  "listen": { "host": "0.0.0.0", "port": 8520 },
  // One line for each device. The command benchd devices add adds a line, and asks the instrument who it is.${left
    .map((port) => `\n  // A port without a device: ${inWords(port).replaceAll(/[\r\n]/g, ' ')}`)
    .join('')}
  "devices": [${entries}${entries && '\n  '}]
}
`
}

/** Undefined where a service has the folder, or where there is a key already. */
async function firstKey(folder: string): Promise<string | undefined> {
  if (exists(folder) && (await isServed(folder))) return undefined
  if ((await offline(folder, 'key list', undefined)).length > 0) return undefined
  return (await offline(folder, 'key create', { name: 'first admin', scope: 'admin' })).api_key
}

type Made = { path: string; data: string; names: readonly string[]; api_key: string | undefined; isNamed: boolean; isDataNamed: boolean }

function nextSteps({ path, data, names, api_key, isNamed, isDataNamed }: Made): string {
  const config = isNamed ? ` --config ${path}` : ''
  const folder = isDataNamed ? ` --data-dir ${data}` : ''
  const [first] = names
  return [
    `wrote ${path}: ${names.length === 0 ? 'no devices yet' : `devices ${names.join(', ')}`}`,
    api_key === undefined
      ? `made no key: the data folder ${data} has keys, or a service runs on it; see: benchd key list${folder}`
      : `the first key, scope admin, is shown this once: ${api_key}`,
    'Next:',
    ...(first === undefined ? [`  benchd devices add shaker-1 --driver bioshake --port PORT${config}${folder}`] : []),
    `  benchd serve${config}${folder}`,
    `  benchd devices ${first === undefined ? 'list' : `init ${first}`}${folder}        # in a second terminal`,
  ].join('\n')
}
