// For tests: looks after each event whether it may be so, by the event alone and by the occupancy of the deck at that moment.

import * as v from 'valibot'
import * as contexts from '../../events/contexts.ts'
import type { RuntimeEvent } from '../../events/event.ts'
import { allSteps, type StepPlan } from '../../workflow/plans/plan.ts'
import { restarted } from '../../workflow/recovery/restore.ts'
import type { Execution } from '../../workflow/runs/execution.ts'
import type { Scheduler } from '../../workflow/scheduler/scheduler.ts'
import {
  actionTransitions,
  isTerminal,
  methodTransitions,
  type Transitions,
  threadTransitions,
  workflowTransitions,
} from '../../workflow/state/statuses.ts'

const ends = { COMPLETED: {}, FAILED: {}, ABORTED: {} }

/** The transitions that can be seen in events; ids of groups and backlogs have none. */
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
  TIP_RACK: contexts.TipRackContext,
}

function schemaFor({ entity_type, status, context }: RuntimeEvent): v.GenericSchema {
  if (status.startsWith('AWAITING_MANUAL_')) return contexts.ManualInterventionContext
  if (entity_type === 'ACTION' && 'pause_reason' in context) return contexts.MoveActionExecutionContext
  return schemas[entity_type] ?? v.never()
}

/** Checks that events are consistent; `faults` says which are not. */
export class Watch {
  readonly faults: string[] = []
  /** Runs that were restored after a restart and that nobody has resumed. */
  readonly standing = new Set<string>()
  restarts = 0
  readonly #open = new Map<string, string>()
  readonly #outcomes = new Map<string, { execution_id: string; status: string; isLost: boolean }>()
  readonly #done = new Set<string>()
  /** The threads whose labware a scanner did not know. */
  readonly #unknown = new Set<unknown>()
  readonly #counts = new Map<string, number>()
  /** The number of steps inserted into each run. */
  readonly #put = new Map<string, number>()
  #last = 0
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
    if (event.timestamp <= this.#last) this.fault('it is not later than the one before', event)
    this.#last = event.timestamp
    this.#legal(event)
    this.#once(event)
    this.#known(event)
    this.#ended(event)
    if (this.standing.has(event.execution_id) && event.entity_type === 'ACTION' && moving.has(event.status))
      this.fault('nobody has resumed it since the restart', event)
    this.#ofTheLiving(event)
    this.#inOrder(event)
    if (mistakes.test(String(event.context.last_error ?? ''))) this.fault(`it says: ${event.context.last_error}`, event)
    const execution = this.#find(event.execution_id)
    if (execution) this.#standing(execution.environment.scheduler, event)
    if (execution) this.#gripped(execution, event)
  }

