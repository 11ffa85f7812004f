// Commands that work on the files of a data folder without a service say so first, and refuse when another service is likely meant.

import { get } from 'node:http'
import { text } from 'node:stream/consumers'
import { servedFolders } from '../kit/folder_lock.ts'
import { ask } from './client.ts'
import { CliError, type NotServed } from './exit.ts'
import { note } from './terminal.ts'

/** The address of `benchd demo` and `benchd serve` by default: `listen.port` in src/config.ts, which is not loaded for this. */
const usualUrl = 'http://127.0.0.1:8520'
const patience_s = 0.5

type Wish = {
  folder: string
  /** Whether somebody named the folder. */
  isNamed: boolean
  /** The sentence for what is done instead, as in `the key is made for the next service that uses it`. */
  what: string
}

/** The services with other data folders: in words, and how to name one of them to a command. */
type Other = { words: string; byOption: string }

/**
 * Says on stderr that no service runs on the folder and what is done instead. Throws a usage error when nobody named the folder and a service
 * with another one runs on this computer.
 */
export async function tellNoService({ folder, isNamed, what }: Wish): Promise<void> {
  const other = await otherServices(folder)
  if (other && !isNamed)
    throw new CliError('usage', `${notThisFolder(folder, other)}; to use the folder all the same: --data-dir ${folder}`)
  note(`no service runs on the data folder ${folder}${other ? ` (${other.words})` : ''}: ${what}`)
}

/** The error of a command that found no service on the usual folder: it names the service with another folder, where there is one. */
export async function namingOthers(error: NotServed): Promise<CliError> {
  const other = await otherServices(error.folder)
  return other ? new CliError('unreachable', notThisFolder(error.folder, other)) : error
}

function notThisFolder(folder: string, { words, byOption }: Other): string {
  return `no service runs on the data folder ${folder}, but on this computer ${words}; to use it: ${byOption}`
}

/** The services of this computer with another data folder; undefined where there seems to be none. */
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

/** Whether a benchd has the folder: other programs have a control.sock too. */
async function isService(folder: string): Promise<boolean> {
  try {
    const health = await ask<unknown>({ socket_of: folder, wait_s: patience_s }, 'GET', '/health', undefined, { also: 503 })
    return 'uptime_s' in Object(health)
  } catch (error) {
    return error instanceof CliError && error.exit === 'not_allowed' && folder.includes('benchd')
  }
}

/** Whether a benchd answers at the usual address. */
async function answersThere(): Promise<boolean> {
  const answer = await new Promise<string>((resolve) => {
    const asking = get(`${usualUrl}/health`, { timeout: patience_s * 1000 }, (response) => resolve(text(response).catch(() => '')))
    asking.on('timeout', () => asking.destroy())
    asking.on('error', () => resolve(''))
  })
  return /"version".*"uptime_s"/.test(answer)
}
