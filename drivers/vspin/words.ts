// The commands of a VSpin, by name. `words.test.ts` checks the bytes of each.

import { divisors, encode, load, type Question, trajectory } from './nmc.ts'

export const coldBaud = 19200
export const runningBaud = 57600

const servo = 1
const io = 2
const everybody = 0xff

// Units

export const countsPerTurn = 8000
/** The servo's unit of time, in seconds. */
const tick = 0.000512
const radius_cm = 10
export const highest_rpm = 3000
/** The measured acceleration at the full word, in counts/s²; a quarter of the nominal one. */
export const fullAcceleration = 12903
const fullAccelerationWord = 915
/** The rpm of one unit of the tachometer. */
export const tachometer_rpm = 60 / (countsPerTurn * tick)

export function rpmOf(g: number): number {
  return Math.sqrt(g / (1.118e-5 * radius_cm))
}

export function countsPerSecond(rpm: number): number {
  return (rpm / 60) * countsPerTurn
}

/** Converts a speed to the servo's unit: counts in a tick, times 65,536. */
function velocityWord(rpm: number): number {
  return Math.round(countsPerSecond(rpm) * tick * 65_536)
}

/** Converts a velocity word to counts/s. */
export function velocityOfWord(word: number): number {
  return word / 65_536 / tick
}

function accelerationWord(fraction: number): number {
  return Math.round(fraction * fullAccelerationWord)
}

/** Converts an acceleration word to the motor's real acceleration in counts/s². */
export function accelerationOfWord(word: number): number {
  return (word / fullAccelerationWord) * fullAcceleration
}

/** Converts a reading of the tachometer, which counts backwards. */
export function rpmOfTachometer(velocity: number): number {
  return -velocity * tachometer_rpm
}

export function tachometerOf(speed: number): number {
  return -Math.round(speed * tick)
}

// Before the modules have their addresses

export const zeros: Question = unanswered(Buffer.alloc(20))
/** Ends an incomplete frame that a module may wait for. */
export function wake(address: number): Question {
  return unanswered(Buffer.concat([encode(address, 'noOp'), Buffer.alloc(8)]))
}
export const hardReset = unanswered(encode(everybody, 'hardReset'))
export const toRunningBaud = unanswered(encode(everybody, 'setBaud', [divisors[runningBaud]!]))

/** Gives the address to the next module in the chain without one. */
export function setAddress(address: number): Question {
  return { bytes: encode(0, 'setAddress', [address, everybody]), reply: 2 }
}
export const readServoId: Question = { bytes: encode(servo, 'readStatus', [0x20]), reply: 4 }
export const readIoId: Question = { bytes: encode(io, 'readStatus', [0x20]), reply: 4 }
/** Is answered only by a module that was reset and not addressed since, whose motor has no power. */
export const areYouCold: Question = { bytes: Buffer.concat([zeros.bytes, encode(0, 'noOp')]), reply: 2 }
/** Is answered by a servo that has its address and no status items. */
export const areYouAddressed: Question = { bytes: encode(servo, 'noOp'), reply: 2 }

// The servo

/** Defines the status items. Repeating it has no effect, and the length of its answer is always the same. */
export const defineServoStatus = toServo(encode(servo, 'defineStatus', [0x1f]))
export const servoStatus = toServo(encode(servo, 'noOp'))
export const positionIsZero = toServo(encode(servo, 'resetPosition'))
/** Enables the motor: motor off, gains, hold position, amplifier on, clear latched errors. */
export const enableMotor: readonly Question[] = [
  toServo(encode(servo, 'stop', [0x02])),
  gains('c800b00496000f004b00a00f0500'),
  toServo(encode(servo, 'stop', [0x04])),
  toServo(encode(servo, 'stop', [0x01])),
  toServo(encode(servo, 'clearBits')),
]
export const gainsForHoming = gains('05006400000000003200e8030100')
export const gainsForSpinning = gains('0500640000000000fd00803e0100')
/** Homes on the index, with a smooth stop. */
export const homeOnIndex = toServo(encode(servo, 'homing', [0x28]))
const homing_rpm = 7.5
export const turnSlowly = atVelocity(velocityWord(homing_rpm), 0x0112)

/** Moves to a position ahead, at 600 rpm. */
export function moveTo(position: number): Question {
  return toPosition(position, velocityWord(600), 0x1ad7)
}

/** Spins up to a speed, and to a standstill at `position` even if the host is gone. */
export function spinTo(position: number, rpm: number, acceleration: number): Question {
  return toPosition(position, velocityWord(rpm), accelerationWord(acceleration))
}

export function slowDown(deceleration: number): Question {
  return atVelocity(0, accelerationWord(deceleration))
}

function toServo(bytes: Uint8Array): Question {
  return { bytes, reply: 14 }
}

function gains(hex: string): Question {
  return toServo(encode(servo, 'gains', [...Buffer.from(hex, 'hex')]))
}

function atVelocity(velocity: number, acceleration: number): Question {
  const { velocityMode, servoOn, startNow } = trajectory
  const bits = trajectory.velocity | trajectory.acceleration | servoOn | velocityMode | startNow
  return toServo(encode(servo, 'loadTrajectory', load(bits, { velocity, acceleration })))
}

function toPosition(position: number, velocity: number, acceleration: number): Question {
  const bits = trajectory.position | trajectory.velocity | trajectory.acceleration | trajectory.servoOn | trajectory.startNow
  return toServo(encode(servo, 'loadTrajectory', load(bits, { position, velocity, acceleration })))
}

// The I/O module

/** Sets the directions: one bit for each pin, 1 for an input. The answer is short, because the status items are not defined yet. */
export function directions(low: number, high: number): Question {
  return { bytes: encode(io, 'direction', [low, high]), reply: 2 }
}
/** Switches all outputs off before the status items are defined; afterwards use `outputs(0, 0)`. */
export const outputsOff: Question = { bytes: encode(io, 'outputs', [0, 0]), reply: 2 }
export const defineIoStatus = toIo(encode(io, 'defineStatus', [0x03]))
export const ioStatus = toIo(encode(io, 'noOp'))

export function outputs(low: number, high: number): Question {
  return toIo(encode(io, 'outputs', [low, high]))
}
/** Bits of the low and of the high byte of the outputs. */
export const freeBucket = 0x20
export const lockBucket = 0x01
export const openDoor = 0x02
export const unlockDoor = 0x04

function toIo(bytes: Uint8Array): Question {
  return { bytes, reply: 5 }
}

function unanswered(bytes: Uint8Array): Question {
  return { bytes, reply: 0 }
}
