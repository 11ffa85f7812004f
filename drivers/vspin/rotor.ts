// The motions of the rotor: home, to a bucket, up to speed and down again. An early end slows the rotor down.

import { LabError } from '../../src/errors.ts'
import { type EarlyEnd, heardOrObeyed } from '../early_end.ts'
import { type Servo, servoOf, status } from './nmc.ts'
import type { Talk } from './talk.ts'
import * as words from './words.ts'

const home_ms = 60_000
const move_ms = 25_000
const standstill_ms = 90_000
/** The counts by which readings of a rotor at rest may differ, and the tolerance of a goal. */
const restless = 10
/** The tachometer units by which readings of a constant speed may differ. */
const wavers = 1
/** The share of the speed that counts as reached, as the tachometer has whole units only. */
const reached = 0.95
/** The additional time at speed after which the controller slows down by itself, for a host that died. */
const spare_s = 20
/** The limit of both ramps together; the service waits 300 s in all. */
const longestRamps_s = 200
const bucketsApart = words.countsPerTurn / 2

export async function turns(talk: Talk): Promise<boolean> {
  return isTurning(await talk.servo(), await talk.servo())
}

/** Whether the rotor turns, by two readings: the position shows motion that is too slow for the tachometer. */
export function isTurning(before: Servo, after: Servo): boolean {
  return Math.abs(after.velocity) > 1 || distance(before.position, after.position) > restless
}

/** Whether the rotor has slowed down between two readings. */
export function isSlower(before: Servo, after: Servo): boolean {
  return Math.abs(after.velocity) < Math.abs(before.velocity) - wavers
}

/** Finds the index of the rotor. Returns its position in counts. */
export async function home(talk: Talk): Promise<number> {
  await talk.orders(words.enableMotor)
  await talk.order(words.positionIsZero)
  await talk.order(words.gainsForHoming)
  const before = await talk.servo()
  await talk.order(words.turnSlowly)
  const begun = isHoming(servoOf(await talk.order(words.homeOnIndex)))
  const done = (seen: Servo) => !isHoming(seen) && (begun || seen.home !== before.home)
  const { home } = await talk.until(
    () => watched(talk),
    done,
    home_ms,
    () => failed('it did not find the index of its rotor'),
  )
  await standstill(talk, standstill_ms)
  return home
}

/** Turns a bucket to the door, forwards, from home. */
export async function goToBucket(talk: Talk, at: { home: number; remainder: number; bucket: 1 | 2 }): Promise<void> {
  const first = at.home - at.remainder + (at.bucket - 1) * bucketsApart
  await talk.orders(words.enableMotor)
  const { position } = await talk.servo()
  const target = ahead(first, position)
  await talk.order(words.moveTo(target))
  const there = (seen: Servo) => distance(seen.position, target) <= restless
  await talk.until(
    () => watched(talk),
    there,
    move_ms,
    () => failed(`bucket ${at.bucket} did not come to the door`),
  )
  await standstill(talk, standstill_ms)
}

type Spin = { rpm: number; duration: number; acceleration: number; deceleration: number }

/** Plans a spin. Throws `invalid` if it exceeds the controller's range of positions or the time limit. */
export function plan({ rpm, duration, acceleration, deceleration }: Spin, from: number): { target: number; up_s: number; down_s: number } {
  const speed = words.countsPerSecond(rpm)
  const up_s = speed / (acceleration * words.fullAcceleration)
  const down_s = speed / (deceleration * words.fullAcceleration)
  if (up_s + down_s > longestRamps_s) {
    const total = Math.ceil(up_s + down_s)
    throw new LabError(
      'invalid',
      `speeding up and down would take ${total} s, more than ${longestRamps_s} s; raise acceleration or deceleration`,
    )
  }
  // The ramps up and down at the same rate: twice half of speed times time.
  const target = Math.ceil(from + speed * (up_s + duration + spare_s))
  if (target > 0xffff_ffff) {
    const longest = Math.floor((0xffff_ffff - from) / speed - up_s - spare_s)
    throw new LabError('invalid', `at this speed it counts no further than ${longest} s; make the duration shorter`)
  }
  return { target, up_s, down_s }
}

type Ending = { early: EarlyEnd; going: AbortSignal }

