// Dry runs for people: of a submission before it is made, and of an open run.

import type { Admission } from './admission.ts'
import { compared, type DryRun, type Outcome } from './dry_run.ts'
import type { Bench } from './plans/bench.ts'
import type { Workflow } from './plans/plan.ts'
import { refusalFor } from './plans/refusal.ts'
import type { RunEnvironments } from './run_environments.ts'
import type { Execution } from './runs/execution.ts'
import { checkSubmission } from './runs/submission_check.ts'
import { withSamples } from './samples.ts'
import type { RunMode } from './state/modes.ts'
import type { SubmissionBody, SubmissionRequest } from './state/submission_request.ts'
import type { Trial } from './threads/run_environment.ts'

type DryRunRooms = {
  bench: Bench
  admission: Admission
  environments: RunEnvironments
  /** Throws `not_found`. */
  workflow(name: string): Workflow
}

export class DryRuns {
  readonly #rooms: DryRunRooms

  constructor(rooms: DryRunRooms) {
    this.#rooms = rooms
  }

  /**
   * Simulates a submission without touching anything. The code of the workflow runs. Positions that are occupied in LIVE are occupied in the simulation
   * too. Rejects as `Runtime.submit` does.
   */
  async simulate(asked: SubmissionBody): Promise<DryRun> {
    const { bench } = this.#rooms
    const workflow = this.#rooms.workflow(asked.workflow)
    const request = withSamples(workflow, asked)
    checkSubmission(workflow, { ...request, run_mode: 'PURE_SIM' }, { bench })
    return {
      ...(await this.#tryOut(workflow, request, request.run_mode)),
      refusal: refusalFor(workflow, request.run_mode, bench) ?? null,
    }
  }

  /** Simulates the first submission of an open run, as if none of its labware stood on the bench, and without executing its code. Rejects with `overloaded`. */
  async forecast({ workflow, submissions, threads, environment: { mode } }: Execution): Promise<DryRun> {
    const own = new Set([...threads.values()].map(({ labware }) => labware.labware_id))
    return { ...(await this.#tryOut(workflow, submissions[0]!.request, mode, { gone: own, trial: 'forecast' })), refusal: null }
  }

  async #tryOut(
    workflow: Workflow,
    request: SubmissionRequest,
    mode: RunMode,
    trying: { gone?: ReadonlySet<string>; trial?: Trial } = {},
  ): Promise<Outcome> {
    const { admission, environments } = this.#rooms
    const conditions = await environments.conditions(workflow.topology, mode)
    return admission.dryRun(workflow, request, (began) =>
      compared({ workflow, request, began }, () => environments.rehearsal(workflow.topology, mode, { conditions, ...trying })),
    )
  }
}
