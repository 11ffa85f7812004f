// Commands that work on a data folder without a service say so first, and refuse if another service is likely meant.

import { get } from 'node:http'
import { text } from 'node:stream/consumers'
import { servedFolders } from '../kit/folder_lock.ts'
import { ask } from './client.ts'
import { CliError, type NotServed } from './exit.ts'
import { note } from './terminal.ts'

/** The default address of `benchd demo` and `benchd serve`; equal to `listen.port` in src/config.ts, which is not loaded for this. */
const usualUrl = 'http://127.0.0.1:8520'
const patience_s = 0.5

type Wish = {
  folder: string
  /** Whether the user named the folder. */
  isNamed: boolean
  /** A sentence that says what the command does, such as `the key is made for the next service that uses it`. */
  what: string
}

/** The services with other data folders, in words, and the option that selects one. */
type Other = { words: string; byOption: string }

/**
 * Says on stderr that no service runs on the folder, and what is done. Throws a usage error if the user did not name the folder and a service
 * with another one runs on this computer.
 */
export async function tellNoService({ folder, isNamed, what }: Wish): Promise<void> {
  const other = await otherServices(folder)
  if (other && !isNamed)
    throw new CliError('usage', `${notThisFolder(folder, other)}; to use the folder all the same: --data-dir ${folder}`)
  note(`no service runs on the data folder ${folder}${other ? ` (${other.words})` : ''}: ${what}`)
}

/** Returns the error of a command that found no service on the default folder, naming a service with another folder if there is one. */
export async function namingOthers(error: NotServed): Promise<CliError> {
  const other = await otherServices(error.folder)
  return other ? new CliError('unreachable', notThisFolder(error.folder, other)) : error
}

function notThisFolder(folder: string, { words, byOption }: Other): string {
  return `no service runs on the data folder ${folder}, but on this computer ${words}; to use it: ${byOption}`
}

/** Finds the services of this computer with another data folder; undefined if there seems to be none. */
async function otherServices(folder: string): Promise<Other | undefined> {
  const folders = (await servedFolders()).filter((other) => other !== folder)
  const served = await Promise.all(folders.map(async (other) => ((await isService(other)) ? [other] : [])))
  const [first, ...more] = served.flat()
  if (more.length > 0)
    return { words: `others run on ${[first, ...more].join(', ')}`, byOption: '--data-dir with the folder of one of them' }
  if (first) return { words: `one runs on ${first}`, byOption: `--data-dir ${first}` }
  const byOption = `--url ${usualUrl} and its admin key in BENCHD_API_KEY`
  return (await answersThere()) ? { words: `one with another folder answers at ${usualUrl}`, byOption } : undefined
}

/** Whether a benchd serves the folder; other programs may have a control.sock too. */
async function isService(folder: string): Promise<boolean> {
  try {
    const health = await ask<unknown>({ socket_of: folder, wait_s: patience_s }, 'GET', '/health', undefined, { also: 503 })
    return 'uptime_s' in Object(health)
  } catch (error) {
    return error instanceof CliError && error.exit === 'not_allowed' && folder.includes('benchd')
  }
}

/** Whether a benchd answers at the default address. */
async function answersThere(): Promise<boolean> {
  const answer = await new Promise<string>((resolve) => {
    const asking = get(`${usualUrl}/health`, { timeout: patience_s * 1000 }, (response) => resolve(text(response).catch(() => '')))
    asking.on('timeout', () => asking.destroy())
    asking.on('error', () => resolve(''))
  })
  return /"version".*"uptime_s"/.test(answer)
}
