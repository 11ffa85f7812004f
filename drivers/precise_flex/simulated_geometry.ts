// The geometry of a simulated PreciseFlex: a column, three turning joints with two links, and perhaps a rail along x.

import type { Pose } from '../../src/devices/reading_table.ts'
import type { Axes } from './protocol.ts'

/** The links and the hand of the robot with the long arm, in mm. */
export const links = { inner: 302, outer: 289, hand: 162 }

/** The range of each axis: mm for the column, the fingers and the rail, degrees for the others. */
export const ranges: readonly (readonly [number, number])[] = [
  [1.5, 401.5],
  [-93, 93],
  [12, 348],
  [-960, 960],
  [59, 146],
  [0, 1500],
]

/** The place of each axis after homing. */
export const homed: Axes = [200, 0, 180, 180, 100, 0]

/** How far each axis goes in a second at full speed. */
const rates: Axes = [500, 360, 560, 990, 100, 750]

export function isInRange(axes: Axes): boolean {
  return axes.every((value, i) => value >= ranges[i]![0] && value <= ranges[i]![1])
}

/** Returns the time of a motion at this percentage of full speed, in ms. */
export function timeFor(from: Axes, to: Axes, speed: number): number {
  return Math.max(50, ...to.map((value, i) => (Math.abs(value - from[i]!) / rates[i]!) * (100 / speed) * 1000))
}

export function between(from: Axes, to: Axes, part: number): number[] {
  return to.map((value, i) => from[i]! + (value - from[i]!) * part)
}

export function poseAt([column, shoulder, elbow, wrist, , rail = 0]: Axes): Pose {
  const yaw = shoulder! + elbow! + wrist!
  const [one, two, three] = [turn(shoulder!), turn(shoulder! + elbow!), turn(yaw)]
  return {
    x: rail + links.inner * Math.cos(one) + links.outer * Math.cos(two) + links.hand * Math.cos(three),
    y: links.inner * Math.sin(one) + links.outer * Math.sin(two) + links.hand * Math.sin(three),
    z: column!,
    yaw: ((((yaw + 180) % 360) + 360) % 360) - 180,
    pitch: 90,
    roll: -180,
  }
}

/** The side to which the elbow bends: 1 is right, 2 is left. */
export function configAt([, , elbow]: Axes): number {
  return elbow! <= 180 ? 1 : 2
}

/** Returns the axes at a pose, with fingers and rail as they are; undefined if it is too far or too near. */
export function axesAt({ x, y, z, yaw }: Pose, config: number, now: Axes): number[] | undefined {
  const { inner, outer, hand } = links
  const [outX, outY] = [x - (now[5] ?? 0) - hand * Math.cos(turn(yaw)), y - hand * Math.sin(turn(yaw))]
  const cosine = (outX ** 2 + outY ** 2 - inner ** 2 - outer ** 2) / (2 * inner * outer)
  if (Math.abs(cosine) > 1) return undefined
  const bend = (config === 2 ? -1 : 1) * Math.acos(cosine)
  const shoulder = degrees(Math.atan2(outY, outX) - Math.atan2(outer * Math.sin(bend), inner + outer * Math.cos(bend)))
  const elbow = (degrees(bend) + 360) % 360
  const wrist = yaw - shoulder - elbow
  return [z, shoulder, elbow, wrist + 360 * Math.round((now[3]! - wrist) / 360), ...now.slice(4)]
}

function turn(angle: number): number {
  return (angle * Math.PI) / 180
}

function degrees(radians: number): number {
  return (radians * 180) / Math.PI
}
