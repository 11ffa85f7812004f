// The wishes of the submissions of one run for the plan of the bench, and the rows of its plans.

import type { RecordRow } from '../../events/run_record_file.ts'
import type { MadePlan } from '../schedule/made_plan.ts'
import type { SubmissionRequest } from '../state/submission_request.ts'
import type { RunEnvironment } from '../threads/run_environment.ts'

type Run = {
  readonly workflow: { readonly isAlone: boolean }
  readonly submissions: readonly {
    readonly submission_id: string
    readonly request: SubmissionRequest
    readonly state: { readonly priority?: number | undefined }
    set(change: { priority: number }): void
  }[]
  readonly environment: Pick<RunEnvironment, 'scheduler' | 'planner'>
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
    return this.#of(submission_id)?.request
  }

  #of(submission_id: string): Run['submissions'][number] | undefined {
    return this.#run.submissions.find((submission) => submission.submission_id === submission_id)
  }

  /** Returns the priority of a submission; 0 is usual, and the higher number is more important. */
  priorityOf(submission_id: string): number {
    const submission = this.#of(submission_id)
    return submission?.state.priority ?? submission?.request.priority ?? 0
  }

  /** Gives all submissions of the run so far another priority. Requests that wait are ranked anew at once, and a plan is made. */
  prioritize(priority: number): void {
    const { submissions, environment } = this.#run
    const { scheduler, planner } = environment
    scheduler.together(() => {
      for (const submission of submissions) {
        submission.set({ priority })
        scheduler.priorities.set(submission.submission_id, priority)
      }
    })
    planner.request('priority')
  }

  /** Notes a plan that the bench follows. */
  adopted({ reason, makespan_s, bound_s, states }: MadePlan): void {
    this.#run.record.add({ kind: 'plan', at: this.#run.now(), reason, makespan_s, bound_s, states })
  }
}
