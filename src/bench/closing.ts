// Closes the rooms of a bench in the order of their dependencies: at the end of the service, and after an opening that failed halfway.

import type { Simulation } from '../../drivers/transports/simulation.ts'
import type { stopInput } from '../../drivers/transports/stop_input.ts'
import type { Backups } from '../care/backups.ts'
import type { HostWatch } from '../care/host_watch.ts'
import type { Descriptions } from '../devices/descriptions.ts'
import type { Latches } from '../devices/latches.ts'
import type { Ledger } from '../devices/ledger.ts'
import type { OperationJournal } from '../devices/operation_journal.ts'
import type { Readings } from '../devices/readings.ts'
import type { Registry } from '../devices/registry.ts'
import type { Hub } from '../events/hub.ts'
import type { Load } from '../events/load.ts'
import type { Fleet } from '../fleet/fleet.ts'
import { type Audit, byService } from '../keys/audit.ts'
import type { Idempotency } from '../keys/idempotency.ts'
import type { Keys } from '../keys/keys.ts'
import type { Notifier } from '../notify/notifier.ts'
import type { Teachpoints } from '../teachpoints/store.ts'
import type { LatePlugins } from './late_plugins.ts'
import type { LateRuns } from './late_runs.ts'
import type { Pictures } from './pictures.ts'

/** The rooms that are closed. */
export type ClosedRooms = {
  load: Load
  watch: HostWatch
  readings: Readings
  backups: Backups
  runs: LateRuns
  input: ReturnType<typeof stopInput> | undefined
  pictures: Pictures
  registry: Registry
  latches: Latches
  descriptions: Descriptions
  journal: OperationJournal
  simulations: ReadonlyMap<string, Simulation>
  keys: Keys
  teachpoints: Teachpoints
  idempotency: Idempotency
  ledger: Ledger
  audit: Audit
  notifier: Notifier
  plugins: LatePlugins
  fleet: Fleet | undefined
  hub: Hub
}

/** `isStop`: the whole bench was open, so its stop is recorded. */
type Open = Partial<ClosedRooms> & { packed?: Promise<unknown> | undefined; isStop?: true }

const closers: readonly ((rooms: Open) => unknown)[] = [
  ({ load }) => load?.stop(),
  ({ watch }) => watch?.close(),
  ({ readings }) => readings?.close(),
  // A backup in progress ends while the devices are closed.
  (rooms) => {
    rooms.packed = rooms.backups?.close()
  },
  ({ pictures }) => pictures?.close(),
  // Before the devices close, and while subscribers can still receive the ends of the runs.
  ({ runs }) => runs?.abort(),
  ({ hub }) => hub?.streams.close(),
  ({ input }) => input?.close(),
  ({ registry }) => registry?.close(),
  ({ latches }) => latches?.settled(),
  ({ descriptions }) => descriptions?.settled(),
  ({ journal }) => journal?.close(),
  // While they can still be told how the runs and the devices have ended.
  ({ plugins }) => plugins?.close(),
  ({ simulations }) => {
    for (const simulation of simulations?.values() ?? []) simulation.powerOff()
  },
  ({ packed }) => packed,
  ({ runs }) => runs?.close(),
  ({ keys }) => keys?.close(),
  ({ teachpoints }) => teachpoints?.close(),
  ({ idempotency }) => idempotency?.close(),
  ({ ledger }) => ledger?.close(),
  ({ audit, isStop }) => {
    if (isStop) audit?.note({ ...byService, what: 'stop', details: { text: 'Stopped benchd' } })
    return audit?.close()
  },
  ({ notifier }) => notifier?.close(),
  ({ fleet }) => fleet?.close(),
  ({ hub }) => hub?.close(),
]

/** Closes the rooms of an open bench. Stops at the first error of a room, and rejects with it. */
export async function closeRooms(rooms: Partial<ClosedRooms>): Promise<void> {
  const open: Open = { ...rooms, isStop: true }
  for (const close of closers) await close(open)
}

/** Closes the rooms that were open when another one failed to open. Ignores errors, so that all are closed. */
export async function closeHalfOpen(rooms: Partial<ClosedRooms>): Promise<void> {
  const open: Open = { ...rooms }
  for (const close of closers) await (async () => close(open))().catch(() => undefined)
}
