// For a bench that is forgotten when it is closed: what is latched, what is leased and what is left on is written nowhere.

import type { LatchStore } from './latches.ts'
import type { LeaseStore } from './leases.ts'
import type { RunStore } from './run_journal.ts'

export const nothingKept: { latches: LatchStore; leases: LeaseStore; journal: RunStore } = {
  latches: { get: () => undefined, async set() {} },
  leases: { get: () => undefined, async set() {}, isOver: () => false },
  journal: { on: [], haltsOwed: [], async switchedOn() {}, async switchedOff() {} },
}
