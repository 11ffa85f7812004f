// One attempt at an action of a method. A retry is a new attempt, with a new id.

import { LabError } from '../../../errors.ts'
import { filledIn } from '../../plans/params.ts'
import type { ActionPlan } from '../../plans/plan.ts'
import { Signal } from '../../scheduler/signal.ts'
import type { ActionState } from '../../state/run.ts'
import { type ActionStatus, actionTransitions, isTerminal, Status } from '../../state/statuses.ts'
import type { Carrier } from '../carrier.ts'
import { inputsOf } from '../next_stops.ts'
import {
  addActionRow,
  type BegunOperation,
  type EventValue,
  inEvent,
  keepTimes,
  labwareIn,
  mostOperations,
  valuesIn,
  withSample,
} from '../record_rows.ts'

/** The longest JSON of parameters in an event. */
const mostParams = 1024

/** How the action ended for the threads that took part. */
export type Ending = 'clean' | 'left' | 'again' | 'thread_aborted'

/** The part of a method that its action uses. */
export interface OwningMethod {
  readonly method_id: string
  readonly plan: { readonly name: string }
  readonly participants: readonly Carrier[]
  readonly changed: Signal
  action: ActionRun | null
  threadIds(): string[]
}

export class ActionRun {
  readonly action_id: string
  readonly plan: ActionPlan
  readonly owner: Carrier
  readonly method: OwningMethod | null
  /** Part of the owner's state. */
  readonly state: ActionState
  readonly status: Status<ActionStatus>
  /** Tells when a device is bound, when labware arrives, and when the action begins, is held by an error, or ends. */
  readonly changed = new Signal()
  /** The templates of the labware that must be at the device. */
  readonly inputs: readonly string[]
  device: string | null = null
  /** The threads whose labware is at the device, by template. */
  readonly arrived = new Map<string, Carrier>()
  /** The message of the error that holds the action until somebody decides. */
  heldBy: string | null = null
  ending: Ending | null = null
  /** The message of the error that ended the attempt. */
  failure: string | null = null
  /** The operations that it began at its device, and the first of the values that they gave. */
  readonly operations: BegunOperation[] = []
  readonly values: EventValue[] = []

  constructor(owner: Carrier, plan: ActionPlan, method: OwningMethod | null) {
    this.action_id = owner.environment.newId()
    this.state = { action_id: this.action_id, path: plan.path, name: plan.name, status: 'CREATED', has_ended: false }
    this.owner = owner
    this.plan = plan
    this.method = method
    this.inputs = inputsOf(plan, owner.labware.template)
    this.status = new Status<ActionStatus>(actionTransitions, this, (status) => this.#publish(status))
    if (method) method.action = this
  }

  #publish(status: ActionStatus): void {
    const { execution } = this.owner
    execution.events.emit('ACTION', this.action_id, status, { ...this.#context(status), ...this.#members(status) })
    const row = execution.timeline.action(this, status)
    keepTimes(this, row)
    if (status === 'EXECUTING_ACTION') execution.used.action(this.device, this.action_id, 'start')
    if (!isTerminal(actionTransitions, status)) return
    const { owner, heldBy, operations } = this
    addActionRow(execution, row, { owner, others: this.#others, operations, error: status === 'ERRORED' ? (this.failure ?? heldBy) : null })
    if (row.started !== null) execution.used.action(this.device, this.action_id, 'end')
  }

  /** Returns the members that only the events of the beginning and of the end have. */
  #members(status: ActionStatus) {
    if (status === 'COMPLETED' || status === 'ERRORED') return this.#outcome()
    return status === 'EXECUTING_ACTION' && this.device !== null ? this.#beginning(this.device) : undefined
  }

  #beginning(device_id: string) {
    const { owner, plan } = this
    const about = { device_id, ...labwareIn(owner) }
    if (plan.kind !== 'do') return about
    const { execution, origin } = owner
    // An inserted action may name a variable that does not exist, which its body reports.
    const isKnown = (name: string) => Object.hasOwn(execution.workflow.document.variables, name)
    const params = filledIn(plan.action.with, (name) => (isKnown(name) ? execution.variable(name, origin) : undefined))
    const isShort = JSON.stringify(params).length <= mostParams
    return { ...about, operation: plan.action.do, ...(isShort && { params }) }
  }

  #outcome() {
    const { owner, device, operations, values } = this
    const operation_id = operations.at(-1)?.operation_id ?? null
    const others = this.#others.map(labwareIn)
    const joined = others.length > 0 && { others }
    return { operation_id, device_id: device, from: null, to: null, ...labwareIn(owner), ...joined, ...inEvent(values) }
  }

  /** The labware that has joined, besides that of the owner. */
  get #others(): Carrier[] {
    return [...this.arrived.values()].filter((one) => one !== this.owner)
  }

