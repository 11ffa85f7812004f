// The latches of all devices, in a file that outlasts a restart.

import * as v from 'valibot'
import type { Clock } from '../kit/clock.ts'
import { JsonFile, type Report } from '../kit/json_file.ts'
import { WriteBehind } from '../kit/write_behind.ts'
import { Fault, StopRequest } from './records.ts'

/**
 * `stopped` holds until `initialize`, whatever else is cleared. `stop` tells who stopped it first, and last in `again`; absent where an earlier version
 * kept it. Without a second stop there is no `again`, which version 0.2.0 would take for damage.
 */
export const Latch = v.strictObject({
  fault: Fault,
  stopped: v.boolean(),
  stop: v.optional(v.strictObject({ ...StopRequest.entries, again: v.optional(v.nullable(StopRequest)) })),
})
export type Latch = v.InferOutput<typeof Latch>
const Content = v.strictObject({ latches: v.record(v.string(), Latch) })
type Content = v.InferOutput<typeof Content>

/** The place where a device keeps what is latched on it. */
export type LatchStore = Pick<Latches, 'get' | 'set'>

export class Latches {
  readonly #behind: WriteBehind
  /** The latches as they are to be on the card. */
  #latches: Content['latches']

  static async open(folder: string, { clock, report }: { clock: Clock; report: Report }): Promise<Latches> {
    const file = await JsonFile.open({ path: `${folder}/latches.json`, format: 1, schema: Content, empty: { latches: {} }, report })
    return new Latches(file, clock)
  }

  private constructor(file: JsonFile<Content>, clock: Clock) {
    this.#latches = file.content.latches
    const next = (content: Content) => (content.latches === this.#latches ? content : { latches: this.#latches })
    this.#behind = new WriteBehind({ clock, write: () => file.change(next) })
  }

  get(device_id: string): Latch | undefined {
    return Object.hasOwn(this.#latches, device_id) ? this.#latches[device_id] : undefined
  }

  /** Resolves when all that was to be kept is on the card, or was refused. */
  settled(): Promise<void> {
    return this.#behind.settled()
  }

  /**
   * Keeps what is latched now, nothing if undefined. Never awaited before the bytes of a stop. A write takes all changes before it: however
   * often somebody presses stop, no stop is refused. Rejects with `storage`; then the write is tried again.
   */
  set(device_id: string, latch: Latch | undefined): Promise<void> {
    const { [device_id]: _before, ...others } = this.#latches
    this.#latches = latch ? { ...others, [device_id]: latch } : others
    return this.#behind.now()
  }
}
