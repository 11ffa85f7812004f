// The questions to one device, which may be asked at any moment, also while an operation runs.

import { LabError } from '../errors.ts'
import type { Abilities } from './abilities.ts'
import type { Device } from './device.ts'
import { measurements, type Question, type Read } from './reading_table.ts'
import type { Reading } from './records.ts'
import { SharedAnswer } from './shared_answer.ts'

/** The most described readings that are read in the background. */
const mostSampled = 8

type Owner = {
  /** Throws `disconnected` unless the device can be asked. */
  mustBeConnected(): void
  /** Whether it may be asked in the background. After a stop or a fault a question could feed the watchdog of the instrument, and keep it on. */
  mayBeSampled(): boolean
  /** Called when the device does not answer correctly. Resolves with the error to throw. */
  unwell(question: string, error: unknown): Promise<LabError>
}

export class Questions {
  readonly #device_id: string
  readonly #device: Device | undefined
  readonly #abilities: Abilities
  readonly #owner: Owner
  readonly #shared = new Map<string, SharedAnswer<unknown>>()

  constructor(device_id: string, device: Device | undefined, abilities: Abilities, owner: Owner) {
    this.#device_id = device_id
    this.#device = device
    this.#abilities = abilities
    this.#owner = owner
  }

  /** Asks a question of the table. Throws `invalid` when the device does not know it, and `disconnected`; never `busy`. */
  async ask<Name extends Question>(question: Name): Promise<Read<Name>> {
    this.#abilities.mustKnow(question)
    return this.#answered(question, () => this.#device![question]!() as Promise<Read<Name>>)
  }

  /** Asks for a reading that the program behind it has described. Throws as `ask`. */
  async read(reading: string): Promise<{ value: number; target: number | null; unit: string }> {
    const { ownReadings } = this.#abilities
    const known = Object.hasOwn(ownReadings, reading) ? ownReadings[reading] : undefined
    const described = this.#device?.described
    if (known && described) return { ...(await this.#answered(`read ${reading}`, () => described.read(reading))), unit: known.unit }
    const readings = Object.keys(ownReadings).join(', ')
    const others = readings ? `it has: ${readings}` : 'it has described none'
    throw new LabError('invalid', `${this.#device_id} has no reading ${reading}; ${others}`)
  }

  /**
   * Returns the answer of the instrument. However many callers ask, one question waits for the line, since the running operation has to
   * ask the device as well.
   */
  async #answered<Answer>(question: string, ask: () => Promise<Answer>): Promise<Answer> {
    this.#owner.mustBeConnected()
    const asked = async () => {
      try {
        return await ask()
      } catch (error) {
        throw await this.#owner.unwell(question, error)
      }
    }
    const shared = this.#shared.get(question) ?? new SharedAnswer(asked)
    this.#shared.set(question, shared)
    return shared.get() as Promise<Answer>
  }

  /** Whether `sample` has anything to ask for. */
  get canSample(): boolean {
    return measurements().some(({ question }) => this.#abilities.knows(question)) || this.#own.length > 0
  }

  /** The units of the values that `sample` gives, by their names. */
  get units(): Record<string, string> {
    const known = measurements().filter(({ question }) => this.#abilities.knows(question))
    return Object.fromEntries([...known.map(({ name, unit }) => [name, unit]), ...this.#own.map(([name, { unit }]) => [name, unit])])
  }

  /** The described readings that are read in the background. */
  get #own(): [name: string, reading: { unit: string }][] {
    return Object.entries(this.#abilities.ownReadings)
      .filter(([reading]) => reading !== 'temperature')
      .slice(0, mostSampled)
  }

  /**
   * Asks for its readings in the background. Latches nothing, clears nothing and never rejects. Resolves with undefined if the device may not be
   * asked, or answers nothing.
   */
  async sample(): Promise<Omit<Reading, 'at'> | undefined> {
    const device = this.#device
    const values: NonNullable<Reading['others']> = {}
    for (const { question, name, unit } of measurements()) {
      const answer = await this.#ifAllowed(() => device?.[question]?.() as Promise<Record<string, number>> | undefined)
      if (answer) values[name] = { value: answer[name]!, target: answer.target ?? null, unit }
    }
    for (const [reading, { unit }] of this.#own) {
      const its = await this.#ifAllowed(() => device?.described?.read(reading))
      if (its) values[reading] = { ...its, unit }
    }
    const { temperature, ...others } = values
    const hasOthers = Object.keys(others).length > 0
    if (!temperature && !hasOthers) return undefined
    return { temperature: temperature?.value ?? null, target: temperature?.target ?? null, ...(hasOthers && { others }) }
  }

  /** Resolves with undefined also after a failure: `check` or the running operation finds the fault. */
  async #ifAllowed<Answer>(ask: () => Promise<Answer> | undefined): Promise<Answer | undefined> {
    if (!this.#owner.mayBeSampled()) return undefined
    try {
      return await ask()
    } catch {
      return undefined
    }
  }
}
