// The thread that searches beside the service: for plans, and for whether all labware can still finish. It gives way to everything else on the computer.

import { readlinkSync } from 'node:fs'
import { setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'
import type { Problem } from './schedule/problem.ts'
import { defaultBudget, findSchedule } from './schedule/search.ts'
import { type Configuration, isSafeUnbounded } from './scheduler/safety_search.ts'

/** A question of the service. */
export type SearchQuestion = { problem: Problem } | { configuration: Configuration }

/** The lowest but four of the priorities of Linux, where each thread has its own. */
const background = 15

giveWay()
parentPort?.on('message', ({ id, question }: { id: number; question: SearchQuestion }) => {
  parentPort?.postMessage({ id, answer: answerTo(question) })
})

function answerTo(question: SearchQuestion): unknown {
  if ('configuration' in question) return isSafeUnbounded(question.configuration)
  return findSchedule(question.problem, { states: defaultBudget(question.problem) })
}

function giveWay(): void {
  try {
    setPriority(Number(readlinkSync('/proc/thread-self').split('/').at(-1)), background)
  } catch {
    // Elsewhere than on Linux the search has the priority of the service.
  }
}
