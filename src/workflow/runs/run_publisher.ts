// Publishes what happens in one run: its events, its incidents, and the custom events of its workflow and of people.

import { LabError, messageOf } from '../../errors.ts'
import type { Context } from '../../events/event.ts'
import type { Hub } from '../../events/hub.ts'
import type { IncidentCategory } from '../../events/incidents.ts'
import type { Workflow } from '../plans/plan.ts'
import type { RunState } from '../state/entry.ts'
import type { RunRecord } from '../state/run_record.ts'
import type { NoteworthyError, RunEvents } from '../threads/carrier.ts'
import type { Channels, Published, Scope } from '../threads/channels.ts'
import type { RunEnvironment } from '../threads/run_environment.ts'
import { Bus } from './bus.ts'
import { Flood, flooding } from './flood.ts'

/** The receivers of the events of all runs. */
export type EventOutlets = {
  hub: Pick<Hub, 'emit' | 'incident'>
  /** The object that handlers see as `system`. */
  system: unknown
  warn(message: string): void
}

/** The part of a run that publishing uses. */
type Run = {
  readonly execution_id: string
  readonly workflow: Workflow
  readonly environment: RunEnvironment
  readonly state: RunState
  readonly record: RunRecord
  readonly channels: Channels
  readonly isOver: boolean
  /** Unix time, s. */
  now(): number
}

export class RunPublisher implements RunEvents {
  readonly #run: Run
  readonly #hub: EventOutlets['hub']
  readonly #bus: Bus
  readonly #flood: Flood
  /** Whether the service ends: what happens from now on is not published. */
  #isSilent = false

  constructor(run: Run, { hub, system, warn }: EventOutlets) {
    this.#run = run
    this.#hub = hub
    this.#flood = new Flood(() => run.now())
    const { name, document } = run.workflow
    this.#bus = new Bus({
      forward: (eventName, context, parts) => hub.emit(eventName, context, run.execution_id, parts),
      warn: (message) => warn(`${name}: ${message}`),
      onBroken: (handler, eventName, error) => this.#onBroken(handler, eventName, error),
    })
    for (const [eventName, handlers] of Object.entries(document.on))
      for (const handler of handlers) this.#bus.on(eventName, handler, system)
  }

  /** Returns a new object each time, because an event freezes its context. */
  context(): { execution_id: string; workflow_name: string } {
    return { execution_id: this.#run.execution_id, workflow_name: this.#run.workflow.name }
  }

  emit(type: string, id: string, status: string, context: Context): void {
    if (this.#isSilent) return
    this.#bus.emit(type, id, status, context)
    this.#run.state.writeSoon()
  }

  /** Records an incident of a thread, and returns its id. */
  incident(
    category: IncidentCategory,
    message: string,
    thread: { thread_id: string } | null,
    { error, detail, ...more }: NoteworthyError = {},
  ): string {
    if (this.#isSilent) return ''
    const { execution_id } = this.#run
    const cause = error === undefined ? {} : { error: messageOf(error), error_type: error instanceof Error ? error.name : typeof error }
    const about = { ...more, execution_id, thread_id: thread?.thread_id ?? null, detail: { ...cause, ...detail } }
    const { incident_id, severity } = this.#hub.incident(category, message, about)
    this.#run.record.add({ kind: 'incident', at: this.#run.now(), incident_id, category, severity, message, thread_id: about.thread_id })
    return incident_id
  }

  /** Emits a custom event to a group, or to all: first releases the threads that wait for it, then publishes it. Does nothing after the end of the run. Throws `invalid` for a reserved or malformed name. */
  emitCustom(name: string, published: Published, thread_id: string | null, scope: Scope = null): void {
    mustBeEmittable(name)
    if (this.#run.isOver) return
    if (this.#run.environment.mode !== 'PURE_SIM' && this.#flood.isBeginning()) {
      const { events, within_s } = flooding
      this.incident('EVENT_FLOOD', `more than ${events} custom events within ${within_s} s; none is dropped`, null, { severity: 'WARNING' })
    }
    this.#run.channels.publish(name, published, scope)
    const group_id = scope?.group_id ?? null
    this.emit('CUSTOM', name.replaceAll('.', '_'), 'EMITTED', { ...this.context(), thread_id, group_id, event_name: name, ...published })
  }

  /** Ends the subscriptions of the workflow's handlers, after the end of the run. */
  close(): void {
    this.#bus.close()
  }

  /** Publishes nothing more. */
  silence(): void {
    this.#isSilent = true
  }

  #onBroken(handler: string, eventName: string, error: unknown): void {
    // No incident for a failing handler of incidents: it would be called for that incident too.
    if (eventName.startsWith('INCIDENT.')) return
    this.incident('EVENT_HANDLER_EXCEPTION', `the handler ${handler} failed three times in a row: ${messageOf(error)}`, null, {
      severity: 'WARNING',
      recovery_action: 'PLUGIN_DISABLE',
      error,
    })
  }
}

function mustBeEmittable(name: string): void {
  if (name.startsWith('OPERATOR.'))
    throw new LabError('invalid', `${name}: names that begin with OPERATOR. are the runtime's own; take another`)
  if (!/^[^\p{Cc}\p{Cs}]{1,128}$/u.test(name)) {
    throw new LabError('invalid', 'the name of a custom event must be 1 to 128 characters, none of them a control character')
  }
}
