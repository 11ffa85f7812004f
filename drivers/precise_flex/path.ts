// The path of a pick or a place: over the gateways to the last point before the nest, into it, and back the same way.

import type { Spot, Way } from '../../src/devices/way.ts'
import { LabError } from '../../src/errors.ts'
import { raised } from './protocol.ts'

/** A motion. `isStraight`: slowly and along a straight line, near the labware. */
export type Leg = { spot: Spot; isStraight: boolean }
/** `there` ends at the last point before the nest, `back` goes on from the nest. */
export type Path = { there: Leg[]; nest: Leg; back: Leg[] }

/** Makes the path. Throws `invalid` for a way that the robot cannot be sent without kinematics. `clearance` is in mm, for lengths that the point does not say. */
export function pathOf(way: Way, { clearance, hasRail }: { clearance: number; hasRail: boolean }): Path {
  const via = way.via ?? []
  for (const spot of [way, ...via]) mustKnowRail(spot, hasRail)
  const nest = raised(spotOf(way), way.access?.gripper_offset ?? 0)
  const approach = approachTo(nest, way, clearance)
  // The first approach point is still far from the labware.
  const there = [...via.map(fast), ...approach.map((spot, i) => ({ spot, isStraight: i > 0 }))]
  return { there, nest: slow(nest), back: [...[...approach].reverse().map(slow), ...[...via].reverse().map(fast)] }
}

/** The points between the way and the nest, in the order in which the arm comes. */
function approachTo(nest: Spot, { access }: Way, clearance: number): Spot[] {
  if (access?.access_type !== 'horizontal') return [raised(nest, access?.vertical_clearance ?? clearance)]
  const above = access.vertical_clearance ? [raised(nest, access.vertical_clearance)] : []
  const distance = access.horizontal_clearance ?? clearance
  return distance === 0 ? above : [inFrontOf(above[0] ?? nest, distance), ...above]
}

/** The point before the labware, against the direction of the gripper. */
function inFrontOf(spot: Spot, mm: number): Spot {
  if ('joints' in spot)
    throw new LabError(
      'invalid',
      `it cannot come horizontally to ${spot.at}, which is taught in joint coordinates; teach that point in cartesian coordinates, or give it a gateway in front of it and a horizontal clearance of 0`,
    )
  const { pose } = spot
  const turn = (pose.yaw * Math.PI) / 180
  return { ...spot, pose: { ...pose, x: pose.x - mm * Math.cos(turn), y: pose.y - mm * Math.sin(turn) } }
}

/** Throws for a cartesian spot of a robot on a rail, which does not say where the rail stands. */
function mustKnowRail(spot: Spot, hasRail: boolean): void {
  if (!hasRail || 'joints' in spot) return
  throw new LabError(
    'invalid',
    `it stands on a rail, and ${spot.at} does not say where on it; teach that point in joint coordinates, which have the place on the rail`,
  )
}

function spotOf({ via: _via, access: _access, ...spot }: Way): Spot {
  return spot as Spot
}

function fast(spot: Spot): Leg {
  return { spot, isStraight: false }
}

function slow(spot: Spot): Leg {
  return { spot, isStraight: true }
}
