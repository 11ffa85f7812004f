// Commands that change the files of a data folder without a service say so first, and refuse when another service is likely meant.

import { get } from 'node:http'
import { text } from 'node:stream/consumers'
import { CliError } from './exit.ts'
import { note } from './terminal.ts'

/** The address of `benchd demo` and `benchd serve` by default: `listen.port` in src/config.ts, which is not loaded for this. */
const usualUrl = 'http://127.0.0.1:8520'
const patience_ms = 500

type Wish = {
  folder: string
  /** Whether somebody named the folder. */
  isNamed: boolean
  /** The sentence for the change to the folder, as in `the key is made`. */
  what: string
}

/**
 * Says on stderr that no service runs on the folder and what is done instead. Throws a usage error when nobody named the folder and a service
 * with another one answers on this computer.
 */
export async function tellNoService({ folder, isNamed, what }: Wish): Promise<void> {
  const isElsewhere = await answersThere()
  if (isElsewhere && !isNamed) {
    const sentence = `no service runs on the data folder ${folder}, but one with another folder answers at ${usualUrl}`
    throw new CliError(
      'usage',
      `${sentence}; for that service: --url ${usualUrl} and its admin key in BENCHD_API_KEY; for the folder: --data-dir ${folder}`,
    )
  }
  const other = isElsewhere ? ` (the service at ${usualUrl} uses another folder)` : ''
  note(`no service runs on the data folder ${folder}${other}: ${what} for the next service that uses it`)
}

/** Whether a benchd answers at the usual address. */
async function answersThere(): Promise<boolean> {
  const answer = await new Promise<string>((resolve) => {
    const asking = get(`${usualUrl}/health`, { timeout: patience_ms }, (response) => resolve(text(response).catch(() => '')))
    asking.on('timeout', () => asking.destroy())
    asking.on('error', () => resolve(''))
  })
  return /"version".*"uptime_s"/.test(answer)
}
