// The protocol of an arm: one line for each question, and an answer that names its question.

import { type Axis, isAxis } from '../../src/devices/axes.ts'
import type { Params } from '../../src/devices/operations.ts'
import type { Pose } from '../../src/devices/reading_table.ts'
import { type Approach, isSkill, type Joints, jointMembers, type Side, type Skill, type Spot, type Way } from '../../src/devices/way.ts'
import type { Found } from '../transports/exchange.ts'

export type { Pose } from '../../src/devices/reading_table.ts'

export const axes = ['x', 'y', 'z', 'yaw', 'pitch', 'roll'] as const

const states = ['unhomed', 'idle', 'moving', 'stopped', 'error'] as const
export type State = (typeof states)[number]

/** The numbers after `err`. */
export const errors = {
  unknown: 1,
  parameter: 2,
  unhomed: 3,
  busy: 4,
  stopped: 5,
  jam: 6,
  gripper: 7,
} as const

export type ArmReply = { ok: boolean; verb: string; number: number; text: string }
export type Where = { state: State; pose: Pose; gripper: 'empty' | 'full' }

/** An answer that names its question. */
export const signature = /^(ok (who|can|where|stop)\b|err \d+ \w+:)/m

export function encode(question: string): Uint8Array {
  return Buffer.from(`${question}\n`, 'latin1')
}

/** The verbs of the motions without labware. Each is a skill of the adapter; `jog=x,y,z` names the axes too. */
export const motions = { jog: 'jog', go_to: 'go', free_drive: 'free' } as const
export type Motion = keyof typeof motions

/** Makes `jog x + 10`. */
export function jogOf({ axis, direction, speed }: Params<'jog'>): string {
  return [motions.jog, axis, direction, speed].join(' ')
}

/** Makes `pick 100.000 0.000 … access vertical 50.000 - - via 2`, with numbers to a thousandth. A pose alone has six. */
export function moveTo(verb: 'pick' | 'place' | 'go', way: Way): string {
  const { access, via = [] } = way
  return [verb, ...wordsOf(way), ...(access ? accessWords(access) : []), ...(via.length > 0 ? ['via', via.length] : [])].join(' ')
}

/** Makes `via 1 100.000 0.000 …`: a line for each gateway, sent before the move that gives their number. */
export function gatewaysTo({ via = [] }: Way): string[] {
  return via.map((spot, i) => ['via', i + 1, ...wordsOf(spot)].join(' '))
}

function wordsOf(spot: Spot): string[] {
  if ('joints' in spot) return ['joint', ...jointMembers.map((member) => spot.joints[member].toFixed(3))]
  return [...axes.map((axis) => spot.pose[axis].toFixed(3)), ...(spot.elbow ? ['elbow', spot.elbow] : [])]
}

const lengths = ['vertical_clearance', 'horizontal_clearance', 'gripper_offset'] as const

function accessWords(access: Approach): string[] {
  return ['access', access.access_type, ...lengths.map((length) => access[length]?.toFixed(3) ?? '-')]
}

/** A point without its name. */
export type AskedSpot = { pose: Pose; elbow: Side | null } | { joints: Joints }
/** A move; `via` is the number of gateways that were sent before it, and `above` the height over the point at which a `go` ends. */
export type Asked = { to: AskedSpot; access: Approach | null; via: number; above: number }

/** Parses the words after `pick`, `place` or `go`; undefined if one is wrong. */
export function readMove(words: readonly string[]): Asked | undefined {
  const rest = [...words]
  const to = takeSpot(rest)
  const access = rest[0] === 'access' ? takeAccess(rest) : null
  const via = rest[0] === 'via' ? numberOf(rest.splice(0, 2)[1] ?? '') : 0
  const above = rest[0] === 'above' ? numberOf(rest.splice(0, 2)[1] ?? '') : 0
  const isWhole = access !== undefined && Number.isInteger(via) && Number.isFinite(above) && rest.length === 0
  return to && isWhole ? { to, access, via, above } : undefined
}

/** Parses the words after `jog`; undefined if one is wrong. */
export function readJog([axis = '', sign, ...rest]: readonly string[]): { axis: Axis; sign: 1 | -1; percent: number } | undefined {
  const percent = rest.length === 1 ? numberOf(rest[0]!) : Number.NaN
  if (!isAxis(axis) || (sign !== '+' && sign !== '-') || !(percent > 0 && percent <= 20)) return undefined
  return { axis, sign: sign === '+' ? 1 : -1, percent }
}

