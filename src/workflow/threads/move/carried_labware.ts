// The facts about labware that its transporter needs, and whether the transporter can carry it.

import type { CarriedLabware } from '../../../devices/way.ts'
import type { Hop } from '../../plans/graph.ts'
import { LidCarrier, lidCarrierOf, type Mover } from '../lid_carrier.ts'

/** Returns the labware of the thread as a transporter has to know it at a position. How to grip it stands in the workflow. */
export function carriedBy(mover: Mover, position?: string): CarriedLabware {
  const { labware, plan, execution } = mover
  const { name, type, barcode } = labware
  const { labware: templates } = execution.workflow.document
  const { grip, grip_offset_mm = 0, pad_offset_mm = 0 } = templates[plan.labware] ?? {}
  const carried = { name, type, barcode, ...(grip && { grip }) }
  if (mover instanceof LidCarrier) {
    const isAtPlate = mover.environment.scheduler.whereIs(mover.thread.labware.labware_id) === position
    return { ...carried, lift_mm: isAtPlate ? grip_offset_mm : pad_offset_mm }
  }
  const lid = lidCarrierOf(mover)
  const height = lid?.isOn ? templates[lid.labware.template]?.lid_height_mm : undefined
  return height === undefined ? carried : { ...carried, lid_height_mm: height }
}

/** Throws `invalid` or `not_found`, naming the points, unless the transporter can make the hop. */
export function mustReach(mover: Mover, { transporter, from, to }: Hop): void {
  const { equipment } = mover.environment
  equipment.mustReach?.(transporter, [from, to])
  if (mover instanceof LidCarrier) equipment.mustGripLids?.(transporter, [from, to])
}
