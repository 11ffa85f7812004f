// The inventories of the storages of a bench, for people: what is in the slots, corrections, transfers by hand, and what a storage has seen.

import type { SeenSlot } from '../devices/configured.ts'
import type { Transfer, TransferOrder } from '../devices/transfer.ts'
import type { Hub } from '../events/hub.ts'
import type { Catalog } from './catalog.ts'
import { contradictions, correct, type Inventory, inventoryOf, mustBeStorage, type SlotContent, storageOn } from './inventory.ts'
import { beginTransfer, cutOff } from './transfer_by_hand.ts'

type InventoriesOptions = { catalog: Catalog; hub: Pick<Hub, 'incident' | 'incidents'>; newId(): string; now(): number }

export class Inventories {
  readonly #options: InventoriesOptions

  constructor(options: InventoriesOptions) {
    this.#options = options
  }

  get #live() {
    return this.#options.catalog.runtime.environments.live
  }

  /** Throws `conflict` for a device whose slots the loaded topology does not have. */
  of(device_id: string): Inventory {
    const { storage } = mustBeStorage(this.#live, device_id)
    return inventoryOf(storage, this.#options.catalog.labware())
  }

  /** Takes a person's word for what is in some slots, as `correct` does. Resolves when that is on the disk. Rejects with `storage` too. */
  async correct(device_id: string, contents: readonly SlotContent[]): Promise<Inventory> {
    correct(contents, { ...mustBeStorage(this.#live, device_id), ...this.#options })
    await this.#persisted()
    return this.of(device_id)
  }

  /** Begins a transfer that a person orders, as `beginTransfer` does. */
  async beginTransfer(order: TransferOrder): Promise<Transfer> {
    const { newId, now, hub } = this.#options
    const { slot, ended } = await beginTransfer(order, {
      ...{ environment: () => this.#live, newId, now },
      persisted: () => this.#persisted(),
      lost: (message) => void hub.incident('LEDGER_CONTRADICTED', message),
    })
    return {
      slot,
      ended: async (how) => {
        await ended(how)
        for (const { stall } of this.#options.catalog.runtime.runs.open()) stall.suspect()
      },
    }
  }

  /** After a start: reports the labware of each transfer that the end of the service has cut off, unless that was reported before. */
  reportCutOff(): void {
    const { catalog, hub } = this.#options
    const told = new Set(hub.incidents.list().map(({ message }) => message))
    for (const { held_by, thread_id, run_mode, ...piece } of catalog.labware()) {
      if (held_by === null || thread_id !== null || run_mode !== 'LIVE' || !this.#live || !storageOn(this.#live, held_by)) continue
      const message = cutOff(piece)
      if (!told.has(message)) hub.incident('LEDGER_CONTRADICTED', message)
    }
  }

  /** Reports what a storage has seen in its slots, if that contradicts its inventory. */
  scanned(device_id: string, data: unknown): void {
    const { slots: seen } = Object(data) as { slots?: readonly SeenSlot[] }
    if (!seen || !this.#live || !storageOn(this.#live, device_id)) return
    const differences = contradictions(this.of(device_id), seen)
    if (differences.length === 0) return
    const remedy = `look, and correct the inventory (PUT /api/devices/${device_id}/inventory)`
    this.#options.hub.incident('DECK_RECONCILE_CONFLICT', `${device_id} has scanned its slots: ${differences.join('; ')}; ${remedy}`)
  }

  #persisted(): Promise<void> {
    return this.#options.catalog.runtime.standing.persisted()
  }
}
