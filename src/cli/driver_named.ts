// A driver that somebody names.

import { didYouMean } from '../kit/did_you_mean.ts'
import { CliError } from './exit.ts'

/** Rejects with `otherwise` for a name that no driver has. */
export async function driverNamed(name: string | undefined, otherwise: 'usage' | 'not_found') {
  const { drivers, driverNames } = await import('../../drivers/index.ts')
  const known = `there is: ${driverNames.join(', ')}`
  if (name === undefined) throw new CliError('usage', `--driver is missing; ${known}`)
  if (!Object.hasOwn(drivers, name)) throw new CliError(otherwise, `there is no driver ${name}${didYouMean(name, driverNames)}; ${known}`)
  return drivers[name as keyof typeof drivers]()
}
