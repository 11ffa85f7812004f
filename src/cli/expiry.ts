// Parses the end of a key.

import { endOfDay, momentOf, noTime } from './local_time.ts'

export const expiresOption = {
  expires: {
    type: 'string',
    value: 'WHEN',
    help: 'End of validity: after 12h, 90d or 8w, at the end of a day, 2027-06-30, at 2027-06-30T18:00, or never',
  },
} as const

/** Returns Unix seconds; null for never; no member without the option. Days are in this computer's time zone. */
export function expiryOf({ expires }: { expires?: string | undefined }): { expires_at?: number | null } {
  if (expires === undefined) return {}
  if (expires === 'never') return { expires_at: null }
  const expires_at = afterSpan(expires) ?? endOfDay(expires) ?? momentOf(expires)
  if (expires_at !== undefined) return { expires_at }
  throw noTime(expires, '12h, 90d, 8w, 2027-06-30, 2027-06-30T18:00 or never', '--expires ')
}

const seconds = { h: 3600, d: 86_400, w: 7 * 86_400 }

function afterSpan(text: string): number | undefined {
  const [, count, unit] = /^([1-9]\d{0,5})([hdw])$/.exec(text) ?? []
  return count && unit ? Math.floor(Date.now() / 1000) + Number(count) * seconds[unit as keyof typeof seconds] : undefined
}
