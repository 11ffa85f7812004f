// The parts of the service that the workflow runtime uses.

import type { Hub } from '../events/hub.ts'
import type { AdmissionOptions } from './admission.ts'
import type { Bench } from './plans/bench.ts'
import type { Library } from './plans/library.ts'
import type { RecordStore, Records } from './records/records.ts'
import type { Lost } from './recovery/stranded_labware.ts'
import type { RunEnvironmentOptions } from './run_environments.ts'
import type { Standing } from './standing_labware.ts'
import type { RunStates } from './state/entry.ts'
import type { RunMode } from './state/modes.ts'

export type RuntimeOptions = Omit<RunEnvironmentOptions, 'newId'> & {
  hub: Pick<Hub, 'emit' | 'incident' | 'registerSink' | 'unregisterSink' | 'getEventsSince' | 'getEventsForExecution' | 'remove'>
  /** Unix time, s. */
  now(): number
  warn(message: string): void
  /** The configured devices and teachpoints. */
  bench: Bench
  library: Library
  /** The store of the records of runs; in memory by default. */
  records?: Records
  /** Another sink, which receives the same events. */
  recordService?: RecordStore
  /** Returns the writer of the state of runs in this mode, so that they can be restored; undefined if they are not kept. */
  keep?(mode: RunMode): RunStates | undefined
  /** Resolves when the records are on the disk. Rejects with `storage`. */
  recorded?(): Promise<unknown>
  /** Repeats work that writes, until the disk takes it. */
  untilStored?(work: () => Promise<unknown>): Promise<unknown>
  /** Stores the labware at rest while no run is open. Rejects with `storage`. */
  storeStanding?(standing: Standing): Promise<unknown>
  /** Called with labware that a person must look for. */
  lost?(lost: Lost): void
  /** The limits of concurrent runs; none by default. */
  admission?: AdmissionOptions
  /** The object that handlers see as `system`. */
  system?: unknown
  newId?(): string
}
