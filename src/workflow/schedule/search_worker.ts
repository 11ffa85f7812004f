// Searches for schedules in a thread of its own, which starts with the first problem.

import { Worker } from 'node:worker_threads'
import type { FindSchedule, Problem, Schedule } from './problem.ts'

/** The most memory of the search, in MiB; it needs a tenth for a hundred plates. */
const heap_mib = 40

class SearchWorker {
  #worker: Worker | undefined
  readonly #waiting = new Map<number, (schedule: Schedule | null) => void>()
  #id = 0

  /** Resolves with the schedule; null if none was found, or the search could not be made. */
  find(problem: Problem): Promise<Schedule | null> {
    const worker = this.#worker ?? this.#begin()
    const id = this.#id++
    worker.ref()
    const found = new Promise<Schedule | null>((resolve) => this.#waiting.set(id, resolve))
    worker.postMessage({ id, problem })
    return found
  }

  #begin(): Worker {
    const worker = new Worker(new URL('./search_thread.js', import.meta.url), {
      // The options of the process are not for it: modules that are loaded ahead of the service may not be able to be loaded here.
      execArgv: [],
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

const searchWorker = new SearchWorker()

/** Searches in the thread that all benches of the process share. Resolves with null also where the search could not be made. */
export const findBeside: FindSchedule = (problem) => searchWorker.find(problem)
