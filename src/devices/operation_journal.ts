// The journal of operations that would continue if this process ended now: motion that only the service ends, and heat. An entry is
// written before the operation begins, so that `benchd safe-off`, or the next start, can switch the device off.

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

/** The part of the journal in which a device records that it is on. */
export type RunStore = Pick<OperationJournal, 'on' | 'haltsOwed' | 'leftBy' | 'switchedOn' | 'switchedOff'>

export class OperationJournal {
  readonly #journal: Journal<Entry>

  static async open(folder: string, report: Report): Promise<OperationJournal> {
    const loss = 'a device that was left on may not be known; look whether one still moves or heats, and stop it'
    return new OperationJournal(await Journal.open({ path: `${folder}/runs.jsonl`, schema: Entry, report, loss, live: stillOn }))
  }

  private constructor(journal: Journal<Entry>) {
    this.#journal = journal
  }

  /** The ids of the devices that were left on. */
  get on(): string[] {
    return this.#journal.live.map(({ device_id }) => device_id)
  }

  /** The ids of the devices whose last halt was not acknowledged: the last entry of such a device is a `stop`. */
  get haltsOwed(): string[] {
    return this.#journal.live.filter(({ operation }) => operation === 'stop').map(({ device_id }) => device_id)
  }

  /** The operation that left a device on; undefined for one that is off. */
  leftBy(device_id: string): string | undefined {
    return this.#journal.live.find((entry) => entry.device_id === device_id)?.operation ?? undefined
  }

  /** Records, before its first byte, an operation that would leave the device moving or hot. Rejects with `storage`. */
  async switchedOn(device_id: string, operation: string): Promise<void> {
    await this.#journal.append({ device_id, state: 'on', operation, at: Date.now() / 1000 })
  }

  /** Records that the device is at rest and off. Rejects with `storage`; the next start then switches it off once more. */
  async switchedOff(device_id: string): Promise<void> {
    if (this.on.includes(device_id)) await this.#journal.append({ device_id, state: 'off', operation: null, at: Date.now() / 1000 })
  }

  async close(): Promise<void> {
    await this.#journal.close()
  }
}

/** Returns the last entry of each device that is still on. */
function stillOn(entries: readonly Entry[]): Entry[] {
  const last = new Map(entries.map((entry) => [entry.device_id, entry]))
  return [...last.values()].filter(({ state }) => state === 'on')
}
