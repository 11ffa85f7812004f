// The operations and readings of a device: those that its driver has, and those that the program behind it describes.

import type * as v from 'valibot'
import { LabError } from '../errors.ts'
import { inSentence } from '../kit/did_you_mean.ts'
import { checked } from '../kit/schema.ts'
import type { OwnOperation } from './description.ts'
import type { AnyProfile, Device, Margins, Person } from './device.ts'
import { isNullable, operations, type Performable } from './operations.ts'
import { isQuestion, readings } from './reading_table.ts'
import type { Skill } from './way.ts'

const none: ReadonlyMap<string, OwnOperation> = new Map()

type Known = Pick<AnyProfile, 'model' | 'margin_seconds'>

export class Abilities {
  readonly #device_id: string
  readonly #device: Device | undefined

  readonly #profile: Known | undefined

  /** Without `device` the device is external, and the service knows only whether it is initialized. */
  constructor(device_id: string, device: Device | undefined, profile?: Known) {
    this.#device_id = device_id
    this.#profile = profile
    this.#device = device
  }

  /** The model that the driver is for, or that the program behind the device has described; null for an external device. */
  get model(): string | null {
    return this.#profile?.model ?? null
  }

  /** The times after which its operations are given up, where they are longer than those of the table. */
  get margins(): Margins | undefined {
    return this.#profile?.margin_seconds
  }

  /** The operations and readings that the device knows, in the order in which they are shown. */
  get names(): string[] {
    const all = new Set([...Object.keys(operations), ...this.own.keys(), ...Object.keys(readings)])
    return [...all].filter((name) => this.knows(name))
  }

  /** The operations that a program behind it has described; none where the driver knows what it can do. */
  get own(): ReadonlyMap<string, OwnOperation> {
    return this.#device?.described?.operations ?? none
  }

  /** The readings that a program behind it has described, with their units. */
  get ownReadings(): Readonly<Record<string, { unit: string }>> {
    return this.#device?.described?.readings ?? {}
  }

  /** Whether its abilities are unknown, because the program behind it has never run. */
  get isUndescribed(): boolean {
    return this.#device?.described?.isKnown === false
  }

  /** The skills of an arm; null before it has reported them, and for devices that are not arms. */
  get skills(): ReadonlySet<Skill> | null {
    return this.#device?.skills ?? null
  }

  /** Resolves when the files of its last operation are fetched; undefined if none are being fetched. */
  get fetching(): Promise<void> | undefined {
    return this.#device?.described?.fetching()
  }

  /** The person who carries; undefined for instruments. */
  get person(): Person | undefined {
    return this.#device?.person
  }

  /** Whether it is a transporter that knows its positions by their names, and needs no teachpoints. A storage knows its slots. */
  get knowsPositions(): boolean {
    return this.#device?.points === 'own' || this.knows('retrieve')
  }

  /** Returns why a run with real devices must not use this device; undefined if it may. */
  get unfit(): string | undefined {
    return this.#device?.unfit
  }

  knows(name: string): boolean {
    if (name === 'initialized') return true
    if (!this.#device) return false
    if (name === 'stop' || (this.own.has(name) && !isQuestion(name))) return true
    return (Object.hasOwn(operations, name) || isQuestion(name)) && this.#device[name as Performable] !== undefined
  }

  /** Throws `invalid`, naming what it can do, unless the device knows the operation. */
  mustKnow(name: string): void {
    if (this.knows(name)) return
    const known = this.#device ? `it knows ${inSentence(this.names)}` : 'it is driven elsewhere'
    const lacks = this.#device?.lacks?.(name)
    const undescribed = this.isUndescribed ? 'the program behind it has never run, which would tell what it can do' : undefined
    const why = [lacks ?? undescribed].flatMap((clause) => (clause ? [`; ${clause}`] : [])).join('')
    throw new LabError('invalid', `${this.#device_id} cannot ${name}: ${known}${why}`)
  }

  /** The values of parameters that this device takes, where they are fewer than those of the table. Keyed by name of parameter. */
  get choices(): Readonly<Record<string, readonly string[]>> {
    return this.#device?.choices ?? {}
  }

  /** Throws `invalid` for a value of a parameter of the table that the device does not take. An operation of its own says itself what it takes. */
  mustTake(operation: string, params: Readonly<Record<string, unknown>>): void {
    if (this.own.has(operation)) return
    for (const [name, taken] of Object.entries(this.choices)) {
      const value = params[name]
      if (typeof value !== 'string' || taken.includes(value)) continue
      throw new LabError('invalid', `${this.#device_id} has no ${name} ${JSON.stringify(value)}; it has ${taken.join(', ')}`)
    }
  }

  /** Checks the parameters of a known operation and fills in the defaults. Throws `invalid`. */
  paramsOf(name: string, params: unknown): Record<string, unknown> {
    const own = this.own.get(name)
    if (own && name === 'set_temperature') this.#mustSwitchOff(own, params)
    const schema: v.GenericSchema<unknown, Record<string, unknown>> = own?.params ?? operations[name as Performable].params
    return checked(schema, params, `${name} of ${this.#device_id}`)
  }

  /** Throws `invalid` if the heater is to be switched off and the program behind the device does not describe that as possible. */
  #mustSwitchOff({ params: { entries } }: OwnOperation, params: unknown): void {
    const { temperature } = Object(params)
    if (temperature !== null || !entries.temperature || isNullable(entries.temperature)) return
    const sentence = `the program behind ${this.#device_id} does not describe that it can switch the heater off; set a low temperature, or give temperature the type ["number", "null"] in the description`
    throw new LabError('invalid', sentence)
  }
}
