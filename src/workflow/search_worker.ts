// Searches in a thread of its own, which starts with the first question. All benches of the process share it.

import { Worker } from 'node:worker_threads'
import type { Foretell } from './runs/forecaster.ts'
import type { DispatchProblem, Foretold } from './schedule/dispatch_problem.ts'
import type { FindSchedule, Schedule } from './schedule/problem.ts'
import type { Configuration } from './scheduler/safety_problem.ts'
import type { PackedDispatch, SearchQuestion } from './search_thread.ts'

/** The most memory of the thread, in MiB; a plan for a hundred plates needs a quarter. */
const heap_mib = 40

type Waiting = { resolve(answer: unknown): void; reject(error: Error): void }

class SearchWorker {
  #worker: Worker | undefined
  readonly #waiting = new Map<number, Waiting>()
  #id = 0

  /** Rejects if the thread ends before it answers. The next question starts another. */
  ask(question: SearchQuestion): Promise<unknown> {
    const worker = this.#worker ?? this.#begin()
    const id = this.#id++
    worker.ref()
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject })
      worker.postMessage({ id, question })
    })
  }

  #begin(): Worker {
    const worker = new Worker(new URL('./search_thread.js', import.meta.url), {
      // The options of the process are not for it: modules that are loaded ahead of the service may not be able to be loaded here.
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: heap_mib, maxYoungGenerationSizeMb: 8 },
    })
    this.#worker = worker
    worker.on('message', ({ id, answer }: { id: number; answer: unknown }) => {
      this.#waiting.get(id)?.resolve(answer)
      this.#waiting.delete(id)
      if (this.#waiting.size === 0) worker.unref()
    })
    const fail = () => {
      if (this.#worker !== worker) return
      this.#worker = undefined
      for (const { reject } of this.#waiting.values()) reject(new Error('the search was broken off'))
      this.#waiting.clear()
    }
    worker.on('error', fail)
    worker.on('exit', fail)
    return worker
  }
}

const searchWorker = new SearchWorker()

/** Finds a plan in the thread. Where that fails, there is none, and the bench goes by the rule. */
export const findBeside: FindSchedule = (problem) =>
  searchWorker.ask({ problem }).then(
    (schedule) => schedule as Schedule | null,
    () => null,
  )

/** Foretells in the thread; null where that fails. */
export const foretellBeside: Foretell = async (problem) => {
  const dispatch = await packed(problem)
  return searchWorker.ask({ dispatch }).then(
    (foretold) => foretold as Foretold | null,
    () => null,
  )
}

/** The labware of one slice. */
const slice = 8

/** Returns a problem as texts, which are sent to the thread faster than objects. They are made in slices, so that the event loop gets its turns between them. */
async function packed({ lanes, seeds, ...rest }: DispatchProblem): Promise<PackedDispatch> {
  const texts: PackedDispatch = { rest: JSON.stringify(rest), lanes: [], seeds: [] }
  for (const [kind, all] of [['lanes', lanes] as const, ['seeds', Object.values(seeds)] as const]) {
    for (let first = 0; first < all.length; first += slice) {
      texts[kind].push(JSON.stringify(all.slice(first, first + slice)))
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  return texts
}

/** Says with more effort than the service can spend whether all labware can still finish; false also where that is not enough to know. */
export const isSafeBeside = async (configuration: Configuration): Promise<boolean> => (await searchWorker.ask({ configuration })) as boolean
