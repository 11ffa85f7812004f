// The racks of a storage: how the slots that people count relate to racks and levels.

import * as v from 'valibot'
import { described, Whole } from '../src/kit/described.ts'

/** The number of plates in a rack. */
export const Levels = described(Whole(1, 200), 'How many plates the rack holds, one above another')

/** Makes the schema of the racks of a storage, whose members besides `slots` the driver knows. */
export function racksOf<Rack extends v.GenericSchema>(rack: Rack) {
  return described(
    v.pipe(v.array(rack), v.minLength(1), v.maxLength(50)),
    'The racks (stackers, cassettes), in the order of the instrument',
  )
}

type Rack = { slots: number }

/** Returns the number of slots in all racks. */
export function slotsIn(racks: readonly Rack[]): number {
  return racks.reduce((sum, { slots }) => sum + slots, 0)
}

/**
 * Returns the rack of a slot, and the number of the rack and of the level in it, both from 1. Slots count from 1 at the lowest level of the first rack, and go on
 * at the lowest level of the next one. Undefined for a slot that there is not.
 */
export function levelOf<Its extends Rack>(racks: readonly Its[], slot: number): { rack: Its; number: number; level: number } | undefined {
  let before = 0
  for (const [index, rack] of racks.entries()) {
    if (slot > before && slot <= before + rack.slots) return { rack, number: index + 1, level: slot - before }
    before += rack.slots
  }
  return undefined
}

/** Returns the slot at a level of a rack; undefined where there is none. */
export function slotAt(racks: readonly Rack[], rack: number, level: number): number | undefined {
  const its = racks[rack - 1]
  if (!its || level < 1 || level > its.slots) return undefined
  return slotsIn(racks.slice(0, rack - 1)) + level
}
