// The units of a file of teachpoints, and the plausibility of its numbers.

import { CliError } from '../exit.ts'

export const unitsOption = {
  units: {
    type: 'string',
    value: 'LENGTH,ANGLE',
    help: 'Units of columns that name none: mm, cm, m or in, and deg or rad; default mm,deg',
  },
} as const

/** The millimetres and degrees of the file's units. */
export type Units = { mm: number; deg: number }

const lengths: Record<string, number> = { mm: 1, cm: 10, m: 1000, in: 25.4 }
const angles: Record<string, number> = { deg: 1, rad: 180 / Math.PI }

/** Throws a usage error for other units. */
export function unitsOf(text = 'mm,deg'): Units {
  const [length = '', angle = '', ...more] = text.split(',').map((unit) => unit.trim())
  const [mm, deg] = [lengths[length], angles[angle]]
  if (mm !== undefined && deg !== undefined && more.length === 0) return { mm, deg }
  throw new CliError('usage', `--units ${text} is not two units; write one of mm, cm, m, in, a comma, and deg or rad, as m,rad`)
}

/** Returns the number in millimetres or degrees, without rounding noise. */
export function converted(value: number, factor: number): number {
  return factor === 1 ? value : Number((value * factor).toFixed(9))
}

const joints = new Set(['base', 'shoulder', 'elbow', 'wrist', 'gripper', 'yaw', 'pitch', 'roll'])

/** Whether a coordinate is a length, in millimetres; else it is an angle. */
export function isLength(member: string): boolean {
  return !joints.has(member)
}

/** The largest plausible coordinate in mm, and angle in degrees. */
const farthest_mm = 5000
const farthest_deg = 1000
/** If all points are nearer to each other than this, they are probably in metres; likewise, angles below a whole turn in radians. */
const nearest_mm = 5
const turn_rad = 2 * Math.PI

type Point = { name: string; coords: Readonly<Record<string, number | undefined>> }

/** Returns why the numbers do not seem to be millimetres and degrees; undefined if they do. */
export function doubtAbout(points: readonly Point[]): string | undefined {
  for (const { name, coords } of points)
    for (const [member, value = 0] of Object.entries(coords)) {
      const most = isLength(member) ? farthest_mm : farthest_deg
      const unit = isLength(member) ? 'mm' : '°'
      if (Math.abs(value) > most) return `${member} of ${JSON.stringify(name)} is ${value} ${unit}, which no arm of a bench reaches`
    }
  const all = points.flatMap(({ coords }) => Object.entries(coords))
  const valuesOf = (wantsLength: boolean) => all.flatMap(([member, value = 0]) => (isLength(member) === wantsLength ? [value] : []))
  if (isSmall(valuesOf(true), nearest_mm)) return `every length is below ${nearest_mm} mm, as if they were metres (--units m,deg or m,rad)`
  if (isSmall(valuesOf(false), turn_rad)) return 'every angle is below 6.3°, as if they were radians (--units mm,rad or m,rad)'
  return undefined
}

/** Whether the numbers are implausible in the unit: all small, and some of them fractions. */
function isSmall(values: readonly number[], most: number): boolean {
  return values.every((value) => Math.abs(value) <= most) && values.some((value) => !Number.isInteger(value))
}
