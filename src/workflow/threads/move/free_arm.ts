// Shares the hops between transporters that reach the same positions: the first one that is free makes a hop.

import type { Hop } from '../../plans/graph.ts'
import type { Obstacle } from '../../scheduler/request.ts'
import type { LabwareThread } from '../thread.ts'

/** Waits for one of the transporters that can make the hop, and takes it. Resolves with the hop of that transporter; undefined if only one can make it. */
export function takeFreeArm(thread: LabwareThread, { from, to }: Hop): Promise<Hop> | undefined {
  const { scheduler } = thread.environment
  const able = scheduler.graph.transportersBetween(from, to)
  if (able.length < 2 || thread.labware.held_by !== null) return undefined
  const obstacles = () =>
    able.map((wanted): Obstacle => ({ wanted, reason: 'held', thread_id: scheduler.transporters.holder(wanted) ?? null, labware_id: null }))
  const waiting = { kind: 'reservation', what: `transporter ${able.join(' or ')}`, interruptedBy: 'abort', obstacles } as const
  return thread.control.wait<Hop>(waiting, (resolve) => {
    const turns = new Map<string, { withdraw(): void }>()
    let isTaken = false
    const take = (transporter: string) => {
      isTaken = true
      for (const [other, turn] of turns) if (other !== transporter) turn.withdraw()
      resolve({ from, to, transporter })
    }
    for (const transporter of able)
      if (!isTaken)
        turns.set(
          transporter,
          scheduler.take(transporter, thread.thread_id, () => take(transporter)),
        )
    return () => {
      for (const turn of turns.values()) turn.withdraw()
    }
  })
}
