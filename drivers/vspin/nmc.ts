// The NMC bus behind a VSpin's port: `AA address command data… checksum`, answered by `status items… checksum`.

import type { Found } from '../transports/exchange.ts'

/** The bytes of a question, and the length of its answer, which has neither header nor end. */
export type Question = { bytes: Uint8Array; reply: number }

/** The low half of the command byte; the high half is the number of data bytes. On the I/O module, `outputs` is `gains`. */
export const command = {
  resetPosition: 0x0,
  direction: 0x0,
  setAddress: 0x1,
  defineStatus: 0x2,
  readStatus: 0x3,
  loadTrajectory: 0x4,
  start: 0x5,
  gains: 0x6,
  outputs: 0x6,
  stop: 0x7,
  homing: 0x9,
  setBaud: 0xa,
  clearBits: 0xb,
  saveHome: 0xc,
  noOp: 0xe,
  hardReset: 0xf,
} as const

/** Bits of the servo's status byte. */
export const status = {
  moveDone: 0x01,
  checksumError: 0x02,
  overcurrent: 0x04,
  power: 0x08,
  positionError: 0x10,
  homing: 0x80,
} as const

/** Bits of the auxiliary byte. */
export const aux = { index: 0x01, servoOn: 0x04, accelerationDone: 0x08, slewDone: 0x10 } as const

/** Bits of the first byte of a trajectory: the values that follow, and the mode. */
export const trajectory = {
  position: 0x01,
  velocity: 0x02,
  acceleration: 0x04,
  pwm: 0x08,
  servoOn: 0x10,
  velocityMode: 0x20,
  reverse: 0x40,
  startNow: 0x80,
} as const

/** The items of a status answer in order, each with its number of bytes. */
export const servoItems = {
  position: { bit: 0x01, bytes: 4 },
  analog: { bit: 0x02, bytes: 1 },
  velocity: { bit: 0x04, bytes: 2 },
  aux: { bit: 0x08, bytes: 1 },
  home: { bit: 0x10, bytes: 4 },
  id: { bit: 0x20, bytes: 2 },
  positionError: { bit: 0x40, bytes: 2 },
  points: { bit: 0x80, bytes: 1 },
} as const

/** The known divisor bytes by baud rate. */
export const divisors: Readonly<Record<number, number>> = { 19200: 0x3f, 57600: 0x14 }

export function checksum(bytes: Iterable<number>): number {
  let sum = 0
  for (const byte of bytes) sum = (sum + byte) & 0xff
  return sum
}

export function encode(address: number, name: keyof typeof command, data: readonly number[] = []): Buffer {
  const body = [address, (data.length << 4) | command[name], ...data]
  return Buffer.from([0xaa, ...body, checksum(body)])
}

/** Encodes a number as four bytes, little-endian. */
export function u32(value: number): number[] {
  return [value & 0xff, (value >>> 8) & 0xff, (value >>> 16) & 0xff, (value >>> 24) & 0xff]
}

/** Encodes a trajectory, whose bits say which of the three values follow. Velocity and acceleration are in the servo's units. */
export function load(bits: number, motion: { position?: number; velocity?: number; acceleration?: number }): number[] {
  const { position, velocity, acceleration } = motion
  const of = (value: number | undefined) => (value === undefined ? [] : u32(value))
  return [bits, ...of(position), ...of(velocity), ...of(acceleration)]
}

/** Finds the answer to a question. A wrong checksum discards all bytes. */
export function framer(buffer: Buffer, question: Question | undefined): Found<Buffer> | undefined {
  if (!question) return { used: buffer.length }
  if (buffer.length < question.reply) return undefined
  const frame = Buffer.from(buffer.subarray(0, question.reply))
  const sound = checksum(frame.subarray(0, -1)) === frame.at(-1)
  return sound ? { used: question.reply, frame } : { used: buffer.length }
}

/** Makes the test whether a frame can be the answer, and not an echo of the question. */
export function isNoEcho({ bytes }: Question): (frame: Buffer) => boolean {
  const asked = Buffer.from(bytes)
  return (frame) => !asked.includes(frame)
}

/** The status of the servo with items 0x1F. Position and home are in counts, velocity in counts in a tick. */
export type Servo = { status: number; position: number; velocity: number; aux: number; home: number }

export function servoOf(frame: Buffer): Servo {
  return {
    status: frame.readUInt8(0),
    position: frame.readUInt32LE(1),
    velocity: frame.readInt16LE(6),
    aux: frame.readUInt8(8),
    home: frame.readUInt32LE(9),
  }
}

/** The status of the I/O module with items 0x03. */
export type Inputs = { settled: boolean; bucketLocked: boolean; doorOpen: boolean; doorUnlocked: boolean }

/** The bits that are set while the pneumatics move: 08, 80, 88 and 30 were observed in motion, 00 and 10 at rest. */
const movingBits = 0xa8

export function inputsOf(frame: Buffer): Inputs {
  const low = frame.readUInt8(1)
  const high = frame.readUInt8(2)
  return {
    settled: (low & movingBits) === 0,
    bucketLocked: (high & 0x01) !== 0,
    doorOpen: (high & 0x02) !== 0,
    doorUnlocked: (high & 0x04) !== 0,
  }
}

/** A frame from the host, as a module receives it. */
export type Packet = { address: number; command: number; data: Buffer; sound: boolean }

/** Finds a frame at the beginning of the buffer, and skips other bytes. */
export function decode(buffer: Buffer): { used: number; packet?: Packet } | undefined {
  if (buffer.length === 0) return undefined
  if (buffer[0] !== 0xaa) return { used: 1 }
  if (buffer.length < 4) return undefined
  const end = 3 + (buffer.readUInt8(2) >> 4)
  if (buffer.length <= end) return undefined
  const packet = {
    address: buffer.readUInt8(1),
    command: buffer.readUInt8(2) & 0x0f,
    data: Buffer.from(buffer.subarray(3, end)),
    sound: checksum(buffer.subarray(1, end)) === buffer[end],
  }
  return { used: end + 1, packet }
}
