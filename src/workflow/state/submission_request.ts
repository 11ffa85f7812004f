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

/** The most characters of JSON, because the records of a thousand runs hold them. */
const longestVariables = 16_384
const isShort = v.check(
  (variables: Record<string, unknown>) => JSON.stringify(variables).length <= longestVariables,
  `must be at most ${longestVariables} characters of JSON together`,
)
const Variables = described(v.pipe(v.optional(byName(v.unknown()), {}), isShort), `At most ${longestVariables} characters of JSON together`)

export const Group = v.strictObject({
  group_id: Id,
  members: described(v.optional(v.record(Id, Acquisition), {}), 'For each thread, where its labware comes from'),
  variables: described(
    v.optional(v.pipe(byName(v.unknown()), isShort)),
    `Go before those of the submission for the threads of the group; a thread that serves all groups uses those of the submission. At most ${longestVariables} characters of JSON together`,
  ),
})
export type Group = v.InferOutput<typeof Group>

/** The most characters of JSON of the variables of all groups: the state of the run and one row of its record hold them. */
const longestOfGroups = 512 * 1024
const Groups = v.pipe(
  v.optional(v.array(Group), []),
  v.maxLength(1000),
  v.check(
    (groups) => groups.reduce((sum, { variables }) => sum + (variables ? JSON.stringify(variables).length : 0), 0) <= longestOfGroups,
    `have variables of more than ${longestOfGroups} characters of JSON together; give what is the same for all groups once, in "variables"`,
  ),
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
  groups: described(Groups, 'Several samples of the same workflow in one call'),
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
  samples_sha256: described(v.optional(v.string()), 'Of the samples from which the groups were made'),
})
export type SubmissionRequest = v.InferOutput<typeof SubmissionRequest>

/** Samples as CSV text, or as an object for each row. */
export const Samples = v.union(
  [
    described(v.pipe(v.string(), v.maxLength(512 * 1024)), 'CSV with commas, semicolons or tabs; the first row is the header'),
    described(v.pipe(v.array(v.record(v.string(), v.unknown())), v.maxLength(1000)), 'An object for each row, keyed by header'),
  ],
  'must be CSV text, or a list of objects',
)
export type Samples = v.InferOutput<typeof Samples>

/** A request as it comes: its groups may be a sheet. */
export const SubmissionBody = v.strictObject({
  ...v.omit(SubmissionRequest, ['samples_sha256']).entries,
  samples: v.optional(
    described(
      Samples,
      'In place of `groups`: a row is a group, with columns `group`, `barcode` or `<thread>.barcode`, `<thread>.at`, and one for each variable. ' +
        'An empty cell stands for the value of the submission. All mistakes are answered with row and column; nothing begins then',
    ),
  ),
})
export type SubmissionBody = v.InferOutput<typeof SubmissionBody>

/** Returns the SHA-256 of a request, to recognize a repetition under the same id. Samples count as they were sent. */
export function requestHash({ samples, ...request }: SubmissionRequest & { samples?: Samples | undefined }): string {
  const samples_sha256 = samples === undefined ? request.samples_sha256 : hashOfSamples(samples)
  const asked = samples_sha256 === undefined ? request : { ...request, groups: [], samples_sha256 }
  return hash('sha256', JSON.stringify(asked, sortedMembers))
}

/** Hashes samples as they were sent. */
export function hashOfSamples(samples: Samples): string {
  return hash('sha256', JSON.stringify(samples, sortedMembers))
}
