// Learns how long the devices of a driven environment take to initialize, to heat, and for their operations.

import type { BeforeMotion } from '../equipment/equipment.ts'
import { degreesToHeat, temperatureFor, usual } from '../plans/timing.ts'
import { type RunEnvironment, secondsAt } from './run_environment.ts'

type OnTheWay = { signal: AbortSignal; beforeMotion: BeforeMotion }

/** Initializes a device unless it is initialized. Rejects as `Equipment.ready`. */
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

/** Opens a device so that an arm can reach in. Rejects as `Equipment.open`. */
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

/** Tells when the device began. What the card takes before that is no time of the device: at a scale of 1,000 it would be learned as a thousand times as long. */
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

/** Returns what `work` does, and learns how long it took. Heating is learned separately: the next time the device is hot already. */
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
    const duration = typeof params.duration === 'number' ? params.duration : 0
    const alone = (durations?.beyond(device, operation) ?? usual(operation)) + duration
    durations?.heated(device, { seconds: Math.max(0, seconds - alone), degrees })
  }
  return answer
}

/** How many °C the device has to be heated before the operation begins; 0 for one that cannot tell its temperature. */
async function degreesAhead({ equipment }: RunEnvironment, { device, operation, params }: Operation): Promise<number> {
  const wanted = temperatureFor(operation, params)
  if (wanted === undefined) return 0
  const condition = await equipment.conditionOf?.(device).catch(() => undefined)
  const temperature = condition?.temperature ?? null
  return temperature === null ? 0 : degreesToHeat(temperature, wanted)
}
