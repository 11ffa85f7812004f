// The forecast of a run, kept beside its record, so that plan and reality can be compared later.

import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { createSynced, errnoOf } from '../kit/durable.ts'

/** The name of the file in the folder of the run. */
export const forecastFile = 'forecast.json'

/** Returns the kept forecast beside a record; undefined without one, and for a file that is no JSON. */
export async function keptForecast(recordPath: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(join(dirname(recordPath), forecastFile), 'utf8'))
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || error instanceof SyntaxError) return undefined
    throw error
  }
}

/** Rejects with `storage`. */
export function keepForecast(recordPath: string, forecast: object): Promise<void> {
  return createSynced(join(dirname(recordPath), forecastFile), JSON.stringify(forecast), { mode: 0o600 })
}
