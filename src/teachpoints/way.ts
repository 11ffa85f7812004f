// The way that the teachpoints of an arm describe: the point, the gateways on the way to it, and how the arm comes and goes.

import type { Approach, Spot, Way } from '../devices/way.ts'
import { LabError } from '../errors.ts'
import { didYouMean } from '../kit/did_you_mean.ts'
import type { Teachpoint } from './teachpoint.ts'

/** The most gateways on the way to one point. */
export const mostGateways = 8

/** Finds a point of the device by its name. */
export type Find = (name: string) => Teachpoint | undefined

/**
 * Returns the gateways of a point, in the order in which the arm comes to them from the point. Throws `invalid`, naming the points, for a gateway
 * that leads back to a point on the way, and for one too many. A gateway that `find` does not know ends the way.
 */
export function gatewaysOf(point: Teachpoint, find: Find): string[] {
  const gateways: string[] = []
  for (let gateway = point.gateway; gateway !== undefined; gateway = find(gateway)?.gateway) {
    if (gateway === point.name || gateways.includes(gateway)) {
      const circle = [point.name, ...gateways, gateway].join(' → ')
      throw unusable(point, `its gateways lead in a circle (${circle}); name another gateway, or leave one out`)
    }
    gateways.push(gateway)
    if (gateways.length > mostGateways)
      throw unusable(point, `it has more than ${mostGateways} gateways (${gateways.join(', ')}); leave some out`)
  }
  return gateways
}

/** Returns the way to a point. Throws `invalid`, naming the points, if a gateway is not taught or its access pattern is not defined. */
export function wayTo(point: Teachpoint, points: readonly Teachpoint[]): Way {
  const taught = new Map(points.map((one) => [one.name, one]))
  const via = gatewaysOf(point, (name) => taught.get(name)).map((name): Spot => {
    const gateway = taught.get(name)
    if (gateway) return spotOf(gateway)
    throw unusable(point, `its gateway ${name} is not taught${didYouMean(name, [...taught.keys()])}; teach it, or leave it out`)
  })
  const access = accessOf(point, points)
  return { ...spotOf(point), ...(via.length > 0 && { via: via.reverse() }), ...(access && { access }) }
}

/** Returns the taught way of a device to one of its teachpoints. Throws `not_found`, with the remedy, if it is not taught, and as `wayTo`. */
export function taughtWay(teachpoints: { list(device_id: string): readonly Teachpoint[] }, device_id: string, name: string): Way {
  const points = teachpoints.list(device_id)
  const point = points.find((one) => one.name === name)
  if (point) return wayTo(point, points)
  throw new LabError('not_found', `${device_id} has no teachpoint ${name}; teach it that position`)
}

function spotOf(point: Teachpoint): Spot {
  const { name: at, orientation } = point
  // The joints say to which side the elbow bends.
  if (point.coord_type === 'joint') return { at, joints: point.coords }
  return { at, pose: point.coords, ...(orientation && { elbow: orientation }) }
}

/** Resolves an access pattern that is given by its name, which another point of the device defines. */
function accessOf(point: Teachpoint, points: readonly Teachpoint[]): Approach | undefined {
  const { access } = point
  if (typeof access !== 'string') return access && lengthsOf(access)
  const named = points.flatMap(({ access: other }) => (typeof other === 'object' && other.name === access ? [lengthsOf(other)] : []))
  const different = new Set(named.map((pattern) => JSON.stringify(pattern)))
  if (different.size === 1) return named[0]
  const why = named.length === 0 ? 'is in no point of the device' : 'differs between the points that have it'
  throw unusable(point, `its access pattern ${access} ${why}; write the same pattern with that name into one point, or into this one`)
}

function lengthsOf({ access_type, vertical_clearance, horizontal_clearance, gripper_offset }: Approach): Approach {
  return { access_type, vertical_clearance, horizontal_clearance, gripper_offset }
}

function unusable({ device_id, name }: Teachpoint, why: string): LabError {
  return new LabError('invalid', `${device_id} cannot go to its teachpoint ${name}: ${why}`)
}
