// Parses the times that commands take, and their options --since and --until.

import { momentOf, noTime } from './local_time.ts'

const units = { s: 1, m: 60, h: 3600, d: 86_400 }

/** Parses a time to Unix seconds: `10m` ago, a day or a moment in the zone of this computer, or Unix seconds. Throws `usage`. */
export function moment(text: string): number {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)([smhd])$/.exec(text) ?? []
  if (amount && unit) return Math.max(0, Date.now() / 1000 - Number(amount) * units[unit as keyof typeof units])
  const seconds = text.trim() === '' ? Number.NaN : Number(text)
  const time = /^0x/i.test(text) ? undefined : Number.isNaN(seconds) ? momentOf(text) : seconds
  if (time !== undefined && Number.isFinite(time) && time >= 0) return time
  throw noTime(text, 'Unix seconds, 2026-01-31 for the beginning of that day, 2026-01-31T08:00, or 10m')
}

export const spanOptions = {
  since: {
    type: 'string',
    value: 'TIME',
    help: 'Only from this time on: 2h or 1d ago, 2026-01-31 or 2026-01-31T08:00 in the zone of this computer',
  },
  until: { type: 'string', value: 'TIME', help: 'Only before this time, in the same forms' },
} as const

/** Returns the query of a list with the values that are there; times become Unix seconds. */
export function queryOf({ since, until, ...values }: Readonly<Record<string, string | undefined>>): string {
  const times = Object.entries({ since, until }).map(
    ([name, text]) => [name, text === undefined ? undefined : String(moment(text))] as const,
  )
  const given = [...Object.entries(values), ...times].filter((entry): entry is [string, string] => entry[1] !== undefined)
  return given.length > 0 ? `?${new URLSearchParams(given)}` : ''
}
