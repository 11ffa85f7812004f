// The state of a run in a word, with its mark and its tone.

import type { ExecutionSummary, Thread } from '../clients/ts/benchd.ts'

type Going = Pick<ExecutionSummary, 'status' | 'paused' | 'ended_at' | 'open_count' | 'needs_person_count'>

/** Returns the state of a run, with the number of threads that wait for a person. */
export function runWord({ status, paused, ended_at, open_count, needs_person_count }: Going): { word: string; tone: string; mark: string } {
  if (ended_at === null && paused) return { word: 'paused', tone: 'calm', mark: '‖' }
  if (ended_at === null && needs_person_count > 0 && needs_person_count === open_count)
    return { word: 'needs a person', tone: 'bad', mark: '‖' }
  if (ended_at === null && needs_person_count > 0)
    return { word: `runs, ${needs_person_count} of ${open_count} need a person`, tone: 'busy', mark: '▶' }
  if (ended_at === null) return { word: 'runs', tone: 'busy', mark: '▶' }
  if (status === 'COMPLETED') return { word: 'completed', tone: 'good', mark: '✓' }
  return { word: status.toLowerCase(), tone: 'bad', mark: '✕' }
}

/** Whether a thread goes on only after a person has done or decided something. */
export function needsPerson({ status, pause_reason, waiting }: Pick<Thread, 'status' | 'pause_reason' | 'waiting'>): boolean {
  return pause_reason === 'error' || waiting?.kind === 'operator' || status.startsWith('AWAITING_MANUAL')
}
