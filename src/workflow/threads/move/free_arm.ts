// Shares the hops between transporters that reach the same positions: the first one that is free makes a hop. Machines share with machines, and people
// with people, because no arm moves within reach of a person's task.

import type { Equipment } from '../../equipment/equipment.ts'
import type { Graph, Hop } from '../../plans/graph.ts'
import type { Obstacle } from '../../scheduler/request.ts'
import type { Mover } from '../lid_carrier.ts'

/** Waits for one of the transporters that can make the hop, and takes it. Resolves with the hop of that transporter; undefined if only one can make it. */
export function takeFreeArm(thread: Mover, hop: Hop): Promise<Hop> | undefined {
  const { scheduler, equipment } = thread.environment
  const { from, to } = hop
  // Labware in a gripper stays with its arm.
  if (thread.labware.held_by !== null) return undefined
  const alike = alikeOf(hop, scheduler.graph, equipment)
  const faulted = new Set(alike.length > 1 ? equipment.faults?.().map(({ device_id }) => device_id) : [])
  const able = alike.filter((transporter) => !faulted.has(transporter))
  if (able.length === 1 && able[0] !== hop.transporter) return Promise.resolve({ ...hop, transporter: able[0]! })
  if (able.length < 2) return undefined
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

/** Lists the transporters that can make a hop in place of its own, itself included: machines for a machine, people for a person. */
export function alikeOf({ from, to, transporter }: Hop, graph: Graph, equipment: Pick<Equipment, 'person'>): readonly string[] {
  const able = graph.transportersBetween(from, to)
  if (able.length < 2) return able
  const isPerson = (one: string) => equipment.person?.(one) !== undefined
  return able.filter((one) => isPerson(one) === isPerson(transporter))
}
