// The labware of a run that is not continued: it stays where it was, and no thread moves it.

import { messageOf } from '../../errors.ts'
import type { ThreadOnBench } from '../state/run.ts'
import type { RunEnvironment } from '../threads/run_environment.ts'

/** Labware that a person has to find: its place is unknown, or its recorded place is impossible. */
export type Lost = { category: 'LEDGER_CONTRADICTED' | 'DECK_RECONCILE_CONFLICT'; what: string }

export function strandLabware({ scheduler, labware: known }: RunEnvironment, threads: readonly ThreadOnBench[]): Lost[] {
  return threads.flatMap((thread): Lost[] => {
    const { labware, seat: position, thread_id } = thread
    const { labware_id, name, held_by } = labware
    const isHalfTakenUp = scheduler.whose(labware_id) === thread_id
    scheduler.forget(thread_id)
    if (isHalfTakenUp) {
      scheduler.remove(labware_id)
      known.delete(labware_id)
    }
    // The labware may have been moved since.
    if (position === null || known.has(labware_id)) return []
    const placing = thread.placing ?? labware.placing
    known.set(labware_id, { ...labware, state: 'ENDED', placing })
    const lost = held_by === null ? [] : [inGripper(name, held_by)]
    try {
      scheduler.put(labware_id, position, null)
      if (placing !== undefined && scheduler.graph.positions.has(placing)) scheduler.holds.keep(labware_id, placing)
      return lost
    } catch (error) {
      return [...lost, cannotBe(name, { position, why: messageOf(error) })]
    }
  })
}

/** Lists labware that may be in grippers, for which no topology is needed. */
export function leftInGrippers(threads: readonly ThreadOnBench[]): Lost[] {
  return threads.flatMap(({ labware: { name, held_by }, seat }) => (seat !== null && held_by !== null ? [inGripper(name, held_by)] : []))
}

function inGripper(name: string, held_by: string): Lost {
  return { category: 'LEDGER_CONTRADICTED', what: `${name} was held by ${held_by}` }
}

/** Reports labware whose place is taken by another, or does not exist. */
export function cannotBe(name: string, { position, why }: { position: string; why: string }): Lost {
  return { category: 'DECK_RECONCILE_CONFLICT', what: `${name} stood at ${position}, and cannot be there now: ${why}` }
}
