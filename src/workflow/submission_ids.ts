// The ids of submissions that callers choose: each names one submission, however often the caller sends it, or none at all once it is withdrawn.

import { LabError } from '../errors.ts'
import type { Records, SubmissionRecord } from './records/records.ts'
import { requestHash, type SubmissionBody } from './state/submission_request.ts'

/** Finds the submission of before with the id of this one. Throws `conflict` where that asked for something else, or was withdrawn. */
export function submittedBefore(records: Records, request: SubmissionBody): SubmissionRecord | undefined {
  const { submission_id } = request
  const before = submission_id === undefined ? undefined : records.submission(submission_id)
  if (!before && submission_id !== undefined && records.isWithdrawn(submission_id))
    throw new LabError('conflict', `the submission ${submission_id} was withdrawn before it came; choose another id for a new one`)
  // A request that names no operator was given the name of its header, and may come again with another one.
  if (before && before.request_sha256 !== requestHash({ ...request, operator_id: request.operator_id ?? before.operator_id })) {
    const sentence = `there is a submission ${submission_id} already, and it asked for something else; send what was sent then, or choose another id`
    throw new LabError('conflict', sentence)
  }
  return before
}

/** Has a submission with this id that comes later refused. Throws `conflict` where its run has begun. */
export function withdraw(records: Records, submission_id: string): void {
  const begun = records.submission(submission_id)
  if (begun) {
    const what = `the submission ${submission_id} has begun as execution ${begun.execution_id}`
    throw new LabError('conflict', `${what}; stop that: POST /api/executions/${begun.execution_id}/stop`)
  }
  records.withdraw(submission_id)
}
