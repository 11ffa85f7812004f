// The labware of a run that does not go on: it stands where it stood, and no thread moves it.

import { messageOf } from '../../errors.ts'
import { isTerminal, type ThreadStatus, threadTransitions } from '../statuses.ts'
import type { World } from '../threads/world.ts'
import type { SavedThread } from './saved.ts'

/** Labware that somebody has to look for: nobody knows where it is, or where it was said to be it cannot be. */
export type Lost = { category: 'LEDGER_CONTRADICTED' | 'DECK_RECONCILE_CONFLICT'; what: string }

export function leaveBehind({ scheduler, labware: known }: World, threads: readonly SavedThread[]): Lost[] {
  return threads.flatMap((thread): Lost[] => {
    const { labware, seat, thread_id } = thread
    // It may have been half taken up: an arm, a place.
    scheduler.forget(thread_id)
    const { labware_id, name, held_by } = labware
    const isKnown = scheduler.whereIs(labware_id) !== undefined
    // It has ended there, and others may know better since.
    if (isOver(thread) ? isKnown && seat !== null : seat === null) return []
    if (isKnown) {
      scheduler.remove(labware_id)
      known.delete(labware_id)
    }
    if (seat === null) return []
    const placing = thread.placing ?? labware.placing
    known.set(labware_id, { ...labware, state: 'ENDED', placing })
    const lost = held_by === null ? [] : [inGripper(name, held_by)]
    try {
      scheduler.put(labware_id, seat, null)
      if (placing !== undefined && scheduler.graph.seats.has(placing)) scheduler.keep(labware_id, placing)
      return lost
    } catch (error) {
      return [...lost, cannotBe(name, { seat, why: messageOf(error) })]
    }
  })
}

/** All that can be said without a topology. */
export function leftInGrippers(threads: readonly SavedThread[]): Lost[] {
  return threads.flatMap(({ labware: { name, held_by }, seat }) => (seat !== null && held_by !== null ? [inGripper(name, held_by)] : []))
}

export function isOver({ status }: SavedThread): boolean {
  return isTerminal(threadTransitions, status as ThreadStatus)
}

export function inGripper(name: string, held_by: string): Lost {
  return { category: 'LEDGER_CONTRADICTED', what: `${name} was in the gripper of ${held_by}` }
}

/** Another is known to be there, or there is no such place. */
export function cannotBe(name: string, { seat, why }: { seat: string; why: string }): Lost {
  return { category: 'DECK_RECONCILE_CONFLICT', what: `${name} stood at ${seat}, and cannot be there now: ${why}` }
}
