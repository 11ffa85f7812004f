// The order of the queue: a list in which a new entry goes behind those of the same or a higher priority, and in which people move entries.

import { LabError } from '../errors.ts'
import { type EndedEntry, type MoveRequest, priorityOf, type QueueContent, type QueueEntry, type StartAt } from './entry.ts'

/** The most ended entries that are kept, the newest. */
const mostEnded = 50

export function inserted(entries: readonly QueueEntry[], entry: QueueEntry): QueueEntry[] {
  const last = entries.findLastIndex((other) => other.state !== 'waiting' || priorityOf(other) >= priorityOf(entry))
  return entries.toSpliced(last + 1, 0, entry)
}

/** Moves an entry that waits. Entries that run stay at the beginning. Throws `conflict` for a place before such an entry. */
export function moved(entries: readonly QueueEntry[], entry: QueueEntry, { before, to }: MoveRequest): QueueEntry[] {
  if (before === undefined && to === undefined) return entries.map((other) => (other.entry_id === entry.entry_id ? entry : other))
  const others = entries.filter((other) => other.entry_id !== entry.entry_id)
  const first = others.findIndex(({ state }) => state === 'waiting')
  const at = before === undefined ? -1 : others.findIndex((other) => other.entry_id === before)
  if (before !== undefined && at < 0) throw new LabError('not_found', noEntry(before))
  if (before !== undefined && others[at]!.state !== 'waiting')
    throw new LabError(
      'conflict',
      `entry ${before.slice(0, 8)} has begun already; move it before an entry that waits, or to the first place`,
    )
  const place = before !== undefined ? at : to === 'first' && first >= 0 ? first : others.length
  return others.toSpliced(place, 0, entry)
}

/** Returns the entry with another start, which it then waits for. A request that is repeated still asks for the first one. */
export function withStart(entry: QueueEntry, start_at: StartAt): QueueEntry {
  return { ...entry, start_at, asked_start_at: entry.asked_start_at === undefined ? entry.start_at : entry.asked_start_at, held: null }
}

export function withEnded(ended: readonly EndedEntry[], more: readonly EndedEntry[]): EndedEntry[] {
  return [...ended, ...more].slice(-mostEnded)
}

/** Says that there is no such entry, and where the entries are listed. */
export function noEntry(entry_id: string): string {
  return `there is no entry ${JSON.stringify(entry_id)} in the queue; GET /api/queue lists them`
}

/** Returns why nothing more may begin while so many runs of the queue are open; undefined if there is room. */
export function fullSentence(entries: readonly QueueEntry[], open_runs: number): string | undefined {
  const running = entries.filter(({ state }) => state !== 'waiting').length
  if (running < open_runs) return undefined
  return `${running === 1 ? 'a run of the queue is' : `${running} runs of the queue are`} open, and queue.open_runs is ${open_runs}`
}

/** Returns the content with an entry in the place of the one with its id. */
export function replaced(content: QueueContent, entry: QueueEntry): QueueContent {
  return { ...content, entries: content.entries.map((other) => (other.entry_id === entry.entry_id ? entry : other)) }
}
