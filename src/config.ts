// The one configuration file: read, and checked as a whole.

import { dirname, isAbsolute } from 'node:path'
import * as v from 'valibot'
import { placeOf } from '../drivers/outside.ts'
import { ContactWiring } from '../drivers/transports/wiring.ts'
import { checkDevice, clashesIn, type DeviceConfig, doublesIn, type ReadDevice, readDevice } from './config/devices.ts'
import { type ConfigFile, configFileWith } from './config/file.ts'
import { LabError } from './errors.ts'
import { readText } from './kit/disk.ts'
import { readError } from './kit/durable.ts'
import { parseJsonWithComments } from './kit/json.ts'
import { judged } from './kit/schema.ts'

export type Config = Omit<ConfigFile, 'devices'> & { devices: DeviceConfig[] }

/** Reads and checks a file. Throws `config`, naming the file, the place in it, and what it must be. */
export async function readConfig(path: string): Promise<Config> {
  let text: string
  try {
    text = await readText(path)
  } catch (error) {
    throw readError(`the configuration ${path}`, error, 'config')
  }
  return parseConfig(text, path)
}

/** Checks a text; `origin` is what messages call it. Drivers of the lab's own lie in the folder of a file that is named by its whole path. */
export async function parseConfig(text: string, origin: string): Promise<Config> {
  try {
    return await checkConfig(parseJsonWithComments(text, origin), origin, folderOf(origin))
  } catch (error) {
    if (error instanceof LabError && error.code === 'invalid') throw new LabError('config', error.message, { cause: error })
    throw error
  }
}

/** Returns the folder of a configuration file; undefined for a configuration that is in no file. */
export function folderOf(origin: string | undefined): string | undefined {
  return origin !== undefined && isAbsolute(origin) ? dirname(origin) : undefined
}

/** Checks what such a file holds. Throws `config`, naming its mistakes. `folder` is where drivers of the lab's own lie. */
export async function checkConfig(content: unknown, origin: string, folder?: string): Promise<Config> {
  const outside = namedDrivers(content).filter((name) => placeOf(name, folder))
  const file = judged(configFileWith(outside), content)
  // Where the file as a whole is wrong, its right parts are checked all the same: people mend all mistakes in one go.
  const [whole, mistakes] = 'output' in file ? [rightParts(file.output, outside), []] : [rightParts(content, outside), file.mistakes]
  const checked = await Promise.all(whole.devices.map((device) => checkDevice(device, folder)))
  const devices = checked.flatMap((one) => ('device' in one ? [one.device] : []))
  const all = [
    ...mistakes,
    ...(await doublesIn(whole.devices, folder)),
    ...checked.flatMap((one) => ('device' in one ? [] : one.mistakes)),
    ...clashesIn(whole.stop_input, devices),
  ]
  if ('output' in file && all.length === 0) return { ...file.output, devices }
  throw new LabError('config', all.length === 1 ? `${origin}: ${all[0]}` : `${origin} has ${all.length} mistakes:${listed(all)}`)
}

/** The largest number of mistakes that a message lists. */
const mostListed = 100

function listed(mistakes: readonly string[]): string {
  const more = mistakes.length > mostListed ? [`and ${mistakes.length - mostListed} more`] : []
  return [...mistakes.slice(0, mostListed), ...more].map((line) => `\n  ${line}`).join('')
}

/** Lists the drivers that the devices name, as they are written. */
function namedDrivers(content: unknown): string[] {
  const { devices } = Object(content) as { devices?: unknown }
  const names = (Array.isArray(devices) ? devices : []).map((device) => Object(device).driver as unknown)
  return [...new Set(names)].filter((name) => typeof name === 'string')
}

function rightParts(content: unknown, outside: readonly string[]): { devices: ReadDevice[]; stop_input: ConfigFile['stop_input'] } {
  const { devices, stop_input } = Object(content) as { devices?: unknown; stop_input?: unknown }
  const contact = v.safeParse(ContactWiring, stop_input)
  return {
    devices: (Array.isArray(devices) ? devices : []).map((device, index) => readDevice(device, index, outside)),
    stop_input: contact.success ? contact.output : undefined,
  }
}
