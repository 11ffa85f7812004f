// Formats and parses times in the zone of this computer, which every printed time names.

import { CliError } from './exit.ts'

const lengths = { minutes: 16, seconds: 19, milliseconds: 23 }
/** The year 10000. */
const beyond = 253_402_300_800

/** Formats Unix seconds as `2026-01-31T09:00+01:00`; a time beyond the year 9999 stays a number. */
export function localTime(seconds: number, to: keyof typeof lengths = 'minutes'): string {
  if (!(Math.abs(seconds) < beyond)) return `${seconds} s`
  const at = new Date(seconds * 1000)
  const east_min = -at.getTimezoneOffset()
  return new Date(at.getTime() + east_min * 60_000).toISOString().slice(0, lengths[to]) + zoneOf(east_min)
}

function zoneOf(east_min: number): string {
  if (east_min === 0) return 'Z'
  const two = (value: number) => String(Math.floor(value)).padStart(2, '0')
  return `${east_min < 0 ? '-' : '+'}${two(Math.abs(east_min) / 60)}:${two(Math.abs(east_min) % 60)}`
}

const day = /^(\d{4})-(\d\d)-(\d\d)$/
const moment = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d(?:\.\d+)?)?)(Z|[+-]\d\d:?\d\d)?$/i

/** Returns the Unix seconds of a day, at its beginning, or of a moment; undefined for any other text. A time without a zone is local. */
export function momentOf(text: string): number | undefined {
  if (day.test(text)) return beginningOf(text, 0)
  const [, date = '', time, zone = ''] = moment.exec(text.trim()) ?? []
  if (time === undefined || beginningOf(date, 0) === undefined) return undefined
  const at = Date.parse(`${date}T${time}${zone.toUpperCase()}`) / 1000
  return Number.isNaN(at) ? undefined : at
}

/** Returns the Unix seconds at which a local day ends; undefined for a text that is no day. */
export function endOfDay(text: string): number | undefined {
  return beginningOf(text, 1)
}

function beginningOf(text: string, later: number): number | undefined {
  const [, ...parts] = day.exec(text) ?? []
  const [year = 0, month = 0, date = 0] = parts.map(Number)
  // `Date` would take an invalid day for one of the next month.
  const isDay = parts.length === 3 && month >= 1 && month <= 12 && new Date(year, month - 1, date).getDate() === date
  return isDay ? new Date(year, month - 1, date + later).getTime() / 1000 : undefined
}

/** Makes the error for an invalid time, with the accepted forms. `what` precedes the text. */
export function noTime(text: string, forms: string, what = ''): CliError {
  const isOtherForm = /^\d{1,4}[./-]\d{1,2}[./-]\d{1,4}\b/.test(text) && momentOf(text) === undefined
  const write = isOtherForm ? 'a day as year-month-day, 2026-11-28' : forms
  return new CliError('usage', `${what}${text} is no time${isOtherForm ? ' that is clear, or no day of the calendar' : ''}; write ${write}`)
}
