// Values by id in a JSON file that is written behind its callers, for example what is latched on each device.

import * as v from 'valibot'
import type { Clock } from './clock.ts'
import { JsonFile, type Report } from './json_file.ts'
import { WriteBehind } from './write_behind.ts'

type Values<Value> = Readonly<Record<string, Value>>
type Content<Value> = { [member: string]: Values<Value> }
/** `member` is the one member of the file. */
type Options<Value> = { path: string; member: string; schema: v.GenericSchema<unknown, Value>; clock: Clock; report: Report }

export class ValuesFile<Value> {
  readonly #behind: WriteBehind
  /** The values as they are to be on the card. */
  #values: Values<Value>

  static async open<Value>({ path, member, schema, clock, report }: Options<Value>): Promise<ValuesFile<Value>> {
    const content = v.strictObject({ [member]: v.record(v.string(), schema) }) as unknown as v.GenericSchema<unknown, Content<Value>>
    return new ValuesFile(await JsonFile.open({ path, format: 1, schema: content, empty: { [member]: {} }, report }), member, clock)
  }

  private constructor(file: JsonFile<Content<Value>>, member: string, clock: Clock) {
    this.#values = file.content[member]!
    const next = (content: Content<Value>) => (content[member] === this.#values ? content : { [member]: this.#values })
    this.#behind = new WriteBehind({ clock, write: () => file.change(next) })
  }

  get(id: string): Value | undefined {
    return Object.hasOwn(this.#values, id) ? this.#values[id] : undefined
  }

  /**
   * Keeps a value, nothing if undefined. A write takes all changes before it, so that no change is refused. Rejects with `storage`; then the
   * write is tried again.
   */
  set(id: string, value: Value | undefined): Promise<void> {
    const { [id]: _before, ...others } = this.#values
    this.#values = value === undefined ? others : { ...others, [id]: value }
    return this.#behind.now()
  }

  /** Resolves when all that was to be kept is on the card, or was refused. */
  settled(): Promise<void> {
    return this.#behind.settled()
  }
}
