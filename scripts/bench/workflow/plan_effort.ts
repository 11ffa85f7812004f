// Measures a plan for a random shop in a process of its own: the CPU, the memory, and the lag of the event loop beside the search.

import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Problem } from '../../../src/workflow/schedule/problem.ts'
import { defaultBudget, findSchedule } from '../../../src/workflow/schedule/search.ts'
import { findBeside } from '../../../src/workflow/search_worker.ts'
import { answerParent } from '../child.ts'
import { problemOf } from '../makespan/problem.ts'
import type { Shape } from '../makespan/shops.ts'
import { usage } from '../process.ts'

/** The CPU of the first plan of the process, before V8 has compiled anything, and of a later one; `more_mib` is what the process takes more with the thread of the search. */
export type Effort = { first_ms: number; later_ms: number; more_mib: number }
/** The lag of the event loop in ms. */
export type Lag = { without: number; beside: number }

type Asked = { what: 'effort' | 'lag'; shape: Shape; seconds?: number }

answerParent({}, async ({ what, shape, seconds = 5 }: Asked): Promise<Effort | Lag> => {
  const problem = await problemOf(shape)
  return what === 'effort' ? await effortOf(problem) : lagOf(problem, seconds)
})

async function effortOf(problem: Problem): Promise<Effort> {
  const { rss_mib } = usage()
  await findBeside(problem)
  const more_mib = process.resourceUsage().maxRSS / 1024 - rss_mib
  const cpuOf = () => {
    const { cpu_us } = usage()
    findSchedule(problem, { states: defaultBudget(problem) })
    return (usage().cpu_us - cpu_us) / 1000
  }
  const [first_ms = 0, later_ms = 0] = [cpuOf(), cpuOf()]
  return { first_ms, later_ms, more_mib }
}

/** Measures the lag of the event loop, first alone and then while plans are made beside it. */
async function lagOf(problem: Problem, seconds: number): Promise<Lag> {
  await findBeside(problem)
  const without = await lagDuring(() => new Promise((resolve) => setTimeout(resolve, seconds * 1000)))
  const beside = await lagDuring(async () => {
    for (const end = performance.now() + seconds * 1000; performance.now() < end; ) await findBeside(problem)
  })
  return { without, beside }
}

async function lagDuring(work: () => Promise<unknown>): Promise<number> {
  const delay = monitorEventLoopDelay({ resolution: 1 })
  delay.enable()
  await work()
  delay.disable()
  return delay.percentile(99) / 1e6
}
