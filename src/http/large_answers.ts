// Bounds large answers about runs with very many threads or rows: megabytes each, made in one turn of the event loop.

import { LabError } from '../errors.ts'
import type { Refusals } from '../kit/refusals.ts'
import type { Known } from '../workflow/snapshot.ts'
import type { Exchange } from './contract.ts'

/** The threads and rows of the timeline from which an answer is large. */
const large = 2000
/** The most large answers that wait to be taken at the same time. */
const most = 4

let underWay = 0

/**
 * Counts a large answer about a run until the client has taken it or is gone. Throws `overloaded` if too many are under way.
 */
export function countAnswerAbout({ execution }: Known, c: Exchange, refusals: Refusals): void {
  const { outgoing } = c.env ?? {}
  if (!execution || !outgoing || execution.threads.size + execution.timeline.size < large) return
  if (underWay >= most) {
    const sentence = `${most} answers about runs of over ${large} threads and rows are under way`
    refusals.count('large_run_reads', `a request was refused: ${sentence}`)
    throw new LabError('overloaded', `${sentence}; ask again in a moment`, { retry_after_s: 1 })
  }
  underWay++
  outgoing.once('close', () => void underWay--)
}
