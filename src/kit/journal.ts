// A journal of JSON lines to which entries are appended; each is on the disk when `append` resolves.

import type * as v from 'valibot'
import type { Report } from './json_file.ts'
import { LineFile } from './json_lines.ts'
import { SerialQueue } from './serial_queue.ts'

type JournalOptions<Entry> = {
  path: string
  schema: v.GenericSchema<unknown, Entry>
  report: Report
  /** The end of the report of damage: the possible loss, and the next step. */
  loss: string
  /** Returns the valid entries, the newest last, with which the file is rewritten at each start and after each failure. */
  live(entries: readonly Entry[]): Entry[]
}

const mostWaiting = 64

export class Journal<Entry extends object> {
  readonly #live: (entries: readonly Entry[]) => Entry[]
  readonly #queue = new SerialQueue(mostWaiting)
  readonly #file: LineFile<Entry>
  /** The valid entries. */
  #entries: Entry[]

  /** Opens the journal. Damaged lines are left out and reported. */
  static async open<Entry extends object>(options: JournalOptions<Entry>): Promise<Journal<Entry>> {
    const file = new LineFile(options)
    return new Journal(options.live, file, options.live(await file.read(options.live)))
  }

  private constructor(live: JournalOptions<Entry>['live'], file: LineFile<Entry>, entries: Entry[]) {
    this.#live = live
    this.#file = file
    this.#entries = entries
  }

  /** The entries that still matter. */
  get live(): readonly Entry[] {
    return this.#entries
  }

  /** Adds an entry. Rejects with `storage`, after which the entry may be there or not. */
  append(entry: Entry): Promise<void> {
    return this.#queue.run(async () => {
      const live = this.#live([...this.#entries, entry])
      await this.#file.write([entry], { isSynced: true, all: () => live })
      this.#entries = live
    })
  }

  async close(): Promise<void> {
    await this.#queue.run(() => this.#file.close())
  }
}
