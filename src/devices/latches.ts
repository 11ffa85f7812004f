// What is latched on which device, over a restart too.

import * as v from 'valibot'
import { JsonFile, type Report } from '../kit/json_file.ts'
import { Fault } from './records.ts'

/** `stopped` holds until `initialize`, whatever else is cleared. */
export const Latch = v.strictObject({ fault: Fault, stopped: v.boolean() })
export type Latch = v.InferOutput<typeof Latch>
const Content = v.strictObject({ latches: v.record(v.string(), Latch) })
type Content = v.InferOutput<typeof Content>

export class Latches {
  readonly #file: JsonFile<Content>

  static async open(folder: string, report: Report): Promise<Latches> {
    return new Latches(await JsonFile.open({ path: `${folder}/latches.json`, format: 1, schema: Content, empty: { latches: {} }, report }))
  }

  private constructor(file: JsonFile<Content>) {
    this.#file = file
  }

  get(device_id: string): Latch | undefined {
    return this.#file.content.latches[device_id]
  }

  /** Resolves when all that was to be kept is on the card, or was refused. */
  async settled(): Promise<void> {
    await this.#file.change((content) => content).catch(() => undefined)
  }

  /** Keeps what is latched now, nothing if undefined. Never awaited before the bytes of a stop. */
  async set(device_id: string, latch: Latch | undefined): Promise<void> {
    await this.#file.change(({ latches: { [device_id]: _before, ...others } }) => ({
      latches: latch ? { ...others, [device_id]: latch } : others,
    }))
  }
}
