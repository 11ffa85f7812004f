// The limits of one device: those of its model, replaced by those that the instrument reported, narrowed by the configuration.

import type { Limits } from './device.ts'
import { type Bounds, checkLimits, narrowed } from './limits.ts'
import { numbersOf, type Way } from './way.ts'

/** The limits that no arm can pass: a coordinate outside of them is a slip of the pen, whatever the driver. */
const metres = { min: -10_000, max: 10_000, unit: 'mm' }
const turns = { min: -3600, max: 3600, unit: '°' }
const world: Limits = {
  ...{ x: metres, y: metres, z: metres, yaw: turns, pitch: turns, roll: turns },
  ...{ base: turns, shoulder: turns, elbow: turns, wrist: turns, rail: metres, gripper: turns },
}

export class DeviceLimits {
  readonly #device_id: string
  readonly #model: Limits
  #bounds: Bounds
  #learned: Limits | undefined
  #now: Limits

  constructor(device_id: string, model: Limits, bounds: Bounds) {
    this.#device_id = device_id
    this.#model = model
    this.#bounds = bounds
    this.#now = narrowed(model, bounds)
  }

  /** The limits in force, and who told them. */
  get shown(): { source: 'instrument' | 'model'; limits: Limits } {
    return { source: this.#learned ? 'instrument' : 'model', limits: this.#now }
  }

  /** Takes the limits that the instrument reported, if it did. */
  learn(learned: Limits | undefined): void {
    this.#learned = learned
    this.bound(this.#bounds)
  }

  /** Takes the bounds of another configuration. */
  bound(bounds: Bounds): void {
    this.#bounds = bounds
    this.#now = narrowed({ ...this.#model, ...this.#learned }, bounds)
  }

  /** Throws `invalid` for parameters that the device does not take. */
  check(params: Readonly<Record<string, unknown>>): void {
    checkLimits(this.#device_id, params, this.#now)
  }

  /** Throws `invalid` for a point that the arm does not reach, or that is out of this world. */
  checkWay(way: Way): void {
    for (const spot of [way, ...(way.via ?? [])]) checkLimits(this.#device_id, numbersOf(spot), { ...world, ...this.#now })
  }
}
