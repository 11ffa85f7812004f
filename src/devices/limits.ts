// The range of a parameter: that of the model, narrowed by the configuration and the instrument.

import { LabError } from '../errors.ts'
import type { Limit, Limits } from './device.ts'
import { isMultiple } from './multiple.ts'
import { numbersOf, type Way } from './way.ts'

/** The bounds that a configuration may set for a parameter. */
export type Bounds = Record<string, { min?: number | undefined; max?: number | undefined }>

/** The limits that no arm can pass: a coordinate outside of them is a slip of the pen, whatever the driver. */
const metres = { min: -10_000, max: 10_000, unit: 'mm' }
const turns = { min: -3600, max: 3600, unit: '°' }
const world: Limits = {
  ...{ x: metres, y: metres, z: metres, yaw: turns, pitch: turns, roll: turns },
  ...{ base: turns, shoulder: turns, elbow: turns, wrist: turns, rail: metres, gripper: turns },
}

/** The limits of one device: those of its model, replaced by those that the instrument reported, narrowed by the configuration. */
export class DeviceLimits {
  readonly #device_id: string
  readonly #model: () => Limits | undefined
  #bounds: Bounds = {}
  #learned: Limits | undefined
  #now: Limits = {}
  /** The limits of the model from which `#now` was made. */
  #madeOf: Limits | undefined

  /** `model` returns the same object until its limits change, which those of a program do when it describes itself. */
  constructor(device_id: string, model: () => Limits | undefined, bounds: Bounds) {
    this.#device_id = device_id
    this.#model = model
    this.bound(bounds)
  }

  /** The limits in force, and who told them. */
  get shown(): { source: 'instrument' | 'model'; limits: Limits } {
    return { source: this.#learned ? 'instrument' : 'model', limits: this.#present }
  }

  /** Takes the limits that the instrument reported, if it did. */
  learn(learned: Limits | undefined): void {
    this.#learned = learned
    this.bound(this.#bounds)
  }

  /** Takes the bounds of a configuration. A bound outside the limits has no effect. */
  bound(bounds: Bounds): void {
    this.#bounds = bounds
    this.#madeOf = this.#model()
    const limits = Object.entries({ ...this.#madeOf, ...this.#learned }).map(([name, limit]) => {
      const { min = limit.min, max = limit.max } = bounds[name] ?? {}
      return [name, { ...limit, min: Math.max(limit.min, min), max: Math.min(limit.max, max) }]
    })
    this.#now = Object.fromEntries(limits)
  }

  get #present(): Limits {
    if (this.#madeOf !== this.#model()) this.bound(this.#bounds)
    return this.#now
  }

  /** Throws `invalid` for parameters that the device does not take. `isOwn` tells that a program behind the device has described the operation. */
  check(params: Readonly<Record<string, unknown>>, isOwn: boolean): void {
    checkLimits(this.#device_id, params, this.#present)
    if (!isOwn) checkListLimits(this.#device_id, params, this.#present)
  }

  /** Throws `invalid` for a point that the arm does not reach, or that is out of this world. */
  checkWay(way: Way): void {
    for (const spot of [way, ...(way.via ?? [])]) checkLimits(this.#device_id, numbersOf(spot), { ...world, ...this.#present })
  }
}

/** Throws `invalid`, naming field, value and range, for a parameter outside its limits. */
export function checkLimits(device_id: string, params: Readonly<Record<string, unknown>>, limits: Limits): void {
  for (const [name, value] of Object.entries(params)) {
    const limit = limits[name]
    if (!limit || typeof value !== 'number') continue
    if (value < limit.min || value > limit.max) {
      throw new LabError('invalid', `${name} ${quantity(value, limit)} is outside what ${device_id} takes: ${range(limit)}`)
    }
    if (limit.step && !isMultiple(value, limit.step)) {
      throw new LabError(
        'invalid',
        `${name} ${quantity(value, limit)} is finer than ${device_id} knows: give a multiple of ${limit.step}, ${range(limit)}`,
      )
    }
  }
}

/**
 * Throws `invalid`, naming the place, for a member of a record in a list that is outside the limit of its name: `steps[2].temperature`. For operations of
 * the table only: in a list of an operation that a program describes, a name may mean something else.
 */
export function checkListLimits(device_id: string, params: Readonly<Record<string, unknown>>, limits: Limits): void {
  for (const [list, records] of Object.entries(params))
    if (Array.isArray(records)) for (const [i, record] of records.entries()) checkRecord(device_id, record, limits, `${list}[${i}]`)
}

function checkRecord(device_id: string, record: unknown, limits: Limits, at: string): void {
  for (const [name, value] of Object.entries(Object(record))) {
    const limit = limits[name]
    if (limit) checkLimits(device_id, { [`${at}.${name}`]: value }, { [`${at}.${name}`]: limit })
  }
}

function range(limit: Limit): string {
  return `${limit.min} to ${quantity(limit.max, limit)}`
}

function quantity(value: number, { unit }: Limit): string {
  return unit ? `${value} ${unit}` : String(value)
}
