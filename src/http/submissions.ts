// The routes of submissions.

import * as v from 'valibot'
import type { Runs } from '../bench/runs.ts'
import { OperationResult } from '../devices/records.ts'
import { LabError } from '../errors.ts'
import { described } from '../kit/described.ts'
import { checked } from '../kit/schema.ts'
import { SubmissionRecord } from '../workflow/records/records.ts'
import { inTheWayOf, LabwareInTheWay } from '../workflow/runs/in_the_way.ts'
import { SubmissionBody, SubmissionId } from '../workflow/state/submission_request.ts'
import { withdraw } from '../workflow/submission_ids.ts'
import { authorOf } from './author.ts'
import { json, type Route, routesOf } from './contract.ts'
import { Limit } from './numeral.ts'
import { longestSubmission } from './samples.ts'

type Rooms = { runs: Runs }

const route = routesOf<Rooms>('runs')

const InTheWay = described(
  v.array(LabwareInTheWay),
  'Labware that earlier runs left at places that it needs: it waits there until somebody takes that away',
)

export const submissionRoutes: Route<Rooms>[] = [
  route('GET', '/api/submissions', {
    operation_id: 'listSubmissions',
    summary: 'List submissions',
    scope: 'read',
    query: v.object({ limit: Limit }),
    success: { description: 'The newest first', schema: v.strictObject({ submissions: v.array(SubmissionRecord) }) },
    errors: [400],
    handle: ({ rooms, query }) => json({ submissions: rooms.runs.runtime.records.submissions().slice(0, query().limit) }),
  }),
  route('POST', '/api/submissions', {
    operation_id: 'submit',
    summary: 'Submit a workflow',
    description:
      'Begins an execution; `JOIN_EXISTING` puts the groups into one that is open. A refusal says what is wrong, and nothing has happened then. ' +
      'With a `submission_id` that was submitted before, nothing begins again: the same request is answered as then, with the present status, and another one 409. ' +
      'PURE_SIM drives nothing and needs no topology to be loaded; DEVICE_SIM runs each driver over its own simulator.',
    scope: 'operate',
    body: SubmissionBody,
    body_limit: longestSubmission,
    success: {
      status: 202,
      description: 'The run has begun; its state is at `Location`',
      schema: v.strictObject({
        submission_id: v.string(),
        execution_id: v.string(),
        status: SubmissionRecord.entries.status,
        in_the_way: InTheWay,
      }),
      headers: ['Location'],
    },
    errors: [400, 404, 409, 503],
    async handle({ rooms, c, body }) {
      const { submission_id, execution_id, status } = await rooms.runs.runtime.submit(body(), authorOf(c))
      // The submission also runs if its record cannot be written, which is an incident.
      await rooms.runs.written().catch(() => undefined)
      const execution = rooms.runs.runtime.runs.get(execution_id)
      const answer = { submission_id, execution_id, status, in_the_way: execution ? inTheWayOf(execution) : [] }
      return json(answer, 202, { Location: `/api/executions/${execution_id}` })
    },
  }),
  route('GET', '/api/submissions/:submission_id', {
    operation_id: 'getSubmission',
    summary: 'Get one submission',
    scope: 'read',
    success: { description: 'The submission', schema: SubmissionRecord },
    errors: [404],
    handle({ rooms, param }) {
      const record = rooms.runs.runtime.records.submission(param('submission_id'))
      if (!record) throw new LabError('not_found', `there is no submission ${JSON.stringify(param('submission_id'))}`)
      return json(record)
    },
  }),
  route('DELETE', '/api/submissions/:submission_id', {
    operation_id: 'withdrawSubmission',
    summary: 'Withdraw a submission that may still be on its way',
    description:
      'For a caller that got no answer and wants the run no longer: a submission with this id that comes later is refused with 409, also after a restart. ' +
      'The newest 1,000 withdrawn ids are kept. A run that has begun is not stopped: the answer is 409, and names the execution.',
    scope: 'operate',
    success: { description: 'A submission with this id does not begin any more', schema: OperationResult },
    errors: [400, 409, 503],
    async handle({ rooms, param }) {
      const submission_id = checked(SubmissionId, param('submission_id'), 'submission_id')
      withdraw(rooms.runs.runtime.records, submission_id)
      await rooms.runs.written()
      return json({ success: true, message: `the submission ${submission_id} does not begin any more` })
    },
  }),
]
