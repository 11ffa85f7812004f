// The part of a thread that its actions, methods, moves and backlogs use: its labware, its status, and its run's events.

import type { Context } from '../../events/event.ts'
import type { IncidentCategory, NewIncident } from '../../events/incidents.ts'
import type { Workflow } from '../plans/plan.ts'
import type { Obstacle } from '../scheduler/request.ts'
import type { Entry } from '../state/entry.ts'
import type { Labware } from '../state/labware.ts'
import type { WindowState } from '../state/run.ts'
import type { RunRecord } from '../state/run_record.ts'
import type { Status, ThreadStatus } from '../state/statuses.ts'
import type { RunEnvironment } from './run_environment.ts'
import type { Timeline } from './timeline.ts'
import type { UsedDevices } from './used_devices.ts'

/** The present wait of a thread, for explanations. `peer`: another thread must act first. */
export type Waiting = {
  kind: 'reservation' | 'peer' | 'event' | 'operator' | 'device'
  what: string
  since_ms: number
  obstacles(): Obstacle[]
  /** Sentences about the wait that help a person who looks for the reason. */
  notes?: (() => readonly string[]) | undefined
}

/** The subject of a wait, and the interrupts that end it: all (`pause`), all but a pause (`stop`), or only an abort. */
export type WaitFor = Pick<Waiting, 'kind' | 'what' | 'notes'> & {
  obstacles?(): Obstacle[]
  interruptedBy?: 'pause' | 'stop' | 'abort'
  /** Whether others plan without the thread while it waits for a person; by default they do. */
  countsAsHeld?: boolean
  /** Lists the threads that must act first. */
  awaits?(): readonly string[]
}

/** Whether the thread can continue only after other threads act. */
export function isBlocked({ kind }: Waiting): boolean {
  return kind === 'peer' || kind === 'reservation'
}

/** The origin of a thread. */
export type ThreadOrigin = { group_id: string | null; submission_id: string }

export type NoteworthyError = Partial<Pick<NewIncident, 'severity' | 'recovery_action' | 'detail'>> & { error?: unknown }

/** An open window. `forget` cancels the report of a missed window. */
export type Window = { readonly state: WindowState; forget(): void }

/** Publishes what happens in a run. */
export interface RunEvents {
  /** Returns a new object each time, because an event freezes its context. */
  context(): { execution_id: string; workflow_name: string }
  emit(type: string, id: string, status: string, context: Context): void
  /** Records an incident of a thread, and returns its id. */
  incident(category: IncidentCategory, message: string, thread: { thread_id: string } | null, more?: NoteworthyError): string
}

/** A run that publishes what happens in it. */
export interface Publisher {
  readonly isOver: boolean
  readonly execution_id: string
  readonly workflow: Workflow
  readonly environment: RunEnvironment
  readonly timeline: Timeline
  readonly record: RunRecord
  readonly used: UsedDevices
  /** Unix time, s. */
  readonly started_at: number
  /** Unix time, s. */
  now(): number
  readonly events: RunEvents
  /** Returns the value of a variable for the threads of an origin; undefined if it has none. Throws `invalid` for a variable that the workflow does not have. */
  variable(name: string, origin: ThreadOrigin): unknown
}

/** The part of a labware's thread that its actions and moves use. Its state changes only through `set` and `setIn`. */
export interface Carrier extends Pick<Entry<'thread'>, 'state' | 'set' | 'setIn'> {
  readonly thread_id: string
  readonly name: string
  readonly labware: Labware
  setLabware(members: Partial<Labware>): void
  readonly origin: ThreadOrigin
  readonly status: Status<ThreadStatus>
  readonly isOver: boolean
  readonly environment: RunEnvironment
  readonly execution: Publisher
  readonly last_error: string | null
  /** The window within which the next action of the labware must begin. */
  window: Window | null
  context(): Context
}
