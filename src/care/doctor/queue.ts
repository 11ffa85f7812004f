// The queue of runs, as the service reports it.

import { type Finding, finder } from './finding.ts'
import type { Patient } from './patient.ts'

type Queue = {
  paused: { message: string } | null
  waiting: number
  entries: { number: number | null; workflow: string; needs_person: boolean; why_it_waits: string | null }[]
}

/** Returns no findings while nothing waits in the queue. */
export async function queue({ service }: Patient): Promise<Finding[]> {
  if (service.is !== 'answering') return []
  const { ok, warn } = finder('queue')
  const { paused, waiting, entries } = await service.get<Queue>('/api/queue')
  if (waiting === 0) return []
  const runs = waiting === 1 ? '1 run waits' : `${waiting} runs wait`
  const held = entries.filter(({ needs_person }) => needs_person)
  return [
    paused ? warn(`${runs}, and the queue is paused: ${paused.message}`, 'when the bench is fit: benchd queue resume') : ok(runs),
    ...held.slice(0, 1).map(({ number, workflow, why_it_waits }) => {
      const others = held.length > 1 ? `; so do ${held.length - 1} others` : ''
      return warn(`number ${number}, ${workflow}, waits for a person: ${why_it_waits}${others}`, 'benchd queue list')
    }),
  ]
}
