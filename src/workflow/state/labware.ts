// The state of one labware.

import * as v from 'valibot'
import { LabError } from '../../errors.ts'
import { barcodeText } from '../../kit/name.ts'
import { slotOf } from './slots.ts'

const Text = v.nullable(v.string())

export const Labware = v.object({
  labware_id: v.string(),
  name: v.string(),
  template: v.string(),
  type: v.string(),
  kind: v.picklist(['plate', 'tip_rack', 'trough', 'lid']),
  /** Cleaned here, because earlier versions stored barcodes as the scanner sent them. */
  barcode: v.pipe(
    Text,
    v.transform((read) => read && (barcodeText(read) || null)),
  ),
  /** The tips that a rack still holds; null if unknown or not a rack. */
  tips_left: v.nullable(v.number()),
  tips: v.nullable(v.number()),
  /** The id of the plate on which this lid is; absent for other labware, and for a lid that lies apart. */
  on: v.optional(v.string()),
  state: v.picklist(['AVAILABLE', 'IN_JOURNEY', 'PARKED', 'ENDED']),
  /** The transporter that has, or may have, it in its gripper. */
  held_by: Text,
  /** The run that moves it, or moved it last; absent if unknown. */
  last_run: v.optional(v.string()),
  /** When it came into a slot of a storage, in Unix seconds; absent elsewhere, and if unknown. */
  stored_at: v.optional(v.number()),
  /** The position where it may already stand: its last move was cut off during the place, and nothing moves it any more. */
  placing: v.optional(v.string()),
  /** The person who may have taken it out of the gripper of `held_by`. */
  taken_by: v.optional(v.string()),
})
export type Labware = v.InferOutput<typeof Labware>

/** The labware of the threads that do the operations of a run itself: there is none. Its template is the part of the operations. */
export const noLabware: Labware = {
  ...{ labware_id: '', name: '', template: '', type: '', kind: 'plate', barcode: null, tips_left: null, tips: null },
  ...{ state: 'AVAILABLE', held_by: null },
}

export function isLabware({ labware_id }: Pick<Labware, 'labware_id'>): boolean {
  return labware_id !== ''
}

/** The labware on a deck, by id. */
export class LabwareOnDeck extends Map<string, Labware> {
  /** Called with the id of labware that was added, changed or removed. */
  onChanged: (labware_id: string) => void = () => {}
  /** The labware that a storage moves for a person just now, and the storage. */
  readonly inTransfer = new Map<string, string>()

  /** Throws `conflict` while a storage moves the labware for a person. */
  mustNotBeInTransfer(labware_id: string): void {
    const storage = this.inTransfer.get(labware_id)
    if (storage === undefined) return
    throw new LabError('conflict', `${storage} moves ${this.get(labware_id)?.name ?? labware_id} just now; wait, or stop ${storage}`)
  }

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

/** Returns the change of `stored_at` of labware that comes to a position; `now` returns Unix seconds. */
export function storedIn(
  position: string | null,
  { stored_at }: Pick<Labware, 'stored_at'>,
  now: () => number,
): Pick<Labware, 'stored_at'> {
  if (position !== null && slotOf(position) !== null) return { stored_at: now() }
  return stored_at === undefined ? {} : { stored_at: undefined }
}

/** Says where labware may be. `position` is where the scheduler has it; `otherwise` is returned if no place is known. */
export function placeOf(
  { held_by, placing, taken_by }: Pick<Labware, 'held_by' | 'placing' | 'taken_by'>,
  position: string | null,
  otherwise = 'nobody knows where',
): string {
  const holders = [held_by, taken_by].flatMap((holder) => (holder ? `held by ${holder}` : []))
  const places = [...(position === null ? [] : [`at ${position}`]), ...holders, ...(placing === undefined ? [] : [`at ${placing}`])]
  return places.join(' or ') || otherwise
}

export function isSpent({ tips_left }: Labware): boolean {
  return tips_left === 0
}

/** Whether more than three quarters of the tips are used, but not all. */
export function isLow({ tips, tips_left }: Labware): boolean {
  return tips !== null && tips_left !== null && tips_left > 0 && tips_left < tips / 4
}
