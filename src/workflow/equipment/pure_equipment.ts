// The equipment of PURE_SIM: durations without drivers.

import { LabError } from '../../errors.ts'
import { type Clock, sleep } from '../../kit/clock.ts'
import type { Durations } from '../plans/durations.ts'
import { degreesToHeat, heatingSeconds, initializationSeconds, type Moves, temperatureFor, usualMove } from '../plans/timing.ts'
import type { Carrying, DeviceCondition, Equipment, Performing } from './equipment.ts'

/** Makes a call fail in a test: call number `call` of an operation (or of `ready`, `open`, `pick`, `place`), at one device or at any. */
export type InjectedFault = {
  operation: string
  device_id?: string
  call: number
  /** `fail`: at once. `break off`: after half of its time. `hang`: never, until it is aborted. */
  does: 'fail' | 'break off' | 'hang'
}

type PureEquipmentOptions = {
  clock: Clock
  /** The transporters of the topology. Other ids that carry labware are translators. */
  transporters: Readonly<Record<string, Moves>>
  faults?: readonly InjectedFault[]
  /** The conditions of the real devices for a forecast; without them each device is ready and warm. */
  conditions?: ReadonlyMap<string, DeviceCondition> | undefined
  /** The learned durations of initializing, heating and opening. */
  durations?: Durations | undefined
}

/** The promise of each call without a duration. */
const atOnce = Promise.resolve()

/** The reading of a simulated device that does not heat. */
const room = { temperature: 25, target: null }

export class PureEquipment implements Equipment {
  readonly #clock: Clock
  readonly #transporters: PureEquipmentOptions['transporters']
  readonly #conditions: Map<string, DeviceCondition>
  readonly #durations: Durations | undefined
  readonly #faults: { fault: InjectedFault; calls: number }[]

  constructor({ clock, transporters, faults = [], conditions, durations }: PureEquipmentOptions) {
    this.#conditions = new Map(conditions)
    this.#durations = durations
    this.#clock = clock
    this.#transporters = transporters
    this.#faults = faults.map((fault) => ({ fault, calls: 0 }))
  }

  ready(device_id: string, signal: AbortSignal): Promise<void> {
    const condition = this.#conditions.get(device_id)
    return condition ? this.#initialize(device_id, condition, signal) : this.#take(device_id, 'ready', 0, signal)
  }

  async #initialize(device_id: string, condition: DeviceCondition, signal: AbortSignal): Promise<void> {
    const seconds = condition.initialized ? 0 : initializationSeconds(device_id, condition.typical, this.#durations)
    await this.#take(device_id, 'ready', seconds, signal)
    this.#conditions.set(device_id, { ...condition, initialized: true })
  }

  open(device_id: string, signal: AbortSignal): Promise<void> {
    return this.#take(device_id, 'open', this.#durations?.opening(device_id) ?? 0, signal)
  }

  /** Takes the `seconds` of the action, else the requested `duration`, plus the time to heat the device. */
  async perform(device_id: string, operation: string, params: Readonly<Record<string, unknown>>, how: Performing): Promise<unknown> {
    const { duration } = params
    const { signal, seconds = typeof duration === 'number' ? duration : 0 } = how
    await this.#take(device_id, operation, seconds + this.#heat(device_id, temperatureFor(operation, params)), signal)
    return operation === 'get_temperature' ? room : { success: true, message: `${device_id}: ${operation} (simulated time only)` }
  }

  carry(transporter_id: string, verb: 'pick' | 'place', { from, to, signal }: Carrying): Promise<void> {
    const known = this.#transporters[transporter_id]
    const isHop = from !== undefined && to !== undefined
    const { pick, move, place } = (isHop ? known?.between?.(from, to) : undefined) ?? known?.seconds ?? usualMove
    return this.#take(transporter_id, verb, verb === 'pick' ? pick : move + place, signal)
  }

  /** Returns the seconds to heat the device, which keeps the temperature. A device with an unknown temperature counts as cold. */
  #heat(device_id: string, temperature: number | undefined): number {
    const condition = this.#conditions.get(device_id)
    if (!condition || temperature === undefined) return 0
    this.#conditions.set(device_id, { ...condition, temperature })
    const degrees = degreesToHeat(condition.temperature ?? room.temperature, temperature)
    return heatingSeconds(degrees, this.#durations?.heating(device_id) ?? condition.typical?.heating_s)
  }

  /** Waits for the time (with no timer for 0), or carries out an injected fault. */
  #take(device_id: string, operation: string, seconds: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.reject(signal.reason)
    const fault = this.#faults.length ? this.#due(device_id, operation) : undefined
    if (fault) return this.#goWrong(fault, { device_id, operation, seconds, signal })
    return seconds === 0 ? atOnce : sleep(this.#clock, seconds * 1000, signal)
  }

  #due(device_id: string, operation: string): InjectedFault | undefined {
    const meant = this.#faults.filter(({ fault }) => fault.operation === operation && (fault.device_id ?? device_id) === device_id)
    for (const counted of meant) counted.calls++
    return meant.find(({ fault, calls }) => fault.call === calls)?.fault
  }

  async #goWrong(
    { does }: InjectedFault,
    { device_id, operation, seconds, signal }: { device_id: string; operation: string; seconds: number; signal: AbortSignal },
  ): Promise<void> {
    if (does === 'hang') await aborted(signal)
    if (does === 'break off') await sleep(this.#clock, seconds * 500, signal)
    throw new LabError('device_failed', `${device_id}: ${operation} failed (an injected fault); try again`)
  }
}

/** Rejects with the signal's reason when it is aborted. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
}
