// What would go on by itself if this process ended now: motion that only we would end, and heat. Written down before it begins, so
// that `benchd safe-off`, or the next start, can switch it off.

import * as v from 'valibot'
import { Journal } from '../kit/journal.ts'
import type { Report } from '../kit/json_file.ts'

const Entry = v.strictObject({
  device_id: v.string(),
  state: v.picklist(['on', 'off']),
  operation: v.nullable(v.string()),
  at: v.number(),
})
type Entry = v.InferOutput<typeof Entry>

/** Where a device writes down that it is on. */
export type RunStore = Pick<RunJournal, 'on' | 'haltsOwed' | 'switchedOn' | 'switchedOff'>

export class RunJournal {
  readonly #journal: Journal<Entry>

  static async open(folder: string, report: Report): Promise<RunJournal> {
    const loss = 'a device that was left on may not be known; look whether one still moves or heats, and stop it'
    return new RunJournal(await Journal.open({ path: `${folder}/runs.jsonl`, schema: Entry, report, loss, live: stillOn }))
  }

  private constructor(journal: Journal<Entry>) {
    this.#journal = journal
  }

  /** The devices that were left on. */
  get on(): string[] {
    return this.#journal.live.map(({ device_id }) => device_id)
  }

  /** Those of them whose last halt was not acknowledged: the last word on such a device is its `stop`. */
  get haltsOwed(): string[] {
    return this.#journal.live.filter(({ operation }) => operation === 'stop').map(({ device_id }) => device_id)
  }

  /** Before the first byte of an operation that leaves a device moving or hot should we end. Rejects with `storage`. */
  async switchedOn(device_id: string, operation: string): Promise<void> {
    await this.#journal.append({ device_id, state: 'on', operation, at: Date.now() / 1000 })
  }

  /** Once it is known to stand and to be off. Rejects with `storage`: then it is switched off once more, some day. */
  async switchedOff(device_id: string): Promise<void> {
    if (this.on.includes(device_id)) await this.#journal.append({ device_id, state: 'off', operation: null, at: Date.now() / 1000 })
  }

  async close(): Promise<void> {
    await this.#journal.close()
  }
}

/** The last word on each device, if that is `on`. */
function stillOn(entries: readonly Entry[]): Entry[] {
  const last = new Map(entries.map((entry) => [entry.device_id, entry]))
  return [...last.values()].filter(({ state }) => state === 'on')
}
