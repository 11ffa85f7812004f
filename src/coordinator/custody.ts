// The custody of each labware: exactly one holder at every moment. The holder stands at the broker, changed by compare-and-set so that a second
// writer is noticed, and each change is a line in the database. Without a broker the database alone has it.

import { LabError } from '../errors.ts'
import { custodyBucket } from '../fleet/custody_bucket.ts'
import { deepestWritten, isDeeper } from '../kit/json.ts'
import type { Broker } from './broker.ts'
import type { Holder } from './state.ts'
import type { Store } from './store.ts'

type Entry = { number: number; holder: Holder; journey_id: string; step: string; at: number }
type Change = {
  labware: string
  holder: Holder
  journey_id: string /** Names the step of the journey; the same step again is the same change. */
  step: string
}

export class Custody {
  readonly #store: Store
  readonly #broker: Broker | undefined

  constructor(store: Store, broker: Broker | undefined) {
    this.#store = store
    this.#broker = broker
  }

  /** Makes this the only holder. Rejects with `disconnected` if the broker is away, and with `conflict` if another program writes custody. */
  async give(change: Change): Promise<void> {
    const entry = this.#broker ? await this.#atBroker(change, this.#broker) : await this.#inDatabase(change)
    if (entry) await this.#store.noteCustody({ labware: change.labware, ...entry })
  }

  /** Removes labware without a holder from the broker. Rejects with `disconnected` if the broker is away. */
  async forget(labware: string): Promise<void> {
    const link = await this.#broker?.link()
    await link?.forget(`KV_${custodyBucket}`, subjectOf(labware))
  }

  async #atBroker({ labware, holder, journey_id, step }: Change, broker: Broker): Promise<Entry> {
    const link = await broker.link()
    const subject = subjectOf(labware)
    const last = await link.last(`KV_${custodyBucket}`, subject)
    const before = last && entryOf(last.payload)
    if (before?.journey_id === journey_id && before.step === step) return before
    const known = (await this.#store.custodyOf(labware)).at(-1)
    const number = Math.max(before?.number ?? 0, known?.number ?? 0) + 1
    const entry: Entry = { number, holder, journey_id, step, at: Date.now() / 1000 }
    const payload = new TextEncoder().encode(JSON.stringify(entry))
    const id = `${labware}:${journey_id}:${step}:${last?.seq ?? 0}`
    const published = await link.publish({ subject, payload, headers: {}, id, expected: last?.seq ?? 0 })
    if (published === 'refused')
      throw new LabError('conflict', `another writer has changed who has ${labware} at the broker; the coordinator looks again`)
    return entry
  }

  async #inDatabase({ labware, holder, journey_id }: Change): Promise<Entry | undefined> {
    const known = (await this.#store.custodyOf(labware)).at(-1)
    if (known?.journey_id === journey_id && JSON.stringify(sorted(known.holder)) === JSON.stringify(sorted(holder))) return undefined
    return { number: (known?.number ?? 0) + 1, holder, journey_id, step: '', at: Date.now() / 1000 }
  }
}

function subjectOf(labware: string): string {
  return `$KV.${custodyBucket}.${labware}`
}

function sorted(holder: Holder): object {
  return Object.fromEntries(Object.entries(holder).sort(([one], [other]) => (one < other ? -1 : 1)))
}

function entryOf(payload: Uint8Array): Entry | undefined {
  try {
    const entry = JSON.parse(new TextDecoder().decode(payload)) as Entry
    return Number.isInteger(entry.number) && !isDeeper(entry, deepestWritten) ? entry : undefined
  } catch {
    return undefined
  }
}
