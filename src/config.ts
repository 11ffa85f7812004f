// The one configuration file: read, and checked as a whole.

import * as v from 'valibot'
import { ContactWiring } from '../drivers/transports/wiring.ts'
import { checkDevice, clashesIn, type DeviceConfig, doublesIn, type ReadDevice, readDevice } from './config/devices.ts'
import { ConfigFile } from './config/file.ts'
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

/** Checks a text; `origin` is what messages call it. */
export async function parseConfig(text: string, origin: string): Promise<Config> {
  try {
    return await checkConfig(parseJsonWithComments(text, origin), origin)
  } catch (error) {
    if (error instanceof LabError && error.code === 'invalid') throw new LabError('config', error.message, { cause: error })
    throw error
  }
}

/** Checks what such a file holds. Throws `config`, naming its mistakes. */
export async function checkConfig(content: unknown, origin: string): Promise<Config> {
  const file = judged(ConfigFile, content)
  // Where the file as a whole is wrong, its right parts are checked all the same: people mend all mistakes in one go.
  const [whole, mistakes] = 'output' in file ? [rightParts(file.output), []] : [rightParts(content), file.mistakes]
  const checked = await Promise.all(whole.devices.map(checkDevice))
  const devices = checked.flatMap((one) => ('device' in one ? [one.device] : []))
  const all = [
    ...mistakes,
    ...(await doublesIn(whole.devices)),
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

function rightParts(content: unknown): { devices: ReadDevice[]; stop_input: ConfigFile['stop_input'] } {
  const { devices, stop_input } = Object(content) as { devices?: unknown; stop_input?: unknown }
  const contact = v.safeParse(ContactWiring, stop_input)
  return { devices: (Array.isArray(devices) ? devices : []).map(readDevice), stop_input: contact.success ? contact.output : undefined }
}
