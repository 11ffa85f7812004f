// The outcome of the entries that have begun: entries whose run is over leave the queue, and a run that did not end well pauses it.

import { flatId } from '../kit/flat_id.ts'
import { utc } from '../kit/utc.ts'
import type { EndStatus } from '../workflow/records/records.ts'
import type { Runtime } from '../workflow/runtime.ts'
import { type EndedEntry, nameOf, priorityOf, type QueueContent, type QueueEntry } from './entry.ts'
import { withEnded } from './order.ts'
import type { Moment } from './start_clock.ts'

export type KnownRuns = {
  runtime: Pick<Runtime, 'runs' | 'records'>
  /** Whether the records of all runs were read, so that a run that has no record never began. */
  areRecordsWhole(): boolean
  /** Entries that are being submitted just now. */
  beginning: ReadonlySet<string>
  /** The runs of entries that have begun since the start. */
  begun: ReadonlyMap<string, string>
}

/** `endings`: the entries that have ended just now, and `pausing` why the queue is to be paused for one of them; undefined for none. */
export type Settled = { content: QueueContent; endings: EndedEntry[]; pausing: string | undefined }

/** Brings the entries up to date with the runs. Returns the same content where nothing has changed. */
export function settled(content: QueueContent, runs: KnownRuns, now: number): Settled {
  const endings: EndedEntry[] = []
  let pausing: string | undefined
  let hasChanged = false
  const entries = content.entries.flatMap((before): QueueEntry[] => {
    const entry = brought(before, runs)
    hasChanged ||= entry !== before
    const end = entry.state === 'running' ? endOf(entry, runs) : undefined
    if (!end) return [entry]
    hasChanged = true
    endings.push(endedEntry(entry, end.outcome, now))
    if (end.outcome !== 'COMPLETED' && (entry.on_failure === 'stop' || end.outcome !== 'FAILED')) pausing ??= whyPaused(entry, end)
    return []
  })
  return hasChanged
    ? { content: { ...content, entries, ended: withEnded(content.ended, endings) }, endings, pausing }
    : { content, endings, pausing }
}

/** Returns the entry as running if its submission is known, however its state was left. */
function brought(entry: QueueEntry, { runtime, areRecordsWhole, beginning, begun }: KnownRuns): QueueEntry {
  if (entry.state === 'running' || beginning.has(entry.entry_id)) return entry
  const execution_id = begun.get(entry.entry_id) ?? runtime.records.submission(submissionIdOf(entry))?.execution_id
  if (execution_id !== undefined)
    return isCutAtStart(entry, execution_id, runtime)
      ? cutEntry(entry, execution_id)
      : { ...entry, state: 'running', execution_id, held: null }
  if (entry.state === 'waiting') return entry
  // Its submission is written before anything moves, so it has not begun.
  if (areRecordsWhole()) return { ...entry, state: 'waiting' }
  const message = `nobody knows whether it has run, because records of runs were lost while it began; look at the bench, then ${remedyOf(entry.entry_id)}`
  return { ...entry, state: 'waiting', held: { reason: 'in_doubt', message } }
}

/** The id of the submission of an entry: that of the entry, unless the end of the service cut its start off. */
export function submissionIdOf({ entry_id, submission }: Pick<QueueEntry, 'entry_id' | 'submission'>): string {
  return submission.submission_id ?? entry_id
}

/** Whether the run of an entry ended with the service before it was acknowledged: a run that has begun is restored. */
function isCutAtStart({ state }: QueueEntry, execution_id: string, { runs, records }: KnownRuns['runtime']): boolean {
  return state === 'starting' && !runs.get(execution_id) && records.execution(execution_id)?.status === 'ABORTED'
}

/** Returns the entry for a person to start again, as another submission. */
function cutEntry(entry: QueueEntry, execution_id: string): QueueEntry {
  const what = `the service ended while it began, and its run ${execution_id.slice(0, 8)} was aborted`
  const message = `${what}; look at the bench, then ${remedyOf(entry.entry_id)}`
  const submission = { ...entry.submission, submission_id: flatId() }
  return { ...entry, submission, state: 'waiting', execution_id: null, held: { reason: 'in_doubt', message } }
}

type End = { outcome: EndStatus | null; reason: string | null }

/** Returns how the run of an entry ended; undefined while it is open. */
function endOf({ execution_id }: QueueEntry, { runtime }: KnownRuns): End | undefined {
  const run = runtime.runs.get(execution_id ?? '')
  if (run && !run.isOver) return undefined
  if (run) return { outcome: run.phase.current.toUpperCase() as EndStatus, reason: run.reason }
  const record = runtime.records.execution(execution_id ?? '')
  return { outcome: record && record.status !== 'IN_PROGRESS' ? record.status : null, reason: record?.reason ?? null }
}

