// A run whose time the host keeps, because its instrument has no timer: how long it lasts, and whether it still turns as it should.

import { isRefusal } from '../src/devices/failure.ts'
import { LabError, messageOf } from '../src/errors.ts'
import { type Clock, sleep } from '../src/kit/clock.ts'
import type { EarlyEnd } from './early_end.ts'

/** Between two looks at an instrument that shakes. */
const look_ms = 2000
/** The time within which an instrument must be seen to slow down after a stop. */
const halting_ms = 5000

type Keeping = {
  clock: Clock
  duration: number
  going: AbortSignal
  early: EarlyEnd
  /** Begins to slow the instrument down before its time; resolves when it has acknowledged that. Its caller stops it all the same. */
  slowDown(): Promise<unknown>
}

/**
 * Waits `duration` seconds, or until somebody asks for an early end and the instrument slows down. `look` is called every two seconds and
 * once at the end, with the seconds gone by, and throws if it is not well.
 */
export async function keepTime(
  { clock, duration, going, early, slowDown }: Keeping,
  look: (seconds: number) => Promise<void>,
): Promise<void> {
  const began = clock.now()
  const left_ms = () => began + duration * 1000 - clock.now()
  for (let left = left_ms(); left > 0; left = left_ms()) {
    await early.sleep(clock, Math.min(look_ms, left), going)
    if (await early.carriedOut({ seconds_left: left_ms() / 1000, going }, slowDown)) return
    await look((clock.now() - began) / 1000)
  }
}

/**
 * Does what follows the start of a motion. An instrument that refuses something then has done something all the same: it moves. So each refusal
 * is thrown as `device_failed`, and the device is halted.
 */
export async function onceStarted<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    throw isRefusal(cause) ? new LabError('device_failed', messageOf(cause), { cause }) : cause
  }
}

type Turning = { asked: number; actual: number; tolerance: number; seconds: number; ramp_s: number }

/** Throws `device_failed` unless it turns at all after a second, and after `ramp_s` as fast as asked. Speeds are in rpm. */
export function mustTurn({ asked, actual, tolerance, seconds, ramp_s }: Turning): void {
  const there = seconds < ramp_s ? seconds < 1 || actual > 0 : Math.abs(actual - asked) <= tolerance
  if (there) return
  throw new LabError(
    'device_failed',
    `it turns at ${actual} rpm after ${Math.round(seconds)} s and should turn at ${asked} rpm; see what blocks it, then initialize`,
  )
}

/** A motor that keeps its speed wavers by no more than this many rpm, or this part of its speed. How much a real one wavers is not known. */
const wavers = { rpm: 5, part: 0.01 }

/**
 * Waits until a shaker that was stopped is at rest or seen to slow down, and repeats the stop by `again` between two looks. `speed`
 * answers rpm. Throws `device_failed` after five seconds.
 */
export async function mustSlowDown(clock: Clock, rest: number, speed: () => Promise<number>, again: () => Promise<unknown>): Promise<void> {
  const end = clock.now() + halting_ms
  for (let fastest = 0; ; ) {
    const now = await speed()
    if (now < rest || now < fastest - Math.max(wavers.rpm, fastest * wavers.part)) return
    if (clock.now() > end) throw new LabError('device_failed', `it still turns at ${now} rpm after a stop; use its power switch`)
    if (fastest > 0) await again()
    fastest = Math.max(fastest, now)
  }
}

/** Repeats a command that the instrument does not acknowledge until it is seen to have obeyed; throws `device_failed` after five repetitions. */
export async function repeatUntil(obeyed: () => Promise<boolean>, again: () => Promise<void>, otherwise: string): Promise<void> {
  for (let left = 5; !(await obeyed()); left--) {
    if (left === 0) throw new LabError('device_failed', `${otherwise}; use its power switch`)
    await again()
  }
}

type Looking = { clock: Clock; going: AbortSignal; within_s: number; every_ms: number }

/** Looks until `passes`; throws `device_failed` with what `late` says when that takes too long. */
export async function until<Seen>(
  { clock, going, within_s, every_ms }: Looking,
  look: () => Promise<Seen>,
  passes: (seen: Seen) => boolean,
  late: (seen: Seen) => string,
): Promise<void> {
  const end = clock.now() + within_s * 1000
  for (;;) {
    const seen = await look()
    if (passes(seen)) return
    if (clock.now() >= end) throw new LabError('device_failed', late(seen))
    await sleep(clock, every_ms, going)
  }
}
