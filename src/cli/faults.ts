// The request for a simulated fault, from options.

import { secondsOf } from './numbers.ts'

export const faultTellingOptions = {
  after: { type: 'string', value: 'SECONDS', help: 'Delay in seconds; default 0' },
} as const

/** Throws a usage error for an invalid `after`. */
export function faultTelling(path: string, fault: string, { after }: { after?: string }): { path: string; body: object } {
  return { path, body: { fault, ...(after !== undefined && { after: secondsOf('--after', after, (seconds) => seconds >= 0) }) } }
}
