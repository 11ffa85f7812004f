// The wishes of the submissions of one run for the plan of the bench, and the rows of its plans.

import type { RecordRow } from '../../events/run_record_file.ts'
import type { MadePlan } from '../schedule/made_plan.ts'
import type { SubmissionRequest } from '../state/submission_request.ts'

type Run = {
  readonly workflow: { readonly isAlone: boolean }
  readonly submissions: readonly { readonly submission_id: string; readonly request: SubmissionRequest }[]
  readonly record: { add(row: RecordRow): void }
  now(): number
}

export class PlannedRun {
  readonly #run: Run
  /** The seconds by which the forecast says that the plan shortens the run; null if it says none or there is none, undefined before anybody has looked. */
  saves_s: number | null | undefined

  constructor(run: Run) {
    this.#run = run
  }

  /** Whether no labware of the run needs other labware, and no submission asks for dispatch by the rule alone. */
  get isOn(): boolean {
    const { workflow, submissions } = this.#run
    return workflow.isAlone && submissions.every(({ request }) => request.plan !== 'off')
  }

  /** Returns the request of a submission of the run. */
  requestOf(submission_id: string): SubmissionRequest | undefined {
    return this.#run.submissions.find((submission) => submission.submission_id === submission_id)?.request
  }

  /** Returns the priority of a submission; 0 is usual, and the higher number is more important. */
  priorityOf(submission_id: string): number {
    return this.requestOf(submission_id)?.priority ?? 0
  }

  /** Notes a plan that the bench follows. */
  adopted({ reason, makespan_s, bound_s, states }: MadePlan): void {
    this.#run.record.add({ kind: 'plan', at: this.#run.now(), reason, makespan_s, bound_s, states })
  }
}
