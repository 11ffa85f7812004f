// The arguments of picks and places in tests.

import type { MoveTarget, Way } from '../devices/way.ts'
import type { Carrying } from '../workflow/equipment/equipment.ts'

const labware = { name: 'plate', type: '96-well', barcode: null }

/** Returns what an arm gets for a pick or place at the end of this way. */
export function targetOf(way: Way): MoveTarget {
  return { position: way.at, way, labware }
}

/** Returns what the equipment of a run gets for a pick or place. */
export function carrying(position: string, signal: AbortSignal): Carrying {
  return { position, labware, signal }
}
