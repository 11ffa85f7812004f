// One process that makes a plan for a random shop: its CPU and memory, and what the event loop of the service feels of it.

import { monitorEventLoopDelay } from 'node:perf_hooks'
import type { Problem } from '../../../src/workflow/schedule/problem.ts'
import { defaultBudget, findSchedule } from '../../../src/workflow/schedule/search.ts'
import { findBeside } from '../../../src/workflow/search_worker.ts'
import { answerParent } from '../child.ts'
import { problemOf } from '../makespan/problem.ts'
import type { Shape } from '../makespan/shops.ts'
import { usage } from '../process.ts'

/** `cpu_ms` is that of the first plan of the process, before V8 has compiled anything; `more_mib` what the process takes more. */
export type Effort = { cpu_ms: number; more_mib: number; states: number }
/** The lag of the event loop in ms. */
export type Lag = { without: number; beside: number }

type Asked = { what: 'effort' | 'lag'; shape: Shape; seconds?: number }

answerParent({}, async ({ what, shape, seconds = 5 }: Asked): Promise<Effort | Lag> => {
  const problem = await problemOf(shape)
  return what === 'effort' ? effortOf(problem) : lagOf(problem, seconds)
})

function effortOf(problem: Problem): Effort {
  const before = usage()
  const schedule = findSchedule(problem, { states: defaultBudget(problem) })
  const after = usage()
  const most = process.resourceUsage().maxRSS / 1024
  return { cpu_ms: (after.cpu_us - before.cpu_us) / 1000, more_mib: most - before.rss_mib, states: schedule?.states ?? 0 }
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
