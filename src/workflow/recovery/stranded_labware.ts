// The labware of a run that does not go on: it stands where it stood, and no thread moves it.

import { messageOf } from '../../errors.ts'
import type { ThreadOnBench } from '../state/run.ts'
import type { RunEnvironment } from '../threads/run_environment.ts'

/** Labware that somebody has to look for: nobody knows where it is, or where it was said to be it cannot be. */
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
    // It may stand elsewhere since.
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

/** All that can be said without a topology. */
export function leftInGrippers(threads: readonly ThreadOnBench[]): Lost[] {
  return threads.flatMap(({ labware: { name, held_by }, seat }) => (seat !== null && held_by !== null ? [inGripper(name, held_by)] : []))
}

function inGripper(name: string, held_by: string): Lost {
  return { category: 'LEDGER_CONTRADICTED', what: `${name} was in the gripper of ${held_by}` }
}

/** Another is known to be there, or there is no such place. */
export function cannotBe(name: string, { position, why }: { position: string; why: string }): Lost {
  return { category: 'DECK_RECONCILE_CONFLICT', what: `${name} stood at ${position}, and cannot be there now: ${why}` }
}
