// Checks right before a motion that the gripper is empty and the target is clear.

import { LabError } from '../../../errors.ts'
import type { Labware } from '../../state/labware.ts'
import type { Mover } from '../lid_carrier.ts'

/** Thrown through a move whose target is not reserved for its thread any more: the thread asks for its way anew. */
export class WayLost {}

/** Throws `WayLost` if a person has put other labware at the target since the way was granted. */
export function mustBeClear({ environment: { scheduler }, labware, thread_id }: Mover, to: string): void {
  const { labware_id: id } = labware
  const isOn = (there: string | null) => there === id || scheduler.lids.mayStandOn(id, there)
  const isOurs = scheduler.graph.sameZone(to).some(({ name }) => isOn(scheduler.position(name).labware_id))
  if (!isOurs && scheduler.position(to).reserved_for !== thread_id) throw new WayLost()
}

/** Throws `conflict` if another gripper has the labware, or a thread that has ended left labware in this one. */
export function mustBeEmpty(transporter: string, { environment, labware }: Mover): void {
  const held = labware.held_by ? labware : heldBy(transporter, environment.labware.values())
  if (!held) return
  throw new LabError(
    'conflict',
    `${held.name} is held by ${held.held_by}; take it out by hand, and say where it is (PUT /api/labware/${held.labware_id}/location)`,
  )
}

function heldBy(transporter: string, labware: Iterable<Labware>): Labware | undefined {
  for (const one of labware) if (one.held_by === transporter) return one
  return undefined
}
