// Prepares devices, and learns how long real and simulated ones take to initialize, to heat, and to perform operations.

import { askedSeconds } from '../../devices/asked_time.ts'
import type { BeforeMotion } from '../equipment/equipment.ts'
import { degreesToHeat, temperatureFor, usual } from '../plans/timing.ts'
import { type RunEnvironment, secondsAt } from './run_environment.ts'

type OnTheWay = { signal: AbortSignal; beforeMotion: BeforeMotion }

/** Initializes a device if it is not initialized. Rejects like `Equipment.ready`. */
export function getReady(environment: RunEnvironment, device: string, on: OnTheWay): Promise<void> {
  const { mode, equipment } = environment
  return mode === 'PURE_SIM' ? equipment.ready(device, on.signal, on.beforeMotion) : learnToGetReady(environment, device, on)
}

async function learnToGetReady(environment: RunEnvironment, device: string, { signal, beforeMotion }: OnTheWay): Promise<void> {
  const { equipment, durations } = environment
  const isLearned = equipment.isInitialized?.(device) === false
  const motion = sinceMotion(environment, beforeMotion)
  await equipment.ready(device, signal, motion.beforeMotion)
  if (isLearned) durations?.initialized(device, secondsAt(device, motion.began, environment))
}

/** Opens a device so that an arm can reach in. Rejects like `Equipment.open`. */
export function openUp(environment: RunEnvironment, device: string, on: OnTheWay): Promise<void> {
  const { mode, equipment } = environment
  return mode === 'PURE_SIM' ? equipment.open(device, on.signal, on.beforeMotion) : learnToOpen(environment, device, on)
}

async function learnToOpen(environment: RunEnvironment, device: string, { signal, beforeMotion }: OnTheWay): Promise<void> {
  const { equipment, durations } = environment
  const motion = sinceMotion(environment, beforeMotion)
  await equipment.open(device, signal, motion.beforeMotion)
  durations?.opened(device, secondsAt(device, motion.began, environment))
}

/** Measures from when the device begins, without the disk write before that. At a time scale of 1,000 the write would count a thousandfold. */
function sinceMotion({ clock }: RunEnvironment, beforeMotion: BeforeMotion) {
  const motion = {
    began: clock.now(),
    beforeMotion: () =>
      beforeMotion()?.then(() => {
        motion.began = clock.now()
      }),
  }
  return motion
}

type Operation = { device: string; operation: string; params: Readonly<Record<string, unknown>> }

/** Runs `work`, returns its result, and learns how long it took. Heating is learned apart, because a device that is already hot needs none. */
export function timed(environment: RunEnvironment, what: Operation, work: () => Promise<unknown>): Promise<unknown> {
  return environment.mode === 'PURE_SIM' ? work() : learnFrom(environment, what, work)
}

async function learnFrom(environment: RunEnvironment, what: Operation, work: () => Promise<unknown>): Promise<unknown> {
  const { durations, clock } = environment
  const { device, operation, params } = what
  const degrees = await degreesAhead(environment, what)
  const began = clock.now()
  const answer = await work()
  const seconds = secondsAt(device, began, environment)
  if (degrees === 0) durations?.performed(device, operation, { seconds, params })
  else {
    const alone = (durations?.beyond(device, operation) ?? usual(operation)) + askedSeconds(operation, params)
    durations?.heated(device, { seconds: Math.max(0, seconds - alone), degrees })
  }
  return answer
}

/** Returns by how many °C the device must heat before the operation; 0 if it cannot report its temperature. */
async function degreesAhead({ equipment }: RunEnvironment, { device, operation, params }: Operation): Promise<number> {
  const wanted = temperatureFor(operation, params)
  if (wanted === undefined) return 0
  const condition = await equipment.conditionOf?.(device).catch(() => undefined)
  const temperature = condition?.temperature ?? null
  return temperature === null ? 0 : degreesToHeat(temperature, wanted)
}
