// A submission to a run, with its request and its outcome.

import { Entry, type RunState } from '../state/entry.ts'
import type { SubmissionState } from '../state/run.ts'
import { Status, type SubmissionStatus, submissionTransitions } from '../state/statuses.ts'
import type { SubmissionRequest } from '../state/submission_request.ts'
import type { RunEvents } from '../threads/carrier.ts'

type Run = { readonly execution_id: string; readonly state: RunState; readonly events: RunEvents }

export class Submission extends Entry<'submission'> {
  readonly submission_id: string
  readonly execution_id: string
  readonly request: SubmissionRequest
  /** Unix time, s. */
  readonly submitted_at: number
  readonly status: Status<SubmissionStatus>
  reason: string | null = null

  constructor({ execution_id, state, events }: Run, its: SubmissionState) {
    super(state, 'submission', its, its.submission_id)
    this.submission_id = its.submission_id
    this.execution_id = execution_id
    this.request = its.request
    this.submitted_at = its.submitted_at
    const { submission_id, request } = this
    // Only ACCEPTED and the final statuses are events.
    const publish = (status: SubmissionStatus) => {
      if (status === 'IN_PROGRESS') return
      const context = { ...events.context(), submission_id, group_count: request.groups.length, reason: this.reason }
      events.emit('SUBMISSION', submission_id, status, context)
    }
    this.status = new Status<SubmissionStatus>(submissionTransitions, this, publish, { isPublished: true })
  }
}
