// The runs that are known to their depth: those that are open, and the newest of those that have ended.

import type { Execution } from './runs/execution.ts'
import type { RunEnvironment } from './threads/run_environment.ts'
import type { LabwareThread } from './threads/thread.ts'

/**
 * Runs that have ended and are still known: so many, and so many threads and rows of theirs, but the newest in any case. Of older ones there are
 * records.
 */
const mostEnded = 20
const mostKnown = 5000

export class KnownRuns {
  readonly #executions = new Map<string, Execution>()

  add(execution: Execution): void {
    this.#executions.set(execution.execution_id, execution)
  }

  /** Lists the runs, oldest first. */
  all(): Execution[] {
    return [...this.#executions.values()]
  }

  get(execution_id: string): Execution | undefined {
    return this.#executions.get(execution_id)
  }

  /** Lists the runs that have not ended. */
  open(): Execution[] {
    return this.all().filter(({ isOver }) => !isOver)
  }

  /** Lists the open runs that share a bench. */
  openIn(environment: RunEnvironment): Execution[] {
    return this.open().filter((one) => one.environment === environment)
  }

  thread(thread_id: string): LabwareThread | undefined {
    for (const { threads } of this.#executions.values()) {
      const thread = threads.get(thread_id)
      if (thread) return thread
    }
    return undefined
  }

  forget(execution_id: string): void {
    this.#executions.delete(execution_id)
  }

  /** Forgets the oldest of the runs that have ended, if they have become too many. */
  forgetOldest(): void {
    let known = 0
    const newest = this.all()
      .filter(({ isOver }) => isOver)
      .reverse()
    for (const [i, { execution_id, threads, timeline }] of newest.entries()) {
      known += threads.size + timeline.size
      if (i > 0 && (i >= mostEnded || known > mostKnown)) this.forget(execution_id)
    }
  }
}
