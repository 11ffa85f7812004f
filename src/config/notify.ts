// The settings of the messages that the service sends when somebody is needed.

import * as v from 'valibot'
import { described, Whole } from '../kit/described.ts'

export const notifyKinds = [
  'incident',
  'needs_person',
  'run_ended',
  'stopped',
  'storage',
  'safe_mode',
  'restarted',
  'certificate_ends',
  'key_ends',
  'alive',
] as const
export type NotifyKind = (typeof notifyKinds)[number]

/** A text, or the file that holds it: a path, or a name in systemd's `$CREDENTIALS_DIRECTORY`. */
const Secret = v.union([v.pipe(v.string(), v.nonEmpty()), v.strictObject({ file: v.pipe(v.string(), v.nonEmpty()) })])
export type Secret = v.InferOutput<typeof Secret>

const Address = described(
  v.pipe(
    v.string(),
    v.check((text) => isAddress(text), 'it must be an address that begins with http:// or https://, without a user name in it'),
  ),
  'Where messages go, http:// or https://; redirects are not followed',
)

const HeaderName = v.pipe(v.string(), v.regex(/^[!#$%&'*+.^_`|~\w-]+$/, 'this is no name of a header'))

export const NotifyTarget = v.strictObject({
  url: v.union([
    Address,
    v.strictObject({ file: described(v.pipe(v.string(), v.nonEmpty()), 'File that holds the address, which is a secret then') }),
  ]),
  on: v.optional(
    described(v.pipe(v.array(v.picklist(notifyKinds)), v.nonEmpty()), 'The kinds of messages; `alive` is a GET every `every_s` seconds'),
    notifyKinds.filter((kind) => kind !== 'alive'),
  ),
  format: v.optional(described(v.picklist(['json', 'slack', 'ntfy']), 'Form of a message'), 'json'),
  headers: v.optional(described(v.record(HeaderName, Secret), 'Headers of each request; a value is a text, or `{"file": …}`'), {}),
  every_s: v.optional(described(Whole(10, 86_400), 'Seconds between two `alive`'), 60),
})
export type NotifyTarget = v.InferOutput<typeof NotifyTarget>

export const Notify = described(
  v.pipe(
    v.array(NotifyTarget),
    v.maxLength(16),
    v.check(
      (targets) => new Set(targets.map(({ url }) => JSON.stringify(url))).size === targets.length,
      'two receivers have the same address: give one receiver all the kinds that it is told in "on"',
    ),
  ),
  'Webhooks that are called when somebody is needed',
)

/** Whether messages can be sent there. */
export function isAddress(text: string): boolean {
  const url = URL.canParse(text) ? new URL(text) : undefined
  return url !== undefined && /^https?:$/.test(url.protocol) && url.username === '' && url.password === ''
}
