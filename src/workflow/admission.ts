// How much may run at once: each run and each thread takes memory and time that a stop may have to wait for.

import { LabError } from '../errors.ts'
import type { Workflow } from './plans/plan.ts'
import type { Execution } from './runs/execution.ts'
import type { SubmissionRequest } from './state/submission_request.ts'

/** `open_simulations` counts PURE_SIM runs and dry runs, `open_runs` the others, `open_threads` the labware threads of all of them. */
type RunLimits = { open_simulations: number; open_runs: number; open_threads: number }

export type AdmissionOptions = {
  /** The present limits. */
  limits(): RunLimits
  /** Is called with each run that is refused. */
  refused(bound: keyof RunLimits | 'large_dry_runs', message: string): void
}

/** A dry run that begins with this many threads is a large one: it keeps a processor busy for minutes. */
const large_threads = 200
const mostLarge = 2

const retry_after_s = 5

export const unbounded: AdmissionOptions = {
  limits: () => ({ open_simulations: Infinity, open_runs: Infinity, open_threads: Infinity }),
  refused: () => {},
}

export class Admission {
  readonly #options: AdmissionOptions
  /** Runs that have not ended. */
  readonly #open: () => Execution[]
  readonly #dryRuns = new Set<{ execution?: Execution; isLarge: boolean }>()

  constructor(options: AdmissionOptions, open: () => Execution[]) {
    this.#options = options
    this.#open = open
  }

  /** `joined`: the run that takes the groups. Throws `overloaded` where there is no room for the submission. */
  mustHaveRoom(workflow: Workflow, request: SubmissionRequest, joined?: Execution): void {
    const open = this.#open()
    const { open_simulations, open_runs, open_threads } = this.#options.limits()
    const isSimulation = request.run_mode === 'PURE_SIM'
    const alike = open.filter(({ environment }) => (environment.mode === 'PURE_SIM') === isSimulation).length
    const simulations = alike + this.#dryRuns.size
    if (!joined && isSimulation && simulations >= open_simulations)
      this.#refuse('open_simulations', open_simulations, `${simulations} simulations are open`)
    if (!joined && !isSimulation && alike >= open_runs) this.#refuse('open_runs', open_runs, `${alike} runs are open`)
    const threads = [...open, ...[...this.#dryRuns].flatMap(({ execution }) => execution ?? [])].reduce(
      (sum, { threads }) => sum + threads.size,
      0,
    )
    const more = threadsOf(workflow, request)
    if (threads + more > open_threads)
      this.#refuse('open_threads', open_threads, `${threads} labware threads are open, this would begin with ${more} more`)
  }

  /**
   * Counts a dry run as a simulation while it is under way. `run` begins it at once, and says which execution it is. Rejects with
   * `overloaded` where there is no room for it.
   */
  async dryRun<Result>(
    workflow: Workflow,
    request: SubmissionRequest,
    run: (began: (execution: Execution) => void) => Promise<Result>,
  ): Promise<Result> {
    this.mustHaveRoom(workflow, { ...request, run_mode: 'PURE_SIM' })
    const isLarge = threadsOf(workflow, request) >= large_threads
    if (isLarge && [...this.#dryRuns].filter((one) => one.isLarge).length >= mostLarge) {
      const message = `${mostLarge} dry runs of ${large_threads} threads and more are under way; wait until one has ended, or try out fewer groups`
      this.#options.refused('large_dry_runs', message)
      throw new LabError('overloaded', message, { retry_after_s })
    }
    const dryRun: { execution?: Execution; isLarge: boolean } = { isLarge }
    this.#dryRuns.add(dryRun)
    try {
      return await run((execution) => {
        dryRun.execution = execution
      })
    } finally {
      this.#dryRuns.delete(dryRun)
    }
  }

  /** Breaks off the dry runs that are under way: each would keep the process busy for nobody. */
  close(): void {
    for (const { execution } of this.#dryRuns) execution?.abort('the service stops')
  }

  #refuse(bound: keyof RunLimits, limit: number, what: string): never {
    const message = `${what}, and limits.${bound} is ${limit}; wait until a run has ended, or stop one`
    this.#options.refused(bound, message)
    throw new LabError('overloaded', message, { retry_after_s })
  }
}

/** Returns the number of threads with which a submission begins; others come as they are needed. */
function threadsOf({ document }: Workflow, { groups }: SubmissionRequest): number {
  return Math.max(1, groups.length) * document.start.length
}
