// A method under way: its owner goes through its actions, other threads take part in them.

import { Signal } from '../../kit/signal.ts'
import type { MethodState } from '../journal/checkpoint.ts'
import type { ActionPlan, MethodPlan } from '../plans/plan.ts'
import { type MethodStatus, methodTransitions, Status } from '../statuses.ts'
import type { ActionRun, OwningMethod } from './action.ts'
import type { Carrier, Publisher } from './carrier.ts'

/** The thread that owns a method; its run knows the actions that an operator put in, and the slots to which the method's labware belongs. */
type Owner = Carrier & {
  readonly execution: Publisher & {
    readonly inserts: { actionAt(path: string): ActionPlan }
    readonly slots: { methodEnded(method: MethodRun): void }
  }
}

export class MethodRun implements OwningMethod {
  readonly method_id: string
  readonly plan: MethodPlan
  readonly owner: Owner
  readonly status: Status<MethodStatus>
  readonly #participants = new Set<Carrier>()
  /** A new action, a participant more or less, the end. */
  readonly changed = new Signal()
  /** The action that the owner is in. */
  action: ActionRun | null = null
  readonly actions: ActionPlan[]
  /** Of its actions, those that an operator put in. */
  readonly inserted = new Set<ActionPlan>()
  /** Of its actions, the first that is not done. */
  next = 0
  /** Its owner is in that. */
  isTaken = false
  /** Labware that has been sent for. */
  readonly wanted = new Set<string>()
  /** None of its actions was left out so far. */
  isWhole = true
  /** The labware that was to come never will: the owner goes on without. */
  isAbandoned = false

  /** `isPublished`: the status of the saved method is in the event log. */
  constructor(owner: Owner, plan: MethodPlan, saved?: MethodState & { isPublished: boolean }) {
    this.method_id = saved?.method_id ?? owner.environment.newId()
    this.owner = owner
    this.plan = plan
    this.actions = [...plan.actions]
    if (saved) {
      for (const { at, path } of saved.inserted) {
        const action = owner.execution.inserts.actionAt(path)
        this.actions.splice(at, 0, action)
        this.inserted.add(action)
      }
      this.next = saved.next
      this.isWhole = saved.is_whole
      this.isAbandoned = saved.is_abandoned
      for (const labware of saved.wanted) this.wanted.add(labware)
    }
    const publish = (status: MethodStatus) => owner.execution.emit('METHOD', this.method_id, status, this.context())
    this.status = new Status(methodTransitions, (saved?.status as MethodStatus) ?? 'CREATED', publish, {
      isPublished: saved?.isPublished === true,
    })
  }

  get isOver(): boolean {
    return this.status.isTerminal
  }

  context() {
    const { owner, plan, method_id } = this
    const { execution, thread_id, name } = owner
    return {
      ...execution.context(),
      method_id,
      method_name: plan.name,
      thread_id,
      thread_name: name,
      participating_thread_ids: this.threadIds(),
    }
  }

  /** Of all who take part; the owner first. A fresh list each time: what an event carries is frozen. */
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

  /** Who brings this labware, once it has come to take part. */
  carrierOf(labware: string): Carrier | undefined {
    if (this.owner.labware.template === labware) return this.owner
    for (const thread of this.#participants) if (thread.labware.template === labware) return thread
    return undefined
  }

  get participants(): readonly Carrier[] {
    return [...this.#participants]
  }

  abandon(): void {
    this.isAbandoned = true
    this.owner.touch()
    this.changed.tell()
  }

  /** Its owner has gone on from the action that it was in. */
  passed(): void {
    this.next++
    this.isTaken = false
  }

  /** Ends it: COMPLETED if all was done. Done twice changes nothing. */
  end(isDone: boolean): void {
    if (this.isOver) return
    this.status.become(isDone && this.isWhole ? 'COMPLETED' : this.status.current === 'CREATED' ? 'SKIPPED' : 'PARTIAL_COMPLETE')
    this.action = null
    this.owner.execution.slots.methodEnded(this)
    this.changed.tell()
  }
}
