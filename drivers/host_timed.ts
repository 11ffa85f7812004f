// A run whose time the host keeps, because its instrument has no timer: how long it lasts, and whether it still turns as it should.

import { LabError } from '../src/errors.ts'
import { type Clock, sleep } from '../src/kit/clock.ts'

/** Between two looks at an instrument that shakes. */
const look_ms = 2000

/** Waits `duration` seconds; `look` is called every two seconds and once at the end, with the seconds gone by, and throws if it is not well. */
export async function keepTime(
  { clock, duration, going }: { clock: Clock; duration: number; going: AbortSignal },
  look: (seconds: number) => Promise<void>,
): Promise<void> {
  const began = clock.now()
  for (let left = duration * 1000; left > 0; left = began + duration * 1000 - clock.now()) {
    await sleep(clock, Math.min(look_ms, left), going)
    await look((clock.now() - began) / 1000)
  }
}

export type Turning = { asked: number; actual: number; tolerance: number; seconds: number; ramp_s: number }

/** Throws `device_failed` unless it turns at all after a second, and after `ramp_s` as fast as asked. Speeds are in rpm. */
export function mustTurn({ asked, actual, tolerance, seconds, ramp_s }: Turning): void {
  const there = seconds < ramp_s ? seconds < 1 || actual > 0 : Math.abs(actual - asked) <= tolerance
  if (there) return
  throw new LabError(
    'device_failed',
    `it turns at ${actual} rpm after ${Math.round(seconds)} s and should turn at ${asked} rpm; see what blocks it, then initialize`,
  )
}

export type Looking = { clock: Clock; going: AbortSignal; within_s: number; every_ms: number }

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
