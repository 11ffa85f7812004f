// The entries of the queue of runs: as they are asked for, as they are stored, and as they are shown.

import * as v from 'valibot'
import { described, Whole } from '../kit/described.ts'
import { Id } from '../kit/name.ts'
import { endings } from '../workflow/records/records.ts'
import { runModes } from '../workflow/state/modes.ts'
import { SubmissionBody, SubmissionRequest } from '../workflow/state/submission_request.ts'

const UnixTime = v.pipe(v.number(), v.finite(), v.minValue(0))

/** The time before which an entry does not begin: a moment, or the end of a run. */
export const StartAt = v.nullable(
  v.union(
    [
      described(UnixTime, 'Unix time'),
      v.strictObject({
        after: described(
          Id,
          'An entry of the queue, or an execution: the entry begins when its run has ended; after an execution that did not complete it waits for a person',
        ),
      }),
    ],
    'must be a Unix time, {"after": …} with the id of an entry or of an execution, or null',
  ),
)
export type StartAt = v.InferOutput<typeof StartAt>

const Text = v.pipe(v.string(), v.nonEmpty(), v.maxLength(128))
const Requires = v.strictObject({
  devices: v.optional(described(v.pipe(v.array(Id), v.maxLength(64)), 'Devices that must be ready'), []),
  labware: v.optional(
    described(
      v.pipe(v.array(Text), v.maxLength(256)),
      'Barcodes of labware that must stand on the bench, or positions at which some must stand',
    ),
    [],
  ),
})
export type Requires = v.InferOutput<typeof Requires>

const onFailure = ['stop', 'go_on'] as const

/** The members that a person chooses for an entry besides its submission. */
const choices = {
  start_at: v.optional(described(StartAt, 'The time before which it does not begin; null: as soon as it is its turn'), null),
  requires: v.optional(described(Requires, 'Conditions of the bench that must hold before it begins, in every mode'), {
    devices: [],
    labware: [],
  }),
  on_failure: v.optional(
    described(
      v.picklist(onFailure),
      '`stop`: if the run does not end COMPLETED, the queue is paused. A run that a person stops pauses it always',
    ),
    'stop',
  ),
  may_be_passed: v.optional(described(v.boolean(), 'Whether entries behind it may begin while the bench is not fit for this one'), false),
}

export const QueueRequest = v.strictObject({
  submission: described(SubmissionBody, 'The submission, as for POST /api/submissions. Its `priority` decides where the entry is put in'),
  ...choices,
})
export type QueueRequest = v.InferOutput<typeof QueueRequest>

export const MoveRequest = v.pipe(
  v.strictObject({
    before: v.optional(described(Id, 'The entry before which it goes')),
    to: v.optional(described(v.picklist(['first', 'last']), 'The end of the queue to which it goes')),
    start_at: v.optional(
      described(StartAt, 'Another start; an entry that waits for a person because of its start waits for this one instead'),
    ),
  }),
  v.check(({ before, to }) => before === undefined || to === undefined, 'says both before and to; say one of them'),
  v.check(
    ({ before, to, start_at }) => [before, to, start_at].some((one) => one !== undefined),
    'says nothing; say before, to or start_at',
  ),
)
export type MoveRequest = v.InferOutput<typeof MoveRequest>

/** A person, as the key and the header of the request name them. */
const Person = v.object({ by: v.nullable(v.string()), operator: v.optional(v.string()) })
export type Person = v.InferOutput<typeof Person>

const holdReasons = ['start_passed', 'after_removed', 'after_failed', 'in_doubt'] as const
export type Hold = { reason: (typeof holdReasons)[number]; message: string }

/** An entry as it is stored. Its id is that of its submission, so that the runtime begins it once. A submission that was cut off as it began gets another id. */
export const QueueEntry = v.object({
  entry_id: v.string(),
  submission: SubmissionRequest,
  start_at: StartAt,
  /** The start that the request asked for, where somebody has changed it since. */
  asked_start_at: v.optional(StartAt),
  requires: Requires,
  on_failure: choices.on_failure,
  may_be_passed: choices.may_be_passed,
  state: v.picklist(['waiting', 'starting', 'running']),
  execution_id: v.optional(v.nullable(v.string()), null),
  /** The reason for which the entry waits until a person says more; null if it does not. */
  held: v.optional(v.nullable(v.object({ reason: v.picklist(holdReasons), message: v.string() })), null),
  added_at: v.number(),
  added_by: Person,
})
export type QueueEntry = v.InferOutput<typeof QueueEntry>

export const EndedEntry = v.object({
  entry_id: v.string(),
  workflow: v.string(),
  run_mode: v.picklist(runModes),
  groups: v.number(),
  priority: v.number(),
  execution_id: v.nullable(v.string()),
  outcome: described(v.nullable(v.picklist(endings)), 'How its run ended; null where no record of it is left'),
  added_at: described(v.number(), 'Unix time', 's'),
  added_by: Person,
  ended_at: described(v.number(), 'Unix time', 's'),
})
export type EndedEntry = v.InferOutput<typeof EndedEntry>

const pauseReasons = ['person', 'start', 'stop', 'run_ended'] as const

export const Pause = v.object({
  since: described(v.number(), 'Unix time', 's'),
  reason: described(
    v.picklist(pauseReasons),
    '`person`: somebody paused it; `start`: the service started, or a backup was restored; `stop`: a device was stopped; `run_ended`: a run failed or was stopped',
  ),
  message: described(v.string(), 'Why it is paused, and who may resume it'),
  by: described(v.nullable(v.string()), 'The person who paused it; null for the service'),
})
export type Pause = v.InferOutput<typeof Pause>

/** The content of `queue.json`. */
export const QueueContent = v.object({
  paused: v.nullable(Pause),
  /** The Unix time, s, at which the backup was made that this queue was restored from, until the queue is paused for it. */
  restored_from: v.optional(v.number()),
  entries: v.array(QueueEntry),
  ended: v.optional(v.array(EndedEntry), []),
})
export type QueueContent = v.InferOutput<typeof QueueContent>

export const entryStates = ['waiting', 'starting', 'running', 'ended'] as const

export const ShownEntry = v.strictObject({
  entry_id: v.string(),
  number: described(v.nullable(Whole(1, 1_000_000)), 'Its place in the queue, from 1; null once it runs'),
  workflow: v.string(),
  run_mode: v.picklist(runModes),
  groups: described(v.number(), 'How many groups it has'),
  priority: described(v.number(), 'From -9 to 9; a new entry is put behind the last one of the same or a higher priority'),
  start_at: StartAt,
  requires: Requires,
  on_failure: v.picklist(onFailure),
  may_be_passed: v.boolean(),
  state: v.picklist(entryStates),
  why_it_waits: described(v.nullable(v.string()), 'Why it has not begun; null once it runs'),
  needs_person: described(v.boolean(), 'Whether it waits until somebody starts it, moves it or removes it'),
  execution_id: described(v.nullable(v.string()), 'Its run, once that has begun'),
  added_at: described(v.number(), 'Unix time', 's'),
  added_by: described(v.strictObject(Person.entries), 'The key that added it, and the name that the request gave as X-Operator'),
})
export type ShownEntry = v.InferOutput<typeof ShownEntry>

export function priorityOf({ submission }: Pick<QueueEntry, 'submission'>): number {
  return submission.priority ?? 0
}

/** Names an entry in sentences. */
export function nameOf({ entry_id, submission }: Pick<QueueEntry, 'entry_id' | 'submission'>): string {
  return `entry ${entry_id.slice(0, 8)} (${submission.workflow})`
}
