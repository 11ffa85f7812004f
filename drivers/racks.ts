// The racks of a storage: how the slots that people count relate to racks and levels. The settings and the profile that storages share.

import * as v from 'valibot'
import type { Limits, Profile } from '../src/devices/device.ts'
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

export const SimulatedPlates = v.optional(described(v.array(Whole(1, 10_000)), 'Slots that hold a plate when a simulation begins'), [])

type Rack = { slots: number }
type Ranges = Record<'min_temperature' | 'max_temperature' | 'min_speed' | 'max_speed', number>
type Fitted = { model: string; climate: boolean; shakes: boolean; speedStep: number }

/** Returns the profile of a storage. It has the limits of a climate and of a shaker only where it is fitted with them. */
export function storageProfile(chosen: Ranges & { racks: readonly Rack[] }, { model, climate, shakes, speedStep }: Fitted): Profile {
  const { min_temperature, max_temperature, min_speed, max_speed } = chosen
  const limits: Limits = { slot: { min: 1, max: slotsIn(chosen.racks), unit: '', step: 1 } }
  if (climate) limits.temperature = { min: min_temperature, max: max_temperature, unit: '°C', step: 0.1 }
  if (shakes) {
    limits.speed = { min: min_speed, max: max_speed, unit: 'rpm', step: speedStep }
    limits.duration = { min: 4, max: 7 * 86_400, unit: 's', step: 1 }
  }
  return { model, limits, features: { uninterruptible: true, ...(climate && { climate }) }, ends_early: shakes ? ['shake'] : [] }
}

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
