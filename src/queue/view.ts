// The queue as the API shows it.

import * as v from 'valibot'
import { described } from '../kit/described.ts'
import { EndedEntry, Pause, priorityOf, type QueueContent, type QueueEntry, ShownEntry } from './entry.ts'

export const QueueView = v.strictObject({
  state: described(v.picklist(['running', 'paused']), '`paused`: nothing begins by itself until somebody resumes it'),
  paused: described(v.nullable(v.strictObject(Pause.entries)), 'Why it is paused, and since when; null while it runs'),
  version: described(v.string(), 'Another one after each change'),
  open_runs: described(v.number(), 'How many runs of the queue may be open at once: `queue.open_runs` of the configuration'),
  waiting: v.number(),
  running: v.number(),
  entries: described(
    v.array(ShownEntry),
    'Entries that have not ended: those that run, then those that wait, in the order in which they begin',
  ),
  ended: described(v.array(v.strictObject(EndedEntry.entries)), 'The newest 50 entries that have ended, the newest first'),
})
export type QueueView = v.InferOutput<typeof QueueView>

type Around = Pick<QueueView, 'version' | 'open_runs' | 'paused'> & { why: ReadonlyMap<string, string> }

/** The queue of a bench that never had one. */
export function emptyView(open_runs: number): QueueView {
  return viewOf({ paused: null, entries: [], ended: [] }, { paused: null, why: new Map(), version: '0', open_runs })
}

export function viewOf({ entries, ended }: QueueContent, { paused, why, version, open_runs }: Around): QueueView {
  const waiting = entries.filter(({ state }) => state === 'waiting')
  const others = entries.filter(({ state }) => state !== 'waiting')
  const shown = [
    ...others.map((entry) => shownEntry(entry, { number: null, why: null })),
    ...waiting.map((entry, i) => shownEntry(entry, { number: i + 1, why: why.get(entry.entry_id) ?? null })),
  ]
  const counts = { waiting: waiting.length, running: others.length }
  return { state: paused ? 'paused' : 'running', paused, version, open_runs, ...counts, entries: shown, ended: ended.toReversed() }
}

/** `number`: the place among the entries that wait; null for one that does not. */
export function shownEntry(entry: QueueEntry, { number, why }: { number: number | null; why: string | null }): ShownEntry {
  const { entry_id, submission, start_at, requires, on_failure, may_be_passed, state, execution_id, held, added_at, added_by } = entry
  const { workflow, run_mode, groups } = submission
  return {
    ...{ entry_id, number: state === 'waiting' ? number : null, workflow, run_mode, groups: groups.length, priority: priorityOf(entry) },
    ...{ start_at, requires, on_failure, may_be_passed, state },
    why_it_waits: state === 'waiting' ? (held?.message ?? why) : null,
    needs_person: held !== null,
    ...{ execution_id, added_at, added_by },
  }
}
