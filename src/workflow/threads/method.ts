// A running method: its owner goes through the actions, and other threads take part in them.

import type { ActionPlan, MethodPlan } from '../plans/plan.ts'
import { Signal } from '../scheduler/signal.ts'
import { Entry, type RunState } from '../state/entry.ts'
import { withInserted, withPlace } from '../state/frame.ts'
import type { MethodState } from '../state/run.ts'
import { type MethodStatus, methodTransitions, Status } from '../state/statuses.ts'
import type { ActionRun, OwningMethod } from './action/action.ts'
import type { Carrier, Publisher } from './carrier.ts'

/** The thread that owns a method. Its run knows the actions that an operator inserted. */
type Owner = Carrier & {
  readonly execution: Publisher & {
    readonly inserts: { actionAt(path: string): ActionPlan }
    readonly state: RunState
    /** Methods that have not ended. */
    readonly methods: Map<string, MethodRun>
  }
}

export class MethodRun extends Entry<'method'> implements OwningMethod {
  readonly plan: MethodPlan
  readonly owner: Owner
  readonly status: Status<MethodStatus>
  readonly #participants = new Set<Carrier>()
  /** Tells of a new action, a change of the participants, and the end. */
  readonly changed = new Signal()
  /** The action that the owner is doing. */
  action: ActionRun | null = null
  /** The actions, with those that an operator inserted. */
  readonly actions: ActionPlan[]
  /** Whether the owner has begun the action at `next`. */
  isTaken = false

  /** `saved` is the state of a method that is restored after a restart. */
  constructor(owner: Owner, plan: MethodPlan, saved?: MethodState) {
    const { state, methods, inserts } = owner.execution
    const its = saved ?? newState(owner, plan)
    super(state, 'method', its, its.method_id)
    methods.set(its.method_id, this)
    this.owner = owner
    this.plan = plan
    this.actions = withInserted(plan.actions, its.inserted, (path) => inserts.actionAt(path))
    const publish = (status: MethodStatus) => owner.execution.events.emit('METHOD', this.method_id, status, this.context())
    this.status = new Status<MethodStatus>(methodTransitions, this, publish, { isPublished: saved !== undefined })
  }

  get method_id(): string {
    return this.state.method_id
  }

  /** The index of the first action that is not done. */
  get next(): number {
    return this.state.next
  }

  get isOver(): boolean {
    return this.status.isTerminal
  }

  context() {
    const { owner, plan, method_id } = this
    const { execution, thread_id, name } = owner
    const { execution_id, workflow_name } = execution.events.context()
    return {
      execution_id,
      workflow_name,
      method_id,
      method_name: plan.name,
      thread_id,
      thread_name: name,
      participating_thread_ids: this.threadIds(),
    }
  }

  /** Lists the owner and then the participants. Returns a new list each time, because an event freezes it. */
  threadIds(): string[] {
    const ids = [this.owner.thread_id]
    for (const { thread_id } of this.#participants) ids.push(thread_id)
    return ids
  }

  enter(thread: Carrier): void {
    this.#participants.add(thread)
    this.changed.tell()
  }

  leave(thread: Carrier): void {
    this.#participants.delete(thread)
    this.changed.tell()
  }

  /** Returns the thread with this labware that takes part; undefined if none does yet. */
  carrierOf(labware: string): Carrier | undefined {
    if (this.owner.labware.template === labware) return this.owner
    for (const thread of this.#participants) if (thread.labware.template === labware) return thread
    return undefined
  }

  get participants(): readonly Carrier[] {
    return [...this.#participants]
  }

  /** Notes that labware has been sent for. */
  sendFor(labware: string): void {
    this.set({ wanted: [...this.state.wanted, labware] })
  }

  /** Inserts an action before index `at`. */
  insert(at: number, action: ActionPlan): void {
    this.actions.splice(at, 0, action)
    this.set({ inserted: withPlace(this.state.inserted, at, action.path) })
  }

  /** Notes that the other labware will not come: the owner continues without it. */
  abandon(): void {
    this.set({ is_abandoned: true })
    this.changed.tell()
  }

  /** Advances the owner past an action that is done or left out. */
  passed(isDone: boolean): void {
    this.set({ next: this.next + 1, is_whole: this.state.is_whole && isDone })
    this.isTaken = false
  }

  /** Ends the method: COMPLETED if all its actions were done. A second call changes nothing. */
  end(isDone: boolean): void {
    if (this.isOver) return
    this.status.become(isDone && this.state.is_whole ? 'COMPLETED' : this.status.current === 'CREATED' ? 'SKIPPED' : 'PARTIAL_COMPLETE')
    this.action = null
    this.owner.execution.methods.delete(this.method_id)
    this.remove()
    this.changed.tell()
  }
}

function newState({ environment, thread_id }: Owner, { name }: MethodPlan): MethodState {
  return {
    method_id: environment.newId(),
    name,
    owner_id: thread_id,
    status: 'CREATED',
    next: 0,
    is_whole: true,
    wanted: [],
    is_abandoned: false,
    inserted: [],
  }
}
