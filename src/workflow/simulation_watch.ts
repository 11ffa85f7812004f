// For tests: looks after each event whether it may be so, by the event alone and by the floor as it is then.

import * as v from 'valibot'
import * as contexts from '../events/contexts.ts'
import type { RuntimeEvent } from '../events/event.ts'
import type { Floor } from './floor/floor.ts'
import type { Execution } from './runs/execution.ts'
import { actionTransitions, isTerminal, methodTransitions, type Transitions, threadTransitions, workflowTransitions } from './statuses.ts'

const ends = { COMPLETED: {}, FAILED: {}, ABORTED: {} }

/** What may follow what, as it can be seen in events; ids of groups and slots have none. */
const tables: Readonly<Record<string, { first: string; next: Transitions<string> }>> = {
  ACTION: { first: 'CREATED', next: actionTransitions },
  METHOD: { first: 'CREATED', next: methodTransitions },
  THREAD: { first: 'CREATED', next: threadTransitions },
  WORKFLOW: { first: 'CREATED', next: workflowTransitions },
  SUBMISSION: { first: 'ACCEPTED', next: { ACCEPTED: { COMPLETED: '', FAILED: '', ABORTED: '' }, ...ends } },
}

const schemas: Readonly<Record<string, v.GenericSchema>> = {
  THREAD: contexts.ThreadExecutionContext,
  ACTION: contexts.LocationActionExecutionContext,
  METHOD: contexts.MethodExecutionContext,
  WORKFLOW: contexts.WorkflowExecutionContext,
  SLOT: contexts.WorkflowExecutionContext,
  SUBMISSION: contexts.SubmissionExecutionContext,
  GROUP: contexts.GroupLifecycleContext,
  EXECUTION: contexts.ExecutionLifecycleContext,
  CUSTOM: contexts.CustomEventContext,
  OPERATOR: contexts.OperatorInstructionContext,
  INCIDENT: contexts.IncidentContext,
  DEVICE_OP: contexts.ThreadExecutionContext,
  TIP_RACK: contexts.ThreadExecutionContext,
}

function schemaFor({ entity_type, status, context }: RuntimeEvent): v.GenericSchema {
  if (status.startsWith('AWAITING_MANUAL_')) return contexts.ManualInterventionContext
  if (entity_type === 'ACTION' && 'pause_reason' in context) return contexts.MoveActionExecutionContext
  return schemas[entity_type] ?? v.never()
}

/** What events tell must go together; `faults` says what does not. */
export class Watch {
  readonly faults: string[] = []
  readonly #statuses = new Map<string, string>()
  readonly #groups = new Set<string>()
  readonly #reached = new Map<string, Stage>()
  readonly #dead = new Set<string>()
  readonly #find: (execution_id: string) => Execution | undefined

  constructor(find: (execution_id: string) => Execution | undefined) {
    this.#find = find
  }

  see(event: RuntimeEvent): void {
    this.#wellFormed(event)
    this.#legal(event)
    this.#ofTheLiving(event)
    this.#inOrder(event)
    if (mistakes.test(String(event.context.last_error ?? ''))) this.fault(`it says: ${event.context.last_error}`, event)
    const execution = this.#find(event.execution_id)
    if (execution) this.#standing(execution.world.floor, event)
  }

  fault(what: string, event?: RuntimeEvent): void {
    this.faults.push(event ? `${what}, at ${event.event_name}` : what)
  }

