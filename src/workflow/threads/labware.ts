// One piece of labware: what it is, and where.

import type { LabwareTemplate } from '../plans/documents.ts'

export type Labware = {
  readonly labware_id: string
  readonly name: string
  /** The name of its template. */
  readonly template: string
  readonly type: string
  readonly kind: LabwareTemplate['kind']
  barcode: string | null
  /** What a rack still holds; null if it is none, or nobody said. */
  tips_left: number | null
  readonly tips: number | null
  state: 'AVAILABLE' | 'IN_JOURNEY' | 'PARKED' | 'ENDED'
  /** The transporter that has, or may have, it in its gripper. */
  held_by: string | null
  /** The position where it may stand already: nothing moves it any more, and its last move was cut off while it was being put down. */
  placing?: string | undefined
  /** The execution that moved it last, or moves it; absent where that is not known. */
  last_run?: string | undefined
}

/** Says in words where labware may be that stands at `position` as far as the scheduler knows. */
export function placeOf({ held_by, placing }: Pick<Labware, 'held_by' | 'placing'>, position: string | null): string {
  const gripper = held_by === null ? [] : [`in the gripper of ${held_by}`]
  const places = [...(position === null ? [] : [`at ${position}`]), ...gripper, ...(placing === undefined ? [] : [`at ${placing}`])]
  return places.join(' or ') || 'nobody knows where'
}

export function isSpent({ tips_left }: Labware): boolean {
  return tips_left === 0
}

/** More than three quarters used. */
export function isLow({ tips, tips_left }: Labware): boolean {
  return tips !== null && tips_left !== null && tips_left > 0 && tips_left < tips / 4
}
