// The one text of each event: in the log, in every stream, in every answer.

import type { RuntimeEvent } from './event.ts'
import { wellFormed } from './log_line.ts'

type Written = { readonly event: RuntimeEvent; json: string | undefined }

/** How many texts are made at once. A reader that keeps one of them keeps all of these in memory. */
const together = 32
/** The text that stands between two events. Strings cannot hold it, as their quotes are escaped; an array inside an event can. */
const between = '},{"event_name":"'

export function jsonOf(entry: Written): string {
  entry.json ??= wellFormed(JSON.stringify(entry.event))
  return entry.json
}

/** Returns the text as bytes where there are such, which are to be copied at once. */
export function textOf(entry: Written & { readonly bytes: Buffer | undefined; from: number; to: number }): string | Buffer {
  return entry.bytes?.subarray(entry.from, entry.to) ?? jsonOf(entry)
}

/** Makes the texts of the entries from `at` on that have none: one call of JSON.stringify for many takes a third less time than a call for each. */
export function makeTexts(entries: readonly Written[], at: number): void {
  const some = entries.slice(at, at + together).filter(({ json }) => json === undefined)
  const texts = textsOf(some.map(({ event }) => event))
  for (const [i, text] of texts.entries()) some[i]!.json = text
}

/** Makes the texts with one call, or each by itself where an event has another in its context, so that the end of an event cannot be seen. */
function textsOf(events: readonly RuntimeEvent[]): string[] {
  const all = wellFormed(JSON.stringify(events))
  const texts: string[] = []
  let from = 1
  for (let found = all.indexOf(between, from); found !== -1; found = all.indexOf(between, from)) {
    texts.push(all.slice(from, found + 1))
    from = found + 2
  }
  texts.push(all.slice(from, -1))
  return texts.length === events.length ? texts : events.map((event) => wellFormed(JSON.stringify(event)))
}
