// One piece of labware: what it is, and where.

import * as v from 'valibot'
import { barcodeText } from '../../kit/name.ts'

const Text = v.nullable(v.string())

export const Labware = v.object({
  labware_id: v.string(),
  name: v.string(),
  template: v.string(),
  type: v.string(),
  kind: v.picklist(['plate', 'tip_rack', 'trough']),
  /** Earlier versions kept barcodes as a scanner sent them. */
  barcode: v.pipe(
    Text,
    v.transform((read) => read && (barcodeText(read) || null)),
  ),
  /** Tips that a rack still holds; null if it is no rack, or nobody said. */
  tips_left: v.nullable(v.number()),
  tips: v.nullable(v.number()),
  state: v.picklist(['AVAILABLE', 'IN_JOURNEY', 'PARKED', 'ENDED']),
  /** The transporter that has, or may have, it in its gripper. */
  held_by: Text,
  /** The execution that moved it last, or moves it; absent where that is not known. */
  last_run: v.optional(v.string()),
  /** The position where it may stand already: nothing moves it any more, and its last move was cut off while it was being put down. */
  placing: v.optional(v.string()),
})
export type Labware = v.InferOutput<typeof Labware>

/** The labware on a deck, by id. */
export class LabwareOnDeck extends Map<string, Labware> {
  /** Called with the id of labware that is there now, or is another, or is not there any more. */
  onChanged: (labware_id: string) => void = () => {}

  override set(labware_id: string, labware: Labware): this {
    super.set(labware_id, labware)
    this.onChanged(labware_id)
    return this
  }

  override delete(labware_id: string): boolean {
    const wasThere = super.delete(labware_id)
    this.onChanged(labware_id)
    return wasThere
  }
}

/** Says in words where labware may be that stands at `position` as far as the scheduler knows; `otherwise` where it knows no place. */
export function placeOf(
  { held_by, placing }: Pick<Labware, 'held_by' | 'placing'>,
  position: string | null,
  otherwise = 'nobody knows where',
): string {
  const holder = held_by === null ? [] : [`held by ${held_by}`]
  const places = [...(position === null ? [] : [`at ${position}`]), ...holder, ...(placing === undefined ? [] : [`at ${placing}`])]
  return places.join(' or ') || otherwise
}

export function isSpent({ tips_left }: Labware): boolean {
  return tips_left === 0
}

/** More than three quarters used. */
export function isLow({ tips, tips_left }: Labware): boolean {
  return tips !== null && tips_left !== null && tips_left > 0 && tips_left < tips / 4
}
