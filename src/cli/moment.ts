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

/** Parses a time that is to come to Unix seconds: `2h` from now, `22:30` when it is that time next, or a moment. Throws `usage`. */
export function momentToCome(text: string): number {
  const [, amount, unit] = /^\+?(\d+(?:\.\d+)?)([smhd])$/.exec(text) ?? []
  if (amount && unit) return Date.now() / 1000 + Number(amount) * units[unit as keyof typeof units]
  const [, hour, minute] = /^(\d{1,2}):(\d\d)$/.exec(text) ?? []
  if (hour === undefined) return moment(text)
  const next = new Date()
  next.setHours(Number(hour), Number(minute), 0, 0)
  if (next.getTime() <= Date.now()) next.setDate(next.getDate() + 1)
  if (Number(hour) < 24 && Number(minute) < 60) return next.getTime() / 1000
  throw noTime(text, '22:30, 2h from now, or 2026-01-31T08:00')
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