/** Spins: up to speed, for the requested time or until an early end, and down to a standstill. Positions are invalid afterwards. */
export async function spin(talk: Talk, asked: Spin, { early, going }: Ending): Promise<void> {
  const { target, up_s, down_s } = plan(asked, (await talk.servo()).position)
  await talk.orders(words.enableMotor)
  await talk.order(words.gainsForSpinning)
  await talk.order(words.spinTo(target, asked.rpm, asked.acceleration))
  const brake = async () => {
    await talk.order(words.gainsForSpinning)
    await talk.order(words.slowDown(asked.deceleration))
  }
  // Brakes again if the first command was not acknowledged.
  const twice = () => heardOrObeyed(brake, () => brake().then(() => true))
  const endsEarly = (seconds_left: number) => early.carriedOut({ seconds_left, going }, twice)
  const speedUp_ms = (1.5 * up_s + 15) * 1000
  if (!(await isEndedBeforeFast(talk, { asked, speedUp_ms, early, endsEarly })) && !(await isEndedAtSpeed(talk, { asked, endsEarly })))
    await brake()
  await standstill(talk, Math.max(standstill_ms, (1.5 * down_s + 15) * 1000))
}

type Turning = { asked: Spin; endsEarly(seconds_left: number): Promise<boolean> }

/** Speeds up. Returns whether an early end was requested. */
async function isEndedBeforeFast(
  talk: Talk,
  { asked, speedUp_ms, early, endsEarly }: Turning & { speedUp_ms: number; early: EarlyEnd },
): Promise<boolean> {
  for (;;) {
    const seen = await talk.until(
      () => watched(talk),
      (seen) => early.isAsked || isFast(seen, asked.rpm),
      speedUp_ms,
      (seen) => failed(`it reached ${Math.round(words.rpmOfTachometer(seen.velocity))} rpm instead of ${Math.round(asked.rpm)} rpm`),
    )
    if (await endsEarly(asked.duration)) return true
    if (isFast(seen, asked.rpm)) return false
  }
}

/** Keeps the speed for the requested time. Returns whether an early end was requested. */
async function isEndedAtSpeed(talk: Talk, { asked: { rpm, duration }, endsEarly }: Turning): Promise<boolean> {
  const end = talk.clock.now() + duration * 1000
  while (talk.clock.now() < end) {
    if (await endsEarly((end - talk.clock.now()) / 1000)) return true
    const seen = await watched(talk)
    if (isFast(seen, rpm) || talk.clock.now() >= end) continue
    const left = Math.ceil((end - talk.clock.now()) / 1000)
    throw failed(`it slowed down to ${Math.round(words.rpmOfTachometer(seen.velocity))} rpm with ${left} s to go`)
  }
  return false
}

async function standstill(talk: Talk, limit_ms: number): Promise<void> {
  let before = await watched(talk)
  const still = (seen: Servo) => {
    const turning = isTurning(before, seen)
    before = seen
    return !turning
  }
  await talk.until(
    () => watched(talk),
    still,
    limit_ms,
    () => failed('its rotor did not come to a standstill'),
  )
}

/** Checks door and motor during a spin. Rejects with their fault. */
async function watched(talk: Talk): Promise<Servo> {
  const { doorOpen, doorUnlocked } = await talk.inputs()
  if (doorOpen || doorUnlocked) throw failed(`the door is ${doorOpen ? 'open' : 'unlocked'} while the rotor turns; it is being slowed down`)
  const servo = await talk.servo()
  mustBeWell(servo)
  return servo
}

/** Throws for a fault at rest. A position error is ignored while the motor has no power. */
export function mustRestWell(servo: Servo): void {
  const powered = (servo.status & status.power) !== 0
  mustBeWell(powered ? servo : { ...servo, status: servo.status & ~status.positionError })
}

function mustBeWell(servo: Servo): void {
  if ((servo.status & status.overcurrent) !== 0) throw failed('its motor takes too much current')
  if ((servo.status & status.positionError) !== 0) throw failed('its rotor does not follow the motor (position error)')
}

function isHoming(seen: Servo): boolean {
  return (seen.status & status.homing) !== 0
}

function isFast(seen: Servo, rpm: number): boolean {
  return words.rpmOfTachometer(seen.velocity) + words.tachometer_rpm >= reached * rpm
}

/** Returns the first place ahead of the position that is whole turns after `place`. */
function ahead(place: number, position: number): number {
  const turns = Math.ceil((position - place) / words.countsPerTurn)
  return place + Math.max(0, turns) * words.countsPerTurn
}

/** Returns the distance of two positions, also across the overflow of the count. */
function distance(a: number, b: number): number {
  return Math.abs((a - b) | 0)
}

function failed(what: string): LabError {
  return new LabError('device_failed', `${what}; see to it, wait until the rotor is at rest, then initialize`)
}
