// The schema of a request to run a workflow.

import { hash } from 'node:crypto'
import * as v from 'valibot'
import { described } from '../../kit/described.ts'
import { Barcode, byName, Id, Name } from '../../kit/name.ts'
import { sortedMembers } from '../../kit/sorted_members.ts'
import { runModes } from './modes.ts'
import { Objective } from './objective.ts'

/** The source of a labware: a storage, a place, or the plan's own start with this barcode. */
const Acquisition = v.union(
  [
    v.strictObject({ pool: described(Id, 'A storage: it is taken out of there') }),
    v.strictObject({ location: Name, barcode: v.optional(Barcode) }),
    v.strictObject({ barcode: Barcode }),
  ],
  'must be {"pool": …}, {"location": …}, with a barcode or without, or {"barcode": …}',
)
export type Acquisition = v.InferOutput<typeof Acquisition>

export const Group = v.strictObject({
  group_id: Id,
  members: described(v.optional(v.record(Id, Acquisition), {}), 'For each thread, where its labware comes from'),
})
export type Group = v.InferOutput<typeof Group>

/** The most characters of JSON, because the records of a thousand runs hold them. */
const longestVariables = 16_384
const Variables = described(
  v.pipe(
    v.optional(byName(v.unknown()), {}),
    v.check(
      (variables) => JSON.stringify(variables).length <= longestVariables,
      `must be at most ${longestVariables} characters of JSON together`,
    ),
  ),
  `At most ${longestVariables} characters of JSON together`,
)

export const SubmissionId = v.pipe(v.string(), v.regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, 'must be a UUID in lower case'))

const printable = (most: number) =>
  v.pipe(v.string(), v.regex(/^[^\p{Cc}\p{Cs}]+$/u, 'must be a text without control characters'), v.maxLength(most))
/** A text of one or several lines. */
export const Note = v.pipe(v.string(), v.regex(/\S/, 'must not be empty'), v.maxLength(4000, 'has more than 4,000 characters'))
export const Tags = v.pipe(v.array(printable(64)), v.maxLength(32, 'has more than 32 tags'))

export const Priority = v.pipe(v.number(), v.integer(), v.minValue(-9), v.maxValue(9))

export const SubmissionRequest = v.strictObject({
  submission_id: v.optional(
    described(
      SubmissionId,
      'A UUID that the caller chooses. A repeated request has no further effect and gets the same answer, as long as the record of its execution is kept',
    ),
  ),
  workflow: Id,
  run_mode: v.picklist(runModes),
  groups: described(v.pipe(v.optional(v.array(Group), []), v.maxLength(1000)), 'Several samples of the same workflow in one call'),
  batch_mode: described(
    v.optional(v.picklist(['STANDALONE', 'JOIN_EXISTING']), 'STANDALONE'),
    'JOIN_EXISTING adds the groups to the open execution of the workflow, if there is one, whether that began with JOIN_EXISTING or STANDALONE',
  ),
  variables: Variables,
  plan: v.optional(
    described(
      v.picklist(['on', 'off']),
      'off: the bench decides step by step, by the rule alone, while this run is open. By default it plans the order of all labware ahead',
    ),
  ),
  objective: v.optional(described(Objective, 'The time that the plan makes short, in place of that of the workflow')),
  priority: v.optional(
    described(
      Priority,
      'The higher number goes first. Each hour in which a run of a higher priority is open counts as one more. Default: 0',
    ),
  ),
  project: described(v.optional(printable(128)), 'The project of the run; it stands in the record of the run, as do `tags` and `notes`'),
  tags: described(v.optional(Tags), 'Words by which the run is found; 32 at most'),
  notes: described(
    v.optional(Note),
    'A text for the reader of the record; more can be added with POST /api/executions/{execution_id}/notes',
  ),
  operator_id: described(
    v.optional(v.nullable(v.pipe(v.string(), v.maxLength(128))), null),
    'The person who does it; without one, the name of the header X-Operator',
  ),
})
export type SubmissionRequest = v.InferOutput<typeof SubmissionRequest>

/** Returns the SHA-256 of a request, to recognize a repetition under the same id. */
export function requestHash(request: SubmissionRequest): string {
  return hash('sha256', JSON.stringify(request, sortedMembers))
}
