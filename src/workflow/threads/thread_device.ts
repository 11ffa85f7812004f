// The device that a thread has for its action. The lease keeps others from it, and is suspended while an error holds the thread.

import type { RunEnvironment } from './run_environment.ts'

type Thread = { readonly thread_id: string; readonly environment: RunEnvironment; readonly execution: { readonly execution_id: string } }

export class ThreadDevice {
  readonly #thread: Thread
  /** The device; null while the thread has none. */
  name: string | null = null
  #endLease: (() => void) | undefined

  constructor(thread: Thread) {
    this.#thread = thread
  }

  /** Takes the device, and leases it, until `release`. */
  take(name: string): void {
    this.name = name
    this.lease()
  }

  release(): void {
    if (this.name === null) return
    this.endLease()
    this.#thread.environment.scheduler.holds.release(this.#thread.thread_id, this.name)
    this.name = null
  }

  /** Leases the device, if the thread has one. */
  lease(): void {
    const { environment, execution } = this.#thread
    this.#endLease = this.name === null ? undefined : environment.equipment.hold?.(this.name, execution.execution_id)
  }

  /** Suspends the lease; the thread keeps the device. */
  endLease(): void {
    this.#endLease?.()
  }
}
