// The TCS protocol of PreciseFlex robots in PC mode: a line of ASCII for each command, and a reply that begins with a number.

import type { Pose } from '../../src/devices/reading_table.ts'
import type { Joints, Side, Spot } from '../../src/devices/way.ts'
import { LabError } from '../../src/errors.ts'
import { nextLine } from '../text_lines.ts'
import type { Found } from '../transports/exchange.ts'

/** `code` is 0 for success, 1 for a warning, and negative for an error; null for a line that does not begin with one of these numbers. */
export type Reply = { code: number | null; text: string }

/** The name of the command server in the answer to `version`. */
export const signature = /TCP Command Server/

/** The stop. The first line end completes a frame that was only half sent. */
export const halt = '\nhalt'

export function encode(question: string): Uint8Array {
  return Buffer.from(`${question}\n`, 'latin1')
}

export function nextReply(buffer: Buffer): Found<Reply> | undefined {
  const found = nextLine(buffer)
  return found?.frame === undefined ? (found as Found<Reply> | undefined) : { used: found.used, frame: readReply(found.frame) }
}

function readReply(line: string): Reply {
  const [, number, text = ''] = /^(0|1|-\d+)(?: +(.*))?$/.exec(line) ?? []
  return number === undefined ? { code: null, text: line } : { code: Number(number), text: text.trim() }
}

export function isError({ code }: Reply): boolean {
  return code !== null && code < 0
}

/** Whether it is the reply to a command that returns no data. */
export function isDone({ code, text }: Reply): boolean {
  return (code === 0 || code === 1) && text === ''
}

export function isText({ code, text }: Reply): boolean {
  return code === 0 && text !== '' && !signature.test(text)
}

/** Parses the numbers of a reply, between which stand spaces or commas; empty if anything else is in it. */
export function numbersIn({ code, text }: Reply): number[] {
  const numbers = code === 0 && text !== '' ? text.split(/[ ,]+/).map(Number) : []
  return numbers.every(Number.isFinite) ? numbers : []
}

/** Makes the test for a reply of so many numbers. */
export function has(count: number): (reply: Reply) => boolean {
  return (reply) => numbersIn(reply).length === count
}

/** Whether it is the state of the controller, which is never 0 or 1. */
export function isState(reply: Reply): boolean {
  const [state = 0, ...rest] = numbersIn(reply)
  return Number.isInteger(state) && state > 1 && rest.length === 0
}

/** Whether it is a flag: 0, 1 or -1, which zeros may follow. */
export function isFlag(reply: Reply): boolean {
  const [flag = 2, ...rest] = numbersIn(reply)
  return Math.abs(flag) <= 1 && rest.every((number) => number === 0)
}

/** The axes by their numbers on the robot, from 1. Axis 1 is the column, in mm; the fingers are axis 5, and a rail is axis 6. */
export type Axes = readonly number[]
export const fingerAxis = 5

/** Maps the joints of a teachpoint to the axes. The fingers keep the place that they have: they follow the labware, not the point. */
export function axesOf({ base, shoulder, elbow, wrist, rail }: Joints, fingers: number, hasRail: boolean): Axes {
  return [base, shoulder, elbow, wrist, fingers, ...(hasRail ? [rail] : [])]
}

/** Whether the arm has arrived. The fingers do not count, since labware keeps them from their goal. */
export function isAt(axes: Axes, goal: Axes, tolerance: number): boolean {
  return goal.every((value, i) => i === fingerAxis - 1 || Math.abs(value - axes[i]!) <= tolerance)
}

/** Whether nothing has moved between two answers. */
export function isSame(one: Axes, other: Axes): boolean {
  return one.every((value, i) => Math.abs(value - other[i]!) <= still)
}

/** A smaller change between two answers is noise, in mm or degrees. */
const still = 0.02

const configOf: Record<Side, number> = { right: 0x01, left: 0x02 }
/** Returns the side to which the elbow bends, from the configuration that `wherec` tells. */
export function sideOf(config: number): Side {
  return config & configOf.left ? 'left' : 'right'
}

/** Keeps the wrist within 180 degrees to either side. */
const singleTurn = 0x1000

export function moveJ(profile: number, axes: Axes): string {
  return ['moveJ', profile, ...axes.map(written)].join(' ')
}

export function moveC(profile: number, { pose, elbow }: { pose: Pose; elbow?: Side }): string {
  const { x, y, z, yaw, pitch, roll } = pose
  return ['moveC', profile, ...[x, y, z, yaw, pitch, roll].map(written), ...(elbow ? [configOf[elbow] | singleTurn] : [])].join(' ')
}

export function moveOneAxis(axis: number, goal: number, profile: number): string {
  return `MoveOneAxis ${axis} ${written(goal)} ${profile}`
}

/** Writes a speed profile: percentages, ramps of 0.1 s, a stop at the end of each motion, and whether the hand follows a straight line. */
export function profileWith({ profile, speed, isStraight }: { profile: number; speed: number; isStraight: boolean }): string {
  return `Profile ${profile} ${speed} 0 ${isStraight ? '50 50' : '100 100'} 0.1 0.1 0 ${isStraight ? -1 : 0}`
}

export function written(number: number): string {
  if (!Number.isFinite(number)) throw new LabError('invalid', `a coordinate must be a number, not ${number}; see the teachpoint`)
  return number.toFixed(3)
}

/** Raises a spot. The column of the robot is vertical, so this needs no kinematics. */
export function raised<S extends Spot>(spot: S, mm: number): S {
  if ('joints' in spot) return { ...spot, joints: { ...spot.joints, base: spot.joints.base + mm } }
  return { ...spot, pose: { ...spot.pose, z: spot.pose.z + mm } }
}
