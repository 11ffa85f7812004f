// The thread that searches for schedules beside the service. It gives way to everything else on the computer.

import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import type { Problem } from './problem.ts'
import { defaultBudget, findSchedule } from './search.ts'

/** The lowest but one of the priorities of Linux, where each thread has its own. */
const background = 15

giveWay()
parentPort?.on('message', ({ id, problem }: { id: number; problem: Problem }) => {
  const schedule = findSchedule(problem, { states: defaultBudget(problem) })
  parentPort?.postMessage({ id, schedule })
})

function giveWay(): void {
  try {
    setPriority(Number(readlinkSync('/proc/thread-self').split('/').at(-1)), background)
  } catch {
    // Elsewhere than on Linux the search has the priority of the service.
  }
}
