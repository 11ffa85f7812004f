// One order of runs: what was asked for, and what becomes of it.

import { Status, type SubmissionStatus, submissionTransitions } from '../statuses.ts'
import type { Entry } from './run_state.ts'
import type { SubmissionState } from './state.ts'
import type { SubmissionRequest } from './submission_request.ts'

export class Submission {
  readonly submission_id: string
  readonly execution_id: string
  readonly request: SubmissionRequest
  /** Unix time, s. */
  readonly submitted_at: number
  readonly status: Status<SubmissionStatus>
  reason: string | null = null

  /** `publish` hears of what is an event: ACCEPTED and the end. */
  constructor(execution_id: string, entry: Entry<SubmissionState>, publish: (submission: Submission, status: SubmissionStatus) => void) {
    const { submission_id, request, submitted_at } = entry.state
    this.submission_id = submission_id
    this.execution_id = execution_id
    // It never changes.
    this.request = request as SubmissionRequest
    this.submitted_at = submitted_at
    const tell = (status: SubmissionStatus) => {
      if (status !== 'IN_PROGRESS') publish(this, status)
    }
    this.status = new Status<SubmissionStatus>(submissionTransitions, entry, tell, { isPublished: true })
  }
}
