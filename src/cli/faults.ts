// How a shell says which fault a simulator is to have, and when.

import { secondsOf } from './numbers.ts'

export const faultTellingOptions = {
  after: { type: 'string', value: 'SECONDS', help: 'Delay in seconds; default 0' },
} as const

/** Throws a usage error where `after` is no time. */
export function faultTelling(path: string, fault: string, { after }: { after?: string }): { path: string; body: object } {
  return { path, body: { fault, ...(after !== undefined && { after: secondsOf('--after', after, (seconds) => seconds >= 0) }) } }
}
