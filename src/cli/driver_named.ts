// A driver that somebody names.

import { dirname, resolve } from 'node:path'
import { didYouMean } from '../kit/did_you_mean.ts'
import { CliError } from './exit.ts'
import { configPath } from './places.ts'

/** `config` is the configuration beside which drivers of the lab's own lie; by default the one that the service of this computer has, if there is one. */
type Named = { otherwise: 'usage' | 'not_found'; config?: string | undefined }

/** Rejects with `otherwise` for a name that no driver has. A name with a slash is the folder of a driver. */
export async function driverNamed(name: string | undefined, { otherwise, config }: Named) {
  const { driverNames } = await import('../../drivers/index.ts')
  const { driverIn, outsideDriver, placeOf, shippedDriver } = await import('../../drivers/outside.ts')
  const known = `there is: ${driverNames.join(', ')}`
  if (name === undefined) throw new CliError('usage', `--driver is missing; ${known}`)
  const shipped = await shippedDriver(name)
  if (shipped) return shipped
  const place = placeOf(name, folderOf(config))
  if (!place && !name.includes('/')) throw new CliError(otherwise, `there is no driver ${name}${didYouMean(name, driverNames)}; ${known}`)
  const found = place ? await outsideDriver(name, place) : await driverIn(resolve(name))
  if ('why' in found) throw new CliError('failed', `the driver ${name} cannot be used: ${found.why}`)
  return found.driver
}

/** Returns the folder of the configuration, named or usual; undefined without one. */
export function folderOf(config: string | undefined): string | undefined {
  try {
    return dirname(configPath(config))
  } catch (error) {
    if (config !== undefined || !(error instanceof CliError)) throw error
    return undefined
  }
}
