// A temperature profile: the instrument keeps the time at each step, and the driver watches that it does and sends the next one.

import type { ProfileStep } from '../../src/devices/temperature_profile.ts'
import { profileSeconds } from '../../src/devices/temperature_profile.ts'
import { LabError } from '../../src/errors.ts'
import { type Clock, sleep } from '../../src/kit/clock.ts'
import { type EarlyEnd, heardOrObeyed } from '../early_end.ts'
import type { Block } from './protocol.ts'

/** The longest and the shortest time between two looks. */
const look_ms = { longest: 2000, shortest: 250 }
/** The time within which the block must have come to a step. A real one needs a few minutes at most. */
const ramp_s = 900
/** The difference from the temperature of the step at which its time may end. The instrument counts within 2 °C. */
const tolerance = 3

type Running = {
  clock: Clock
  going: AbortSignal
  early: EarlyEnd
  /** Sets the block, with a time at the temperature or without one. Throws if the instrument did not take it. */
  set(step: { temperature: number; seconds?: number }): Promise<void>
  /** Returns the state of the block. Throws if anything is wrong with the instrument. */
  look(): Promise<Block>
}

/** Runs the steps, repeated, until they are done or somebody asks for an early end. The block then holds the last temperature. */
export async function runProfile(
  { steps, repetitions }: { steps: readonly ProfileStep[]; repetitions: number },
  running: Running,
): Promise<void> {
  const end = running.clock.now() + profileSeconds({ steps, repetitions }) * 1000
  const left = () => (end - running.clock.now()) / 1000
  for (let repetition = 0; repetition < repetitions; repetition++)
    for (const step of steps) {
      await running.set(step)
      if (!(await isHeld(step, running, left))) return
    }
}

/** Waits until the instrument has held the step for its time. Returns false if the profile was ended early. */
async function isHeld(step: ProfileStep, { clock, going, early, set, look }: Running, left: () => number): Promise<boolean> {
  const began = clock.now()
  const holdOn = () =>
    heardOrObeyed(
      () => set({ temperature: step.temperature }),
      async () => (await look()).total === 0,
    )
  let pause_ms = look_ms.shortest
  for (;;) {
    await early.sleep(clock, pause_ms, going)
    if (await early.carriedOut({ seconds_left: left(), going }, holdOn)) return false
    const seen = await look()
    const hold = mustHold(step, seen)
    if (hold === 0) break
    const isWaiting = hold >= step.seconds
    if (isWaiting && clock.now() - began > ramp_s * 1000) throw notReached(step, seen)
    pause_ms = Math.min(look_ms.longest, Math.max(look_ms.shortest, isWaiting ? 1000 : hold * 1000))
  }
  const { temperature, isWhole } = await look()
  if (isWhole) await sleep(clock, 1000, going)
  if (Math.abs(temperature - step.temperature) > tolerance) throw notReached(step, { temperature })
  return true
}

/** Returns the seconds that are left at the step. Throws `device_failed` if the instrument does something else. */
function mustHold({ temperature, seconds }: ProfileStep, { target, hold, total }: Block): number {
  if (target !== null && Math.abs(target - temperature) < 0.06 && hold !== null && total !== null && Math.abs(total - seconds) < 1)
    return hold
  const sentence = `it should hold ${temperature} °C for ${seconds} s and was set otherwise; see who else uses it, then initialize`
  throw new LabError('device_failed', sentence)
}

function notReached(step: ProfileStep, { temperature }: Pick<Block, 'temperature'>): LabError {
  const sentence = `it should hold ${step.temperature} °C for ${step.seconds} s and has ${temperature} °C; see to its block and its airways, then initialize`
  return new LabError('device_failed', sentence)
}
