// The checks of a new entry and of another start, before they have any effect.

import { LabError } from '../errors.ts'
import { utc } from '../kit/utc.ts'
import type { Runtime } from '../workflow/runtime.ts'
import { withSamples } from '../workflow/samples.ts'
import { hashOfSamples, type SubmissionBody, type SubmissionRequest } from '../workflow/state/submission_request.ts'
import type { QueueContent, QueueEntry, StartAt } from './entry.ts'
import type { Moment } from './start_clock.ts'

/** The most entries that have not ended, and the most characters of JSON of all of them: each change writes the whole file. */
const mostEntries = 1000
const mostOfAll = 4 * 1024 * 1024
const retry_after_s = 60
/** The end of the year 9999, Unix time, s. A later start is a mistake, such as a time in milliseconds. */
const latest = 253_402_300_799

type Known = { content: QueueContent; runtime: Pick<Runtime, 'runs' | 'records'>; moment: Moment; entry_id?: string | undefined }

/** Throws `invalid` for a start that has passed, is too far ahead or is unknown, and for entries that would wait for each other. */
export function mustBeAStart(start_at: StartAt, { content, runtime, moment, entry_id }: Known): void {
  if (typeof start_at === 'number' && moment.isInStep && start_at <= moment.now)
    throw new LabError('invalid', `start_at, ${utc(start_at)}, has passed; name a later time, or none to start as soon as it is its turn`)
  if (typeof start_at === 'number' && start_at > latest)
    throw new LabError('invalid', `start_at, ${start_at}, is after the year 9999; give it in seconds since 1970, not in milliseconds`)
  if (start_at === null || typeof start_at === 'number') return
  const { after } = start_at
  const isKnown = [...content.entries, ...content.ended].some((entry) => entry.entry_id === after)
  if (!isKnown && !runtime.runs.get(after) && !runtime.records.execution(after))
    throw new LabError(
      'invalid',
      `start_at.after: there is no entry and no execution ${JSON.stringify(after)}; GET /api/queue lists the entries`,
    )
  let next: string | undefined = after
  while (next !== undefined) {
    if (next === entry_id)
      throw new LabError('invalid', `start_at.after: entry ${after.slice(0, 8)} waits for this one already; name another start`)
    const start: StartAt | undefined = content.entries.find((entry) => entry.entry_id === next)?.start_at
    next = start !== null && typeof start === 'object' ? start.after : undefined
  }
}

/** Throws `conflict` where the submission id has been used. */
export function mustBeNew(entry_id: string, { ended }: QueueContent, { records }: Pick<Runtime, 'records'>): void {
  const before = records.submission(entry_id)?.execution_id ?? ended.find((entry) => entry.entry_id === entry_id)?.execution_id
  if (before)
    throw new LabError('conflict', `the submission ${entry_id} has run already, as execution ${before}; choose another submission_id`)
  if (records.isWithdrawn(entry_id))
    throw new LabError('conflict', `the submission ${entry_id} was withdrawn; choose another submission_id`)
}

/** Returns the submission with the groups of its sheet, as they were made for the same request before. Throws `not_found`; `invalid` with all mistakes. */
export function withGroups(
  { samples, ...asked }: SubmissionBody,
  before: QueueEntry | undefined,
  runtime: Pick<Runtime, 'workflow'>,
): SubmissionRequest {
  if (samples === undefined) return asked
  const { groups, samples_sha256 } = before?.submission ?? {}
  if (groups && samples_sha256 === hashOfSamples(samples)) return { ...asked, groups, samples_sha256 }
  return withSamples(runtime.workflow(asked.workflow), { ...asked, samples })
}

const sizes = new WeakMap<QueueEntry, number>()

/** Throws `overloaded` where the queue is full. */
export function mustHaveRoom(entries: readonly QueueEntry[]): void {
  const full = entries.length > mostEntries ? `it has ${mostEntries.toLocaleString('en')} entries` : undefined
  const isTooLarge = entries.reduce((sum, entry) => sum + sizeOf(entry), 0) > mostOfAll
  const why = full ?? (isTooLarge ? `its submissions have ${mostOfAll / 1024 / 1024} MiB together` : undefined)
  if (why !== undefined)
    throw new LabError('overloaded', `the queue is full: ${why}; wait until some have run, or remove some`, { retry_after_s })
}

function sizeOf(entry: QueueEntry): number {
  const size = sizes.get(entry) ?? JSON.stringify(entry).length
  sizes.set(entry, size)
  return size
}

/** Whether both entries ask for the same. */
export function asksForTheSame(one: QueueEntry, other: QueueEntry): boolean {
  const asked = ({ submission, start_at, asked_start_at = start_at, requires, on_failure, may_be_passed }: QueueEntry) =>
    JSON.stringify([sorted(submission), asked_start_at, requires, on_failure, may_be_passed])
  return asked(one) === asked(other)
}

function sorted(submission: QueueEntry['submission']): [string, unknown][] {
  return Object.entries(submission).sort(([one], [other]) => (one < other ? -1 : 1))
}
