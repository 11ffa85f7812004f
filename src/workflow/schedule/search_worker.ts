// Searches for schedules in a thread of its own, which starts with the first problem.

import { Worker } from 'node:worker_threads'
import type { Problem, Schedule } from './problem.ts'

/** The most memory of the search, in MiB; it needs a tenth for a hundred plates. */
const heap_mib = 40

export class SearchWorker {
  #worker: Worker | undefined
  readonly #waiting = new Map<number, (schedule: Schedule | null) => void>()
  #id = 0
  #last: Promise<unknown> | undefined

  /** Resolves with the schedule; null if none was found, or the search could not be made. */
  find(problem: Problem): Promise<Schedule | null> {
    const worker = this.#worker ?? this.#begin()
    const id = this.#id++
    worker.ref()
    const found = new Promise<Schedule | null>((resolve) => this.#waiting.set(id, resolve))
    this.#last = found
    worker.postMessage({ id, problem })
    return found
  }

  /** Resolves when no search is under way; undefined while there is none. */
  get idle(): Promise<unknown> | undefined {
    return this.#waiting.size === 0 ? undefined : this.#last
  }

  #begin(): Worker {
    const worker = new Worker(new URL('./search_thread.js', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: heap_mib, maxYoungGenerationSizeMb: 8 },
    })
    this.#worker = worker
    worker.on('message', ({ id, schedule }: { id: number; schedule: Schedule | null }) => {
      this.#waiting.get(id)?.(schedule)
      this.#waiting.delete(id)
      if (this.#waiting.size === 0) worker.unref()
    })
    // Without a plan the bench goes by the rule.
    const fail = () => {
      if (this.#worker !== worker) return
      this.#worker = undefined
      for (const resolve of this.#waiting.values()) resolve(null)
      this.#waiting.clear()
    }
    worker.on('error', fail)
    worker.on('exit', fail)
    return worker
  }
}

/** All benches of a process share one. */
export const searchWorker = new SearchWorker()
