// A thread, as its actions, methods, moves and slots know it: the labware that it carries, its status, and what it uses of its run for events.

import type { Context } from '../../events/event.ts'
import type { IncidentCategory, NewIncident } from '../../events/incidents.ts'
import type { Workflow } from '../plans/plan.ts'
import type { Obstacle } from '../scheduler/request.ts'
import type { Entry } from '../state/entry.ts'
import type { Labware } from '../state/labware.ts'
import type { WindowState } from '../state/run.ts'
import type { Status, ThreadStatus } from '../state/statuses.ts'
import type { RunEnvironment } from './run_environment.ts'
import type { Timeline } from './timeline.ts'

/** The cause of a thread's wait, for explanations. `peer`: another thread has to go on. */
export type Waiting = {
  kind: 'reservation' | 'peer' | 'event' | 'operator' | 'device'
  what: string
  since_ms: number
  obstacles(): Obstacle[]
}

/** The subject of a wait, and the interrupts that end it: all of them, all but a pause, or only an abort. */
export type WaitFor = Pick<Waiting, 'kind' | 'what'> & {
  obstacles?(): Obstacle[]
  interruptedBy?: 'pause' | 'stop' | 'abort'
  /** Whether others plan without the thread while it waits for a person; by default they do. */
  countsAsHeld?: boolean
  /** The threads that must do something first. */
  awaits?(): readonly string[]
}

/** Whether it is for others to go on. */
export function isBlocked({ kind }: Waiting): boolean {
  return kind === 'peer' || kind === 'reservation'
}

/** The origin of a thread. */
export type ThreadOrigin = { group_id: string | null; submission_id: string }

export type NoteworthyError = Partial<Pick<NewIncident, 'severity' | 'recovery_action' | 'detail'>> & { error?: unknown }

/** An open window. `forget` calls off the report that it was missed. */
export type Window = { readonly state: WindowState; forget(): void }

/** Publishes what happens in a run. */
export interface RunEvents {
  /** A fresh one each time: what an event carries is frozen. */
  context(): { execution_id: string; workflow_name: string }
  emit(type: string, id: string, status: string, context: Context): void
  /** Records an incident of a thread, and returns its id. */
  incident(category: IncidentCategory, message: string, thread: { thread_id: string } | null, more?: NoteworthyError): string
}

/** A run that publishes what happens in it. */
export interface Publisher {
  readonly execution_id: string
  readonly workflow: Workflow
  readonly environment: RunEnvironment
  readonly timeline: Timeline
  readonly events: RunEvents
}

/** The labware's thread, as its actions and moves see it. Its state changes through `set` and `setIn`. */
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
