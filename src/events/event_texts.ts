// The JSON text of each event, made once for the log, all streams and all answers.

import type { RuntimeEvent } from './event.ts'
import { wellFormed } from './log_line.ts'

type Written = { readonly event: RuntimeEvent; json: string | undefined }

/** The number of texts that are made in one call. A reader that keeps one of them keeps all of them in memory. */
const together = 32
/** The text between two events. It cannot occur inside a string, whose quotes are escaped, but in an array inside an event. */
const between = '},{"event_name":"'

export function jsonOf(entry: Written): string {
  entry.json ??= wellFormed(JSON.stringify(entry.event))
  return entry.json
}

/** Returns the text of an event, from its bytes if it has been written into a buffer. */
export function textOf(entry: Written & { readonly bytes: Buffer | undefined; from: number; to: number }): string | Buffer {
  return entry.bytes?.subarray(entry.from, entry.to) ?? jsonOf(entry)
}

/** Makes the missing texts of the entries from `at` on. One call of JSON.stringify for many takes a third less time than one call for each. */
export function makeTexts(entries: readonly Written[], at: number): void {
  const some = entries.slice(at, at + together).filter(({ json }) => json === undefined)
  const texts = textsOf(some.map(({ event }) => event))
  for (const [i, text] of texts.entries()) some[i]!.json = text
}

/** Makes the texts with one call, or one by one if an event contains another, so that its end cannot be found. */
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