  #wellFormed(event: RuntimeEvent): void {
    const checked = v.safeParse(schemaFor(event), event.context)
    for (const issue of checked.issues ?? []) this.fault(`its context: ${v.getDotPath(issue)}: ${issue.message}`, event)
    const { action_status, execution_id } = event.context
    if (event.entity_type === 'ACTION' && action_status !== event.status) this.fault(`its context says ${action_status}`, event)
    if (execution_id !== event.execution_id) this.fault(`its context is of execution ${execution_id}`, event)
  }

  #legal(event: RuntimeEvent): void {
    const table = tables[event.entity_type]
    if (!table) return
    const key = `${event.entity_type}.${event.entity_id}`
    const before = this.#statuses.get(key)
    this.#statuses.set(key, event.status)
    if (before === undefined && event.status !== table.first) this.fault(`it begins with ${event.status}`, event)
    if (before !== undefined && table.next[before]?.[event.status] === undefined) this.fault(`it follows ${before}`, event)
  }

  #ofTheLiving(event: RuntimeEvent): void {
    const { thread_id, submission_id, group_id } = event.context
    if (event.entity_type !== 'INCIDENT' && this.#dead.has(String(thread_id))) this.fault(`its thread ${thread_id} has ended`, event)
    if (event.entity_type === 'THREAD' && isTerminal(threadTransitions, event.status as never)) this.#dead.add(event.entity_id)
    if (event.entity_type !== 'GROUP') return
    const group = `${submission_id} ${group_id}`
    if (this.#groups.has(group)) this.fault('it completes twice', event)
    this.#groups.add(group)
    for (const thread of this.#find(event.execution_id)?.threads.values() ?? []) {
      const { origin, thread_id, name } = thread
      if (origin.submission_id === submission_id && origin.group_id === group_id && !this.#dead.has(thread_id))
        this.fault(`thread ${name} of it is still ${thread.status.current}`, event)
    }
  }

  /** It is accepted, there is a workflow, it goes on; threads end, then what was not delivered, the workflow, its submissions, the execution; then nothing. */
  #inOrder(event: RuntimeEvent): void {
    const { execution_id } = event
    const reached = this.#reached.get(execution_id) ?? 'nothing'
    const [from, to] = stagesOf(event)
    if (stages.indexOf(reached) < stages.indexOf(from)) this.fault(`it comes before ${from}`, event)
    if (stages.indexOf(reached) > stages.indexOf(to)) this.fault(`it comes after ${reached}`, event)
    const step = steps[event.entity_type]?.[event.status]
    if (step && stages.indexOf(step) > stages.indexOf(reached)) this.#reached.set(execution_id, step)
    if (step !== 'undelivered') return
    for (const thread of this.#find(execution_id)?.live() ?? []) this.fault(`${thread.name} has not ended`, event)
  }

  /** One labware in a place, one place for a labware; nothing kept for those who have ended. */
  #standing(floor: Floor, event: RuntimeEvent): void {
    const seats = floor.seats()
    const at = new Map<string, string>()
    for (const { seat, labware_id, reserved_for } of seats) {
      if (reserved_for && this.#isBuried(reserved_for, event)) this.fault(`${seat} is reserved for ${reserved_for}, which has ended`, event)
      if (labware_id === null) continue
      if (at.has(labware_id)) this.fault(`${labware_id} stands at ${at.get(labware_id)} and at ${seat}`, event)
      at.set(labware_id, seat)
      if (floor.whereIs(labware_id) !== seat) this.fault(`${labware_id} is at ${seat} and at ${floor.whereIs(labware_id)}`, event)
    }
    for (const device of floor.graph.devices) {
      const holder = floor.holder(device)
      if (holder && this.#isBuried(holder, event)) this.fault(`${device} is held by ${holder}, which has ended`, event)
    }
  }

  /** It ended before this event. */
  #isBuried(thread_id: string, { entity_id }: RuntimeEvent): boolean {
    return this.#dead.has(thread_id) && entity_id !== thread_id
  }
}

/** What is never an instrument's fault, nor an operator's. */
const mistakes = /cannot follow|is not reserved for|asks again while|is not thread .* to move|undefined|not a function|null/

/** How far an execution is, as its events tell. */
const stages = ['nothing', 'accepted', 'created', 'started', 'undelivered', 'workflow over', 'submissions over', 'over'] as const
type Stage = (typeof stages)[number]

/** The events that bring it further. */
const steps: Readonly<Record<string, Readonly<Record<string, Stage>>>> = {
  SUBMISSION: { ACCEPTED: 'accepted', COMPLETED: 'submissions over', FAILED: 'submissions over', ABORTED: 'submissions over' },
  WORKFLOW: { CREATED: 'created', IN_PROGRESS: 'started', COMPLETED: 'workflow over', ERRORED: 'workflow over' },
  SLOT: { ABANDONED: 'undelivered' },
  EXECUTION: { COMPLETED: 'over', FAILED: 'over', ABORTED: 'over' },
}

/** Between which stages it may come. */
function stagesOf({ entity_type, status }: RuntimeEvent): readonly [from: Stage, to: Stage] {
  const step = steps[entity_type]?.[status]
  switch (step) {
    case undefined:
      return entity_type === 'INCIDENT'
        ? ['nothing', 'started']
        : entity_type === 'THREAD'
          ? ['created', 'started']
          : ['accepted', 'started']
    case 'accepted':
      return ['nothing', 'started']
    case 'created':
      return ['accepted', 'created']
    case 'over':
      return ['submissions over', 'over']
    case 'submissions over':
      return ['workflow over', step]
    case 'started':
      return ['created', step]
    default:
      return ['started', step]
  }
}

/** `THREAD.MOVING` for each name of an event. */
export function statusesTold(names: readonly string[]): Set<string> {
  return new Set(names.map((name) => name.split('.')).map((parts) => `${parts[0]}.${parts.at(-1)}`))
}
