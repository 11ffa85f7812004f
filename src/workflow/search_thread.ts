// The thread that searches beside the service: for plans, and for whether all labware can still finish. It gives way to everything else on the computer.

import { parentPort } from 'node:worker_threads'
import { giveWay } from '../kit/background_thread.ts'
import type { DispatchProblem, Lane } from './schedule/dispatch_problem.ts'
import { foretell } from './schedule/foretell.ts'
import type { Problem } from './schedule/problem.ts'
import { defaultBudget, findSchedule } from './schedule/search.ts'
import type { Configuration } from './scheduler/safety_problem.ts'
import { isSafe } from './scheduler/safety_search.ts'

/** A problem of the simulation of dispatch as JSON; of labware the texts of several lists. */
export type PackedDispatch = { rest: string; lanes: string[]; seeds: string[] }

/** A question of the service. */
export type SearchQuestion = { problem: Problem } | { dispatch: PackedDispatch } | { configuration: Configuration }

/** More do not fit into the memory of the thread. */
const mostConfigurations = 300_000

giveWay()
parentPort?.on('message', ({ id, question }: { id: number; question: SearchQuestion }) => {
  parentPort?.postMessage({ id, answer: answerTo(question) })
})

function unpacked({ rest, lanes, seeds }: PackedDispatch): DispatchProblem {
  const all = (texts: readonly string[]) => texts.flatMap((text) => JSON.parse(text) as Lane[])
  const byKey = Object.fromEntries(all(seeds).map((seed) => [seed.key, seed]))
  return { ...JSON.parse(rest), lanes: all(lanes), seeds: byKey }
}

function answerTo(question: SearchQuestion): unknown {
  if ('configuration' in question) return isSafe(question.configuration, mostConfigurations).verdict === 'safe'
  if ('dispatch' in question) return foretell(unpacked(question.dispatch))
  return findSchedule(question.problem, { states: defaultBudget(question.problem) })
}
