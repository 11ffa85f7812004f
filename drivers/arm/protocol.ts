// The words of an arm: a line each, a question from us, an answer that names what it answers.

import type { Found } from '../transports/exchange.ts'

/** Where a plate is gripped: mm, and degrees. The members of a cartesian teachpoint's `coords`. */
export type Pose = { x: number; y: number; z: number; yaw: number; pitch: number; roll: number }

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

export function encode(question: string): Uint8Array {
  return Buffer.from(`${question}\n`, 'latin1')
}

/** `pick 100.000 0.000 …`: six numbers, to a thousandth. */
export function moveTo(verb: 'pick' | 'place', pose: Pose): string {
  return [verb, ...axes.map((axis) => pose[axis].toFixed(3))].join(' ')
}

/** The next answer. A line that is none is skipped. */
export function nextAnswer(buffer: Buffer): Found<ArmReply> | undefined {
  const end = buffer.indexOf(0x0a)
  if (end < 0) return undefined
  const frame = readAnswer(buffer.toString('latin1', 0, end).trim())
  return frame ? { used: end + 1, frame } : { used: end + 1 }
}

/** Undefined when the answer does not tell it. */
export function readWhere({ text }: ArmReply): Where | undefined {
  const [state, ...rest] = text.split(' ')
  const numbers = rest.slice(0, axes.length).map(Number)
  const gripper = rest[axes.length]
  if (!isState(state) || numbers.length !== axes.length || numbers.some((number) => !Number.isFinite(number))) return undefined
  if (gripper !== 'empty' && gripper !== 'full') return undefined
  const [x, y, z, yaw, pitch, roll] = numbers as [number, number, number, number, number, number]
  return { state, pose: { x, y, z, yaw, pitch, roll }, gripper }
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
