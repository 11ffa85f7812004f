// A person has put labware somewhere by hand, and says so.

import { LabError } from '../../../errors.ts'
import { didYouMeanAmong } from '../../../kit/did_you_mean.ts'
import type { Labware } from '../../state/labware.ts'
import type { RunEnvironment } from '../run_environment.ts'
import type { LabwareThread } from '../thread.ts'

/** Labware, and the thread that moves it if there is one. */
type Piece = { labware: Labware; environment: RunEnvironment; thread: LabwareThread | null }

/** Takes a person's word that the labware of a thread stands at a position. Throws `not_found` and `conflict`. */
export function putByHand(thread: LabwareThread, position: string): void {
  const { environment, labware, thread_id } = thread
  const device = mustBeFree({ labware, environment, thread }, position)
  environment.scheduler.put(labware.labware_id, position, thread_id)
  const { held_by } = labware
  thread.setLabware({ held_by: null, placing: undefined })
  if (held_by !== null) environment.scheduler.transporters.giveBack(held_by, thread_id)
  endUncertainty(thread)
  // An action for which the labware had come, and that has not begun, waits for it anew.
  const action = thread.action ?? thread.joining?.action
  if (action && action.device !== device) action.takenAway(thread)
}

/** Ends the uncertainty about a move that the end of the service cut off, after somebody has said where the labware is, or it was put back. */
export function endUncertainty(thread: LabwareThread): void {
  const { environment, execution, thread_id } = thread
  const { placing } = thread.state
  thread.set({ placing: null, picking: false, asked: null })
  thread.isWitnessed = false
  thread.move?.set({ is_placing: false, has_failed_pick: false })
  execution.operator.forget(thread_id)
  if (placing !== null) environment.scheduler.holds.letGo(thread_id, placing)
}

/** Returns the device whose nest the position is. Throws `not_found` and `conflict`. */
export function mustBeFree({ labware, environment, thread }: Piece, position: string): string | null {
  const { scheduler } = environment
  const { positions } = scheduler.graph
  if (!positions.has(position))
    throw new LabError('not_found', `the topology has no place ${position}${didYouMeanAmong(position, [...positions.keys()])}`)
  const { reserved_for, device } = scheduler.position(position)
  const refused = (why: string) => new LabError('conflict', `${labware.name} cannot be at ${position}: ${why}`)
  // The stations of a shuttle are one place.
  for (const { name } of scheduler.graph.sameZone(position)) {
    const { labware_id } = scheduler.position(name)
    if (labware_id !== null && labware_id !== labware.labware_id)
      throw refused(`${environment.labware.get(labware_id)?.name ?? labware_id} stands ${name === position ? 'there' : `at ${name}`}`)
  }
  if (reserved_for !== null && reserved_for !== (thread?.thread_id ?? labware.labware_id))
    throw refused(`it is reserved for thread ${reserved_for}`)
  const holder = device === null ? undefined : scheduler.holds.holder(device)
  const isOurs = holder === undefined || holder === thread?.thread_id || holder === thread?.joining?.owner.thread_id
  if (!isOurs) throw refused(`thread ${holder} holds ${device}`)
  return device
}