  /** Notes an operation that begins at the device. Returns the note, for the operation's id. */
  began(operation: string, params: Readonly<Record<string, unknown>>): BegunOperation {
    const begun = { operation, params, operation_id: null }
    if (this.operations.length === mostOperations) this.operations.shift()
    this.operations.push(begun)
    return begun
  }

  /** Keeps the values that an operation gave. Their units are those that the device describes. */
  measured({ operation, operation_id }: BegunOperation, data: unknown): void {
    const { owner, device, action_id, plan, method } = this
    const { record } = owner.execution
    if (!record.isKept) return
    const from = { action_id, action_name: plan.name, method_name: method?.plan.name ?? null, operation, operation_id, device_id: device }
    // Readers expect the names of the labware in each value.
    const none = { labware_id: '', labware: '', barcode: null, group_id: null }
    const whose = {
      thread_id: owner.thread_id,
      thread_name: owner.name,
      submission_id: owner.origin.submission_id,
      ...none,
      ...labwareIn(owner),
    }
    const units = device === null ? undefined : owner.execution.workflow.topology.devices.get(device)?.own.get(operation)?.returns
    for (const { name, value, unit, shape } of valuesIn(data, units)) {
      const kept = record.addValue({ name, unit, shape, ...whose, ...from, at: owner.execution.now() }, value)
      if (this.values.length < mostOperations) this.values.push({ name, unit, ...(kept && 'value' in kept && { value: kept.value }) })
    }
  }

  #context(action_status: ActionStatus) {
    const { owner, method, plan, action_id } = this
    const { execution, thread_id, name } = owner
    const { execution_id, workflow_name } = execution.events.context()
    const context = {
      execution_id,
      workflow_name,
      method_id: method?.method_id ?? null,
      method_name: method?.plan.name ?? null,
      thread_id,
      thread_name: name,
      participating_thread_ids: method?.threadIds() ?? [thread_id],
      action_id,
      action_status,
      action_name: plan.name,
    }
    return withSample(context, owner)
  }

  set(members: Partial<ActionState>): void {
    this.owner.setIn('action', this.state, members)
  }

  bind(device: string): void {
    this.device = device
    this.set({ device })
    this.#tell()
  }

  /** Reserves a site of the device for the labware of a thread. Throws `conflict` when all sites are taken. */
  positionFor(thread: Carrier): string {
    const { device } = this
    const position =
      device === null
        ? undefined
        : thread.environment.scheduler.holds.reserveSite(device, thread.thread_id, this.#siteOf(thread), this.owner.thread_id)
    if (position === undefined) throw new LabError('conflict', `there is no free site at ${device} for ${thread.labware.name}`)
    return position
  }

  /** Whether the device has a free site for the thread's labware now. Other labware may still stand there. */
  hasSiteFor(thread: Carrier): boolean {
    const { device, owner } = this
    return device !== null && thread.environment.scheduler.holds.hasSite(device, thread.thread_id, this.#siteOf(thread), owner.thread_id)
  }

  /** Returns the site that the plan sets for the labware, counted from 1; undefined if the plan leaves it open. */
  #siteOf({ labware }: Carrier): number | undefined {
    const { action } = this.plan
    return 'sites' in action ? action.sites[labware.template] : undefined
  }

  arrive(thread: Carrier): void {
    this.arrived.set(thread.labware.template, thread)
    this.#tell()
  }

  /** Notes that a thread's labware was taken away and must be brought again. Has no effect once the body has begun. */
  takenAway(thread: Carrier): void {
    if (this.status.isTerminal || this.status.current === 'EXECUTING_ACTION') return
    if (this.arrived.get(thread.labware.template) !== thread) return
    this.arrived.delete(thread.labware.template)
    this.#tell()
  }

  begin(): void {
    this.status.become('EXECUTING_ACTION')
    this.#tell()
  }

  /** Holds the participating threads because of an error until somebody decides; null releases them. */
  hold(why: string | null): void {
    this.heldBy = why
    this.#tell()
  }

  end(status: 'COMPLETED' | 'ERRORED' | 'SKIPPED' | 'ABORTED', ending: Ending): void {
    if (!this.status.isTerminal) this.status.become(status)
    this.ending = ending
    if (this.method?.action === this) this.method.action = null
    this.#tell()
  }

  #tell(): void {
    this.changed.tell()
    this.method?.changed.tell()
  }
}
