// The geometry of the simulated arm: a base, a shoulder and an elbow with two links, upon a rail along x.

import type { Axis } from '../../src/devices/axes.ts'
import type { Joints } from '../../src/devices/way.ts'
import type { AskedSpot, Pose } from './protocol.ts'

/** The reach from its base, in mm. */
export const reach = 1200
/** The two links of the arm, in mm. */
const link = 400
/** The full speed of an angle, in degrees per second. */
const turn_per_s = 90
/** How far an angle turns in one jog, in degrees. */
const mostTurn = 350

/** The axes along which it can be jogged. */
export const jogAxes = ['x', 'y', 'z', 'yaw', 'base', 'shoulder', 'elbow', 'wrist', 'rail'] as const satisfies readonly Axis[]
type JogAxis = (typeof jogAxes)[number]

/** The arm is at `pose` after this time of the motion. */
export type Waypoint = { pose: Pose; after_ms: number }

export function poseOf(spot: AskedSpot): Pose {
  return 'joints' in spot ? reached(spot.joints) : spot.pose
}

export function isFar(spot: AskedSpot): boolean {
  const { x, y, z } = poseOf(spot)
  return Math.hypot(x, y, z) > reach
}

export function lifted(pose: Pose, mm: number): Pose {
  return { ...pose, z: pose.z + mm }
}

type Jog = { axis: Axis; sign: 1 | -1; percent: number; speed: number }

/** Computes the path of a jog up to the limit of its reach; undefined if it is at the limit, or has no such axis. `speed` in mm/s. */
export function jogPath(from: Pose, { axis, sign, percent, speed }: Jog): Waypoint[] | undefined {
  const move = Object.hasOwn(jogs, axis) ? jogs[axis as JogAxis] : undefined
  if (!move) return undefined
  const isLength = ['x', 'y', 'z', 'rail'].includes(axis)
  const step_ms = 1000 / ((percent / 100) * (isLength ? speed : turn_per_s))
  const path: Waypoint[] = [{ pose: from, after_ms: 0 }]
  for (let by = 1; by <= (isLength ? 2 * reach : mostTurn); by++) {
    const pose = move(from, sign * by)
    if (!pose || isFar({ pose, elbow: null })) break
    path.push({ pose, after_ms: by * step_ms })
  }
  return path.length > 1 ? path : undefined
}

/** The pose after a jog by so many mm or degrees; undefined where the joints do not reach. The joints are counted from a rail that stands at 0. */
const jogs: Record<JogAxis, (from: Pose, by: number) => Pose | undefined> = {
  x: (from, by) => ({ ...from, x: from.x + by }),
  y: (from, by) => ({ ...from, y: from.y + by }),
  z: (from, by) => ({ ...from, z: from.z + by }),
  yaw: (from, by) => ({ ...from, yaw: from.yaw + by }),
  wrist: (from, by) => ({ ...from, yaw: from.yaw + by }),
  rail: (from, by) => ({ ...from, x: from.x + by }),
  base: (from, by) => {
    const [x, y] = turned(from.x, from.y, by)
    return { ...from, x, y, yaw: from.yaw + by }
  },
  shoulder: (from, by) => inPlane(from, (out, z) => turned(out, z, by)),
  elbow: (from, by) =>
    inPlane(from, (out, z) => {
      const bent = degrees(2 * Math.acos(Math.hypot(out, z) / (2 * link)))
      const shoulder = degrees(Math.atan2(z, out)) + bent / 2
      if (!(bent - by >= 0 && bent - by <= 170)) return undefined
      return [shoulder, shoulder - bent + by].reduce(
        ([far, high], angle) => [far + link * Math.cos(radians(angle)), high + link * Math.sin(radians(angle))] as const,
        [0, 0] as readonly [number, number],
      )
    }),
}

/** Changes how far out and how high the gripper is, and keeps its direction from the base. */
function inPlane(from: Pose, change: (out: number, z: number) => readonly [number, number] | undefined): Pose | undefined {
  const direction = Math.atan2(from.y, from.x)
  const changed = change(Math.hypot(from.x, from.y), from.z)
  if (!changed) return undefined
  const [out, z] = changed
  return { ...from, x: out * Math.cos(direction), y: out * Math.sin(direction), z }
}

function turned(a: number, b: number, by: number): readonly [number, number] {
  const [cos, sin] = [Math.cos(radians(by)), Math.sin(radians(by))]
  return [a * cos - b * sin, a * sin + b * cos]
}

/** Computes the pose of the gripper from the joints: the base turns a shoulder and an elbow in one plane, on a rail along x. */
function reached({ base, shoulder, elbow, wrist, rail }: Joints): Pose {
  const out = link * (Math.cos(radians(shoulder)) + Math.cos(radians(shoulder + elbow)))
  const z = link * (Math.sin(radians(shoulder)) + Math.sin(radians(shoulder + elbow)))
  const [x, y] = [rail + out * Math.cos(radians(base)), out * Math.sin(radians(base))]
  return { x, y, z, yaw: base + wrist, pitch: 0, roll: 0 }
}

function radians(degrees: number): number {
  return (degrees * Math.PI) / 180
}

function degrees(radians: number): number {
  return (radians * 180) / Math.PI
}
