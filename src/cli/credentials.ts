// The credentials file with the user's service and key, so that they are not typed each time.

import { join } from 'node:path'
import * as v from 'valibot'
import { readPrivate } from '../kit/files.ts'
import { parseJson } from '../kit/json.ts'
import { checked } from '../kit/schema.ts'
import { CliError } from './exit.ts'
import { userFolder } from './places.ts'

const Credentials = v.strictObject({
  url: v.pipe(v.string(), v.url()),
  api_key: v.string(),
  /** SHA-256 of a certificate that no authority has signed. */
  fingerprint: v.optional(v.string()),
})
type Credentials = v.InferOutput<typeof Credentials>

/**
 * Returns the credentials of the file, if it exists and they are for that service. Throws `config` for a file that others may read, or with
 * mistakes.
 */
export function credentials(url?: string): Credentials | undefined {
  const path = join(userFolder(), 'credentials.json')
  const file = readPrivate(path)
  if (!file) return undefined
  if (file.isOpenToOthers) throw new CliError('config', `${path} holds a key, and others may read it: chmod 600 ${path}`)
  const found = checked(Credentials, parseJson(file.text, path), path, 'config')
  return url === undefined || originOf(url) === originOf(found.url) ? found : undefined
}

function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : url
}