  /** Forgets all events but these: the others did not reach the disk. */
  rewind(events: readonly RuntimeEvent[]): void {
    const known = this.faults.length
    for (const seen of [this.#open, this.#outcomes, this.#done, this.#counts, this.#statuses, this.#groups, this.#reached, this.#dead])
      seen.clear()
    this.#last = 0
    for (const event of events) this.see(event)
    this.faults.length = known
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
    if (before === event.status) this.fault('it is told twice running', event)
    else if (before !== undefined && table.next[before]?.[event.status] === undefined) this.fault(`it follows ${before}`, event)
  }

  /** Notes that a step was inserted into a run. */
  wasPut(execution_id: string): void {
    this.#put.set(execution_id, (this.#put.get(execution_id) ?? 0) + 1)
  }

  /** Checks that labware that was not known is neither moved nor worked on before its thread is held or ends. */
  #known({ entity_type, status, context }: RuntimeEvent): void {
    const { thread_id, thread_name, action_name } = context
    if (entity_type === 'THREAD') this.#unknown.delete(thread_id)
    if (entity_type !== 'ACTION') return
    if (action_name === 'scan' && status === 'ERRORED') this.#unknown.add(thread_id)
    else if (this.#unknown.has(thread_id) && /^(PICKING|PLACING|EXECUTING_ACTION)$/.test(status))
      this.fault(`the labware of ${thread_name} was not known, and it is ${status}`)
  }

  /** Checks that nothing that is done is done again, not even after a restart. */
  #once(event: RuntimeEvent): void {
    const { entity_type, status, context } = event
    const { method_id, action_name, method_name, thread_name } = context
    if (entity_type === 'METHOD' && status === 'COMPLETED') this.#countedOnce(event, 'method', String(method_name))
    if (entity_type !== 'ACTION' || 'pause_reason' in context) return
    // Labware is scanned wherever it comes to a scanner, and stands in no workflow.
    if (method_id === null && action_name === 'scan') return
    if (method_id === null) {
      if (status === 'COMPLETED') this.#countedOnce(event, 'action', String(action_name))
      return
    }
    const key = `${method_id} ${action_name}`
    if (status === 'CREATED' && this.#done.has(key)) this.fault(`${action_name} of ${thread_name} is done once more`, event)
    if (status === 'COMPLETED') this.#done.add(key)
  }

  /** Checks that a method or action is done no more often than its thread has it as a step. */
  #countedOnce(event: RuntimeEvent, kind: 'method' | 'action', name: string): void {
    const { execution_id, context } = event
    const thread = this.#find(execution_id)?.threads.get(String(context.thread_id))
    if (!thread) return
    const key = `${thread.thread_id} ${kind} ${name}`
    const count = (this.#counts.get(key) ?? 0) + 1
    this.#counts.set(key, count)
    const isIt = (step: StepPlan) =>
      kind === 'method' ? step.kind === 'method' && step.method.name === name : step.kind === 'action' && step.action.name === name
    const steps = [...allSteps(thread.plan.steps)].filter(isIt)
    // A step without a device may be done again, if the service ended before its end was on the disk.
    const again = steps.every(isWithoutDevice) ? this.restarts : 0
    const most = (steps.length + (this.#put.get(execution_id) ?? 0)) * (1 + again)
    if (count > most) this.fault(`${name} of ${thread.name} is done ${count} times`, event)
  }

  /** Checks that all parts of a run are over when the run is, and that its submissions ended as the run did. */
  #ended(event: RuntimeEvent): void {
    const { entity_type, entity_id, execution_id, status } = event
    const table = tables[entity_type]
    const key = `${entity_type}.${entity_id}`
    if (table && isTerminal(table.next, status)) this.#open.delete(key)
    else if (table) this.#open.set(key, execution_id)
    if (entity_type === 'SUBMISSION') this.#outcomes.set(entity_id, { execution_id, status, isLost: event.context.reason === restarted })
    if (entity_type !== 'EXECUTION') return
    for (const [open, of] of this.#open) if (of === execution_id) this.fault(`${open} is still ${this.#statuses.get(open)}`, event)
    for (const [submission_id, outcome] of this.#outcomes)
      if (outcome.execution_id === execution_id && outcome.status !== status && !outcome.isLost)
        this.fault(`submission ${submission_id} is ${outcome.status}`, event)
  }

  isComplete(submission_id: string, group_id: string): boolean {
    return this.#groups.has(`${submission_id} ${group_id}`)
  }

  /** Returns the last published status of an entity. */
  statusOf(entity: string): string | undefined {
    return this.#statuses.get(entity)
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

  /**
   * The order of a run's events: it is accepted, there is a workflow, it goes on; threads end, then what was not delivered, the workflow, its
   * submissions, the execution; then nothing.
   */
  #inOrder(event: RuntimeEvent): void {
    const { execution_id } = event
    const reached = this.#reached.get(execution_id) ?? 'nothing'
    // A submission that was not on the disk when the service ended.
    if (reached === 'started' && event.entity_type === 'SUBMISSION' && event.context.reason === restarted) return
    const [from, to] = stagesOf(event)
    if (stages.indexOf(reached) < stages.indexOf(from)) this.fault(`it comes before ${from}`, event)
    if (stages.indexOf(reached) > stages.indexOf(to)) this.fault(`it comes after ${reached}`, event)
    const step = steps[event.entity_type]?.[event.status]
    if (step && stages.indexOf(step) > stages.indexOf(reached)) this.#reached.set(execution_id, step)
    if (step !== 'undelivered') return
    for (const thread of this.#find(execution_id)?.live() ?? []) this.fault(`${thread.name} has not ended`, event)
  }

  /** Checks that a place has one labware, a labware one place, and that nothing is kept for ended threads. */
  #standing(scheduler: Scheduler, event: RuntimeEvent): void {
    const positions = scheduler.positions()
    const at = new Map<string, string>()
    for (const { position, labware_id, reserved_for } of positions) {
      if (reserved_for && this.#isBuried(reserved_for, event))
        this.fault(`${position} is reserved for ${reserved_for}, which has ended`, event)
      if (labware_id === null) continue
      if (at.has(labware_id)) this.fault(`${labware_id} stands at ${at.get(labware_id)} and at ${position}`, event)
      at.set(labware_id, position)
      if (scheduler.whereIs(labware_id) !== position)
        this.fault(`${labware_id} is at ${position} and at ${scheduler.whereIs(labware_id)}`, event)
    }
    for (const device of scheduler.graph.devices) {
      const holder = scheduler.holds.holder(device)
      if (holder && this.#isBuried(holder, event)) this.fault(`${device} is held by ${holder}, which has ended`, event)
    }
  }

  /** Checks that a transporter carries at most one labware, and only for the thread that uses it. */
  #gripped({ environment }: Execution, event: RuntimeEvent): void {
    const carriers = new Map<string, string>()
    for (const { labware_id, held_by } of environment.labware.values()) {
      // A person may have more than one.
      if (held_by === null || environment.equipment.person?.(held_by)) continue
      if (carriers.has(held_by)) this.fault(`${held_by} carries ${carriers.get(held_by)} and ${labware_id}`, event)
      carriers.set(held_by, labware_id)
      const whose = environment.scheduler.whose(labware_id)
      const user = environment.scheduler.transporters.holder(held_by)
      if (whose !== null && user !== whose) this.fault(`${held_by} carries ${labware_id} of ${whose}, and ${user} uses it`, event)
    }
  }

  /** Whether the run ended before this event. */
  #isBuried(thread_id: string, { entity_id }: RuntimeEvent): boolean {
    return this.#dead.has(thread_id) && entity_id !== thread_id
  }
}

/** The incidents that are never the fault of an instrument or an operator. */
const mistakes = /cannot follow|is not reserved for|makes a request while|is not thread .* to move|undefined|not a function|null/

function isWithoutDevice(step: StepPlan): boolean {
  const actions = step.kind === 'method' ? step.method.actions : step.kind === 'action' ? [step.action] : []
  return actions.every(({ devices }) => devices.length === 0)
}

/** The statuses of an action in which something moves. */
const moving = new Set(['PREPARING_TO_MOVE', 'PICKING', 'PLACING', 'EXECUTING_ACTION'])

/** The progress of a run, by its events. */
const stages = ['nothing', 'accepted', 'created', 'started', 'undelivered', 'workflow over', 'submissions over', 'over'] as const
type Stage = (typeof stages)[number]

/** The events that advance a run to a stage. */
const steps: Readonly<Record<string, Readonly<Record<string, Stage>>>> = {
  SUBMISSION: { ACCEPTED: 'accepted', COMPLETED: 'submissions over', FAILED: 'submissions over', ABORTED: 'submissions over' },
  WORKFLOW: { CREATED: 'created', IN_PROGRESS: 'started', COMPLETED: 'workflow over', ERRORED: 'workflow over' },
  SLOT: { ABANDONED: 'undelivered' },
  EXECUTION: { COMPLETED: 'over', FAILED: 'over', ABORTED: 'over' },
}

/** Returns the stages between which an event may come. */
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
    case 'workflow over':
      return ['created', step]
    default:
      return ['started', step]
  }
}

/** `THREAD.MOVING` for each name of an event. */
export function statusesTold(names: readonly string[]): Set<string> {
  return new Set(names.map((name) => name.split('.')).map((parts) => `${parts[0]}.${parts.at(-1)}`))
}
