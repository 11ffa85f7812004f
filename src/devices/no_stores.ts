// The stores of a bench without a data folder: latches, leases and devices that are on are written nowhere.

import type { LatchStore } from './latches.ts'
import type { LeaseStore } from './leases.ts'
import type { RunStore } from './operation_journal.ts'

export const noStores: { latches: LatchStore; leases: LeaseStore; journal: RunStore } = {
  latches: { get: () => undefined, async set() {} },
  leases: { get: () => undefined, async set() {}, isOver: () => false },
  journal: { on: [], haltsOwed: [], leftBy: () => undefined, async switchedOn() {}, async switchedOff() {} },
}