/** Parses the words after `via`: the number of a gateway, from 1, and the point. */
export function readGateway(words: readonly string[]): { number: number; spot: AskedSpot } | undefined {
  const [number, rest] = [numberOf(words[0] ?? ''), words.slice(1)]
  const spot = takeSpot(rest)
  return spot && Number.isInteger(number) && rest.length === 0 ? { number, spot } : undefined
}

function takeSpot(rest: string[]): AskedSpot | undefined {
  const isJoint = rest[0] === 'joint'
  if (isJoint) rest.shift()
  const numbers = rest.splice(0, axes.length).map(numberOf)
  if (numbers.length !== axes.length || numbers.some((number) => !Number.isFinite(number))) return undefined
  if (isJoint) return { joints: membersOf(jointMembers, numbers) }
  const pose = membersOf(axes, numbers)
  if (rest[0] !== 'elbow') return { pose, elbow: null }
  const [, elbow] = rest.splice(0, 2)
  return elbow === 'left' || elbow === 'right' ? { pose, elbow } : undefined
}

function takeAccess(rest: string[]): Approach | undefined {
  const [, access_type, ...its] = rest.splice(0, 2 + lengths.length)
  const numbers = its.map((word) => (word === '-' ? undefined : numberOf(word)))
  const isComplete = its.length === lengths.length && numbers.every((number) => number === undefined || Number.isFinite(number))
  if (!isComplete || (access_type !== 'vertical' && access_type !== 'horizontal')) return undefined
  const [vertical_clearance, horizontal_clearance, gripper_offset] = numbers
  return { access_type, vertical_clearance, horizontal_clearance, gripper_offset }
}

function numberOf(word: string): number {
  return word === '' ? Number.NaN : Number(word)
}

function membersOf<Member extends string>(members: readonly Member[], numbers: readonly number[]): Record<Member, number> {
  return Object.fromEntries(members.map((member, i) => [member, numbers[i]!])) as Record<Member, number>
}

/** Parses the skills in the answer to `can`. Unknown words are ignored, for later versions. */
export function readSkills({ ok, text }: ArmReply): ReadonlySet<Skill> {
  return new Set(ok ? text.split(' ').filter(isSkill) : [])
}

/** Parses the motions in the answer to `can`, each with the axes that it names. */
export function readMotions({ ok, text }: ArmReply): ReadonlyMap<Motion, readonly Axis[]> {
  const words = new Map((ok ? text.split(' ') : []).map((word) => [word.split('=', 1)[0]!, word.split('=')[1]?.split(',') ?? []]))
  const known = (Object.keys(motions) as Motion[]).filter((motion) => words.has(motions[motion]))
  return new Map(known.map((motion) => [motion, words.get(motions[motion])!.filter(isAxis)]))
}

/** Finds the next answer. Other lines are skipped. */
export function nextAnswer(buffer: Buffer): Found<ArmReply> | undefined {
  const end = buffer.indexOf(0x0a)
  if (end < 0) return undefined
  const frame = readAnswer(buffer.toString('latin1', 0, end).trim())
  return frame ? { used: end + 1, frame } : { used: end + 1 }
}

/** Parses the answer to `where`; undefined if it is another one. */
export function readWhere({ text }: ArmReply): Where | undefined {
  const [state, ...rest] = text.split(' ')
  const numbers = rest.slice(0, axes.length).map(Number)
  const gripper = rest[axes.length]
  if (!isState(state) || numbers.length !== axes.length || numbers.some((number) => !Number.isFinite(number))) return undefined
  if (gripper !== 'empty' && gripper !== 'full') return undefined
  return { state, pose: membersOf(axes, numbers), gripper }
}

function readAnswer(line: string): ArmReply | undefined {
  const ok = /^ok (\w+) ?([ -~]*)$/.exec(line)
  if (ok) return { ok: true, verb: ok[1]!, number: 0, text: ok[2]! }
  const err = /^err (\d+) (\w+): ([ -~]*)$/.exec(line)
  return err ? { ok: false, verb: err[2]!, number: Number(err[1]), text: err[3]! } : undefined
}

function isState(word: string | undefined): word is State {
  return states.some((state) => state === word)
}