function whyPaused(entry: QueueEntry, { outcome, reason }: End): string {
  const run = `the run ${entry.execution_id?.slice(0, 8)} of ${entry.submission.workflow}`
  return outcome === null ? `nobody knows how ${run} ended` : `${run} ended ${outcome}${reason ? `: ${reason}` : ''}`
}

function endedEntry(entry: QueueEntry, outcome: EndStatus | null, ended_at: number): EndedEntry {
  const { entry_id, submission, execution_id, added_at, added_by } = entry
  const { workflow, run_mode, groups } = submission
  return {
    entry_id,
    workflow,
    run_mode,
    groups: groups.length,
    priority: priorityOf(entry),
    execution_id,
    outcome,
    added_at,
    added_by,
    ended_at,
  }
}

/** Says how a person begins an entry that waits for one. */
export function remedyOf(entry_id: string): string {
  return `start it (POST /api/queue/${entry_id}/start), or remove it (DELETE /api/queue/${entry_id})`
}

type Holding = {
  /** The moments at which nobody looked. */
  skipped?: Moment['skipped']
  /** The entries that were removed. */
  removed?: ReadonlySet<string>
  /** Returns how a run ended, if not well; undefined for one that is open or has completed, and for an entry. */
  failed?(execution_id: string): string | undefined
}

/** Holds the entries whose start passed while nobody looked, and those that wait for an entry that was removed or for a run that did not end well. */
export function held(content: QueueContent, { skipped, removed, failed }: Holding): QueueContent {
  let hasChanged = false
  const entries = content.entries.map((entry): QueueEntry => {
    const { start_at, state, entry_id } = entry
    if (state !== 'waiting' || start_at === null || entry.held) return entry
    const again = `start it now (POST /api/queue/${entry_id}/start), or give it another start (POST /api/queue/${entry_id}/move {"start_at": …})`
    if (typeof start_at === 'number' && skipped && start_at > skipped.from && start_at <= skipped.to) {
      hasChanged = true
      const what = skipped.isByClock ? 'the clock was set forward past its start' : 'its start passed before the service could begin it'
      return { ...entry, held: { reason: 'start_passed', message: `${what}, ${utc(start_at)}; ${again}` } }
    }
    if (typeof start_at === 'object' && removed?.has(start_at.after)) {
      hasChanged = true
      const message = `the entry ${start_at.after.slice(0, 8)}, after which it was to start, was removed; ${again}`
      return { ...entry, held: { reason: 'after_removed', message } }
    }
    const failure = typeof start_at === 'object' ? failed?.(start_at.after) : undefined
    if (failure !== undefined && typeof start_at === 'object') {
      hasChanged = true
      const message = `the run ${start_at.after.slice(0, 8)}, after which it was to start, ${failure}; see that the bench is well, then ${again}`
      return { ...entry, held: { reason: 'after_failed', message } }
    }
    return entry
  })
  return hasChanged ? { ...content, entries } : content
}

/** Returns how a run ended that is no longer open, if not well; undefined for one that is open or has completed, and for an id that is none of a run. */
export function failureOf(execution_id: string, { runs, records }: KnownRuns['runtime']): string | undefined {
  const run = runs.get(execution_id)
  if (run && !run.isOver) return undefined
  const status = run ? run.phase.current.toUpperCase() : records.execution(execution_id)?.status
  if (status === undefined || status === 'COMPLETED') return undefined
  return status === 'IN_PROGRESS' ? 'ended, and nobody knows how' : `ended ${status}`
}

/** Returns the sentence with which an entry waits for its start; undefined if its start has come. */
export function whyNotDue(
  entry: QueueEntry,
  { entries }: Pick<QueueContent, 'entries'>,
  { now, isInStep, runtime }: { now: number; isInStep: boolean; runtime: Pick<Runtime, 'runs' | 'records'> },
): string | undefined {
  const { start_at, held } = entry
  if (held) return held.message
  if (runtime.records.isWithdrawn(submissionIdOf(entry)))
    return `the submission was withdrawn, so the entry never begins; remove the entry (DELETE /api/queue/${entry.entry_id})`
  if (start_at === null) return undefined
  if (typeof start_at === 'number') {
    if (!isInStep) return `it starts at ${utc(start_at)}, and the clock of this computer is not set by a time server yet; see that it is`
    return now < start_at ? `it starts at ${utc(start_at)}` : undefined
  }
  const { after } = start_at
  const other = entries.find(({ entry_id }) => entry_id === after)
  if (other) return `it starts when ${nameOf(other)} has ended`
  const run = runtime.runs.get(after)
  return run && !run.isOver ? `it starts when run ${after.slice(0, 8)} (${run.workflow.name}) has ended` : undefined
}
