// The parameters `since` and `until` of lists, and the page of a list.

import * as v from 'valibot'
import { LabError } from '../errors.ts'
import { described } from '../kit/described.ts'

const seconds = /^\d+(\.\d*)?$/
const iso = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$/i
const isNoMoment = 'it must be Unix time in seconds, or a time with its zone, such as 2026-01-31T08:00:00Z'
/** The year 2255; a larger number may be milliseconds. */
const latest = 9e9

/** Makes the schema of a moment in a query. */
function Moment(description: string) {
  const schema = v.pipe(
    v.string(),
    v.check((text) => !Number.isNaN(momentOf(text)), isNoMoment),
    v.check((text) => !(momentOf(text) > latest), 'it is too large for Unix time in seconds; these may be milliseconds'),
    v.transform(momentOf),
  )
  return v.optional(described(schema, `${description}: Unix time in seconds, or a time with its zone, such as 2026-01-31T08:00:00Z`))
}

/** Returns the parameters of a list of things that have a time; `what` begins the sentence, such as "Only operations that began". */
export function spanOf(what: string) {
  return { since: Moment(`${what} at this time or later`), until: Moment(`${what} before this time`) }
}

export type Span = { since?: number | undefined; until?: number | undefined }

/** Throws `invalid` for a span in which nothing can be. */
export function mustBeSpan({ since, until }: Span): void {
  if (since !== undefined && until !== undefined && since >= until)
    throw new LabError('invalid', 'the query: since is not before until, so that nothing can be found; exchange them')
}

export function isWithin(at: number, { since = Number.NEGATIVE_INFINITY, until = Number.POSITIVE_INFINITY }: Span): boolean {
  return since <= at && at < until
}

/** The parameter that goes on behind a page. */
export const Before = v.optional(described(v.string(), 'Only entries behind the one with this id: `next` of the page before'))
export const Next = described(v.nullable(v.string()), 'The value of `before` for the next page; null on the last one')

type Paging<Item> = {
  limit: number
  before: string | undefined
  idOf(item: Item): string
  matches(item: Item): boolean
}

/** Returns a page of a list. Throws `invalid` if the entry before the page is no longer kept. */
export function pageOf<Item>(all: readonly Item[], { limit, before, idOf, matches }: Paging<Item>): { items: Item[]; next: string | null } {
  const at = before === undefined ? -1 : all.findIndex((item) => idOf(item) === before)
  if (before !== undefined && at < 0)
    throw new LabError(
      'invalid',
      `the query: before: there is no ${JSON.stringify(before.slice(0, 64))} any more; begin again without before`,
    )
  const items: Item[] = []
  for (const item of all.slice(at + 1)) {
    if (!matches(item)) continue
    if (items.length === limit) return { items, next: idOf(items.at(-1)!) }
    items.push(item)
  }
  return { items, next: null }
}

function momentOf(text: string): number {
  if (seconds.test(text)) return Number(text)
  // A plus sign that was not encoded comes as a space.
  const written = text.replace(/ (?=\d\d:?\d\d$)/, '+')
  return iso.test(written) ? Date.parse(written.toUpperCase().replace(/([+-]\d\d)(\d\d)$/, '$1:$2')) / 1000 : Number.NaN
}
