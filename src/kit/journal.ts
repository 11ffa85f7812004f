// Lines of JSON that are only ever added to: each is on the card when it is answered.

import type * as v from 'valibot'
import type { Report } from './json_file.ts'
import { LineFile, readLines } from './json_lines.ts'
import { Lane } from './lane.ts'

type Options<Entry> = {
  path: string
  schema: v.GenericSchema<unknown, Entry>
  report: Report
  /** What of the entries still matters: the file begins anew with these at each start, and after each failure. */
  live(entries: readonly Entry[]): Entry[]
}

const mostWaiting = 64
/** Then the file begins anew with what still matters. */
const longest = 10_000

export class Journal<Entry extends object> {
  readonly #live: (entries: readonly Entry[]) => Entry[]
  readonly #lane = new Lane(mostWaiting)
  readonly #file: LineFile<Entry>
  #entries: Entry[]

  /** Lines that are damaged are left out, and told. */
  static async open<Entry extends object>(options: Options<Entry>): Promise<Journal<Entry>> {
    return new Journal(options, options.live(await readLines(options)))
  }

  private constructor({ path, live }: Options<Entry>, entries: Entry[]) {
    this.#live = live
    this.#file = new LineFile(path)
    this.#entries = entries
  }

  /** What still matters. */
  get live(): readonly Entry[] {
    return this.#live(this.#entries)
  }

  /** Rejects with `storage`; then the entry may be there or not. */
  append(entry: Entry): Promise<void> {
    return this.#lane.run(async () => {
      const entries = [...this.#entries, entry]
      if (this.#file.isOpen && entries.length <= longest) {
        await this.#file.add([entry], { isSynced: true })
        this.#entries = entries
      } else {
        const live = this.#live(entries)
        await this.#file.begin(live)
        this.#entries = live
      }
    })
  }

  async close(): Promise<void> {
    await this.#lane.run(() => this.#file.close())
  }
}
