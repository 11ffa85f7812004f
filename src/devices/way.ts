// The way of an arm to a point, as a pick or a place gets it, and the skills that it needs.

import type { Pose } from './reading_table.ts'

export const jointMembers = ['base', 'shoulder', 'elbow', 'wrist', 'rail', 'gripper'] as const
/** Degrees; the rail is in mm. The members of a joint teachpoint's `coords`. */
export type Joints = Record<(typeof jointMembers)[number], number>

export type Side = 'left' | 'right'

/** A taught point with its name. `elbow` is the side to which the elbow bends there. */
export type Spot = { at: string } & ({ pose: Pose; elbow?: Side } | { joints: Joints })

/** How an arm approaches the labware and leaves, in mm. For an absent length the arm uses its default. */
export type Approach = {
  access_type: 'vertical' | 'horizontal'
  vertical_clearance?: number | undefined
  horizontal_clearance?: number | undefined
  gripper_offset?: number | undefined
}

/** The point where an arm picks or places. `via` are the gateways, in the order in which it passes them on the way there; it leaves by the same way. */
export type Way = Spot & { via?: readonly Spot[]; access?: Approach }

/** How labware is gripped: its width between the fingers in mm, and the force in N. */
export type Grip = { width: number; force?: number | undefined }

/**
 * The labware that is carried, as a transporter may have to know it. Without `grip` a gripper uses its own settings. `lift_mm`: so much higher than a plate
 * it is gripped at the position; the way leads there already. `lid_height_mm`: so much higher a plate is with the lid that is on it.
 */
export type CarriedLabware = {
  name: string
  type: string
  barcode: string | null
  grip?: Grip | undefined
  lift_mm?: number | undefined
  lid_height_mm?: number | undefined
}

/** Returns the way to a point that lies so much higher; undefined for a point in joint coordinates, of which nobody knows which joint lifts. */
export function raised(way: Way, lift_mm: number): Way | undefined {
  if (lift_mm === 0) return way
  return 'pose' in way ? { ...way, pose: { ...way.pose, z: way.pose.z + lift_mm } } : undefined
}

/** Returns why an arm cannot grip lids at these points; undefined if it can. */
export function whyNoLids(ways: readonly Way[], device_id: string): string | undefined {
  const points = ways.filter((way) => raised(way, 1) === undefined).map(({ at }) => at)
  if (points.length === 0) return undefined
  return `${device_id} cannot grip a lid at ${points.join(', ')}, because ${points.length === 1 ? 'that point is' : 'those points are'} taught in joint coordinates; teach ${points.length === 1 ? 'it' : 'them'} as poses, or have a person move the lid`
}

/** The sentence about a transporter that gets the names of its positions, and no point that could be raised. */
export function knowsNoHeights(device_id: string): string {
  return `${device_id} knows its positions by their names, and cannot be told to grip a lid higher; describe its points as taught (drivers/README.md says how), or have a person move the lid`
}

/** The place where a transporter picks or places. `way` is null for a transporter that knows its positions by their names (`Device.points`). */
export type MoveTarget = { position: string; way: Way | null; labware: CarriedLabware }

/** The skills that an arm may have besides going to six cartesian coordinates. */
export const skills = {
  gateway: { cannot: 'pass a gateway', taught: 'with a gateway' },
  access: { cannot: 'come and go by an access pattern', taught: 'with an access pattern' },
  elbow: { cannot: 'be told to which side its elbow bends', taught: 'with an orientation' },
  joint: { cannot: 'be sent to joint coordinates', taught: 'in joint coordinates' },
} as const
export type Skill = keyof typeof skills

export function isSkill(word: string): word is Skill {
  return Object.hasOwn(skills, word)
}

/** Returns why an arm with these skills cannot go these ways: a sentence for each skill that it lacks, with the points that need it. */
export function obstaclesOn(ways: readonly Way[], device_id: string, has: ReadonlySet<Skill>): string[] {
  const lacking = ways.flatMap(needsOf).filter(([skill]) => !has.has(skill))
  return (Object.keys(skills) as Skill[]).flatMap((skill) => {
    const points = [...new Set(lacking.flatMap(([lacked, at]) => (lacked === skill ? [at] : [])))]
    if (points.length === 0) return []
    const { cannot, taught } = skills[skill]
    const are = points.length === 1 ? 'is' : 'are'
    return `${device_id} cannot ${cannot}, and ${points.join(', ')} ${are} taught ${taught}; extend its adapter or its program (drivers/README.md says how), or teach ${points.length === 1 ? 'that point' : 'those points'} anew without that`
  })
}

/** The skills that a way needs, and the point that needs each. */
function needsOf(way: Way): [Skill, string][] {
  const { at, via = [], access } = way
  const spots = [way, ...via].flatMap((spot): [Skill, string][] => {
    if ('joints' in spot) return [['joint', spot.at]]
    return spot.elbow ? [['elbow', spot.at]] : []
  })
  return [...(via.length > 0 ? [['gateway', at] as [Skill, string]] : []), ...(access ? [['access', at] as [Skill, string]] : []), ...spots]
}

export function numbersOf(spot: Spot): Record<string, number> {
  return 'joints' in spot ? spot.joints : spot.pose
}
