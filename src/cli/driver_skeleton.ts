// The files of `benchd drivers new`: a driver with a stand-in for its instrument, its simulator, its test and its README.

import { fileURLToPath } from 'node:url'
import { readShipped } from '../kit/shipped.ts'
import { CliError } from './exit.ts'

/** The types of the bench for which there is a skeleton; every other word is a type of its own. */
const shaker = 'shaker'

/** Throws a usage error for a name that no folder of a driver may have, and for a type that is no word. */
export function mustBeDriverName(name: string, type: string, shipped: readonly string[]): void {
  if (!/^[a-z][a-z0-9_-]{0,62}$/.test(name))
    throw new CliError('usage', `${name} cannot name a driver; take a small letter, then small letters, digits, _ and -, at most 63`)
  if (shipped.includes(name))
    throw new CliError('usage', `benchd has a driver ${name} already, which would be used in its place; take another name`)
  if (!/^[a-z][a-z0-9_]{0,31}$/.test(type)) throw new CliError('usage', `--type ${type} is not one word in small letters, such as pump`)
}

const files = ['driver.ts', 'protocol.ts', 'errors.ts', 'simulator.ts', 'driver.test.ts', 'README.md', 'package.json', 'tsconfig.json']

/** Returns the name of a template. The package leaves out every file with `.test.` in its name. */
const templateOf = (file: string) => `./driver_template/${file.replace('.test.', '_test.')}.txt`

/** Returns the texts of the files by their names. */
export async function driverFiles(name: string, type: string): Promise<Record<string, string>> {
  const isShaker = type === shaker
  const part = async (file: string) => new TextDecoder().decode(await readShipped(new URL(templateOf(file), import.meta.url)))
  const words: Record<string, string> = {
    PROFILE: (await part(isShaker ? 'profile_of_shaker' : 'profile_of_own')).trimEnd(),
    RETURN: isShaker ? '' : '    return { speed }',
    READING: isShaker ? '' : `\n${await part('reading')}`,
    OPERATION: isShaker ? 'shake' : 'run_for',
    // Before TYPE, which is a part of it.
    TYPES: fileURLToPath(new URL('../../types', import.meta.url)),
    TYPE: type,
    NAME: name,
  }
  const filled = (text: string) => Object.entries(words).reduce((before, [word, value]) => before.replaceAll(word, () => value), text)
  // An empty part leaves an empty line.
  const tidied = (text: string) => text.replace(/\n\n+(?= {2}\}\))/g, '\n').replace(/\n{3,}/g, '\n\n')
  return Object.fromEntries(await Promise.all(files.map(async (file) => [file, tidied(filled(await part(file)))])))
}
