// The labware of a run that does not go on: it stands where it stood, and no thread moves it.

import { LabError, messageOf } from '../../errors.ts'
import { isTerminal, type ThreadStatus, threadTransitions } from '../statuses.ts'
import type { World } from '../threads/world.ts'
import type { SavedThread } from './saved.ts'

/** Answers what somebody has to look for: labware that was in a gripper, or whose place is not there or is taken. */
export function leaveBehind(live: World | null, threads: readonly SavedThread[]): string[] {
  return threads.flatMap(({ labware, seat, status }) => {
    const isOver = isTerminal(threadTransitions, status as ThreadStatus)
    const stands = live?.floor.whereIs(labware.labware_id)
    if (seat === null) {
      if (isOver && stands !== undefined) takeOff(live!, labware.labware_id)
      return []
    }
    // It has ended there, and others may know better since.
    if (isOver && stands !== undefined) return []
    if (stands !== undefined) takeOff(live!, labware.labware_id)
    live?.labware.set(labware.labware_id, { ...labware, state: 'ENDED', held_by: null })
    if (labware.held_by !== null) return `${labware.name} was in the gripper of ${labware.held_by}`
    try {
      if (!live) throw new LabError('conflict', 'no topology is loaded')
      live.floor.put(labware.labware_id, seat, null)
      return []
    } catch (error) {
      return `${labware.name} stood at ${seat} (${messageOf(error)})`
    }
  })
}

function takeOff({ floor, labware }: World, labware_id: string): void {
  floor.remove(labware_id)
  labware.delete(labware_id)
}
