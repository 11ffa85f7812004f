// A method under way: its owner goes through its actions, other threads take part in them.

import { Change } from '../../kit/change.ts'
import type { SavedMethod } from '../kept/saved.ts'
import type { ActionPlan, MethodPlan } from '../plans/plan.ts'
import { type MethodStatus, methodTransitions, Status } from '../statuses.ts'
import type { ActionRun } from './action.ts'
import type { LabwareThread } from './thread.ts'

export class MethodRun {
  readonly method_id: string
  readonly plan: MethodPlan
  readonly owner: LabwareThread
  readonly status: Status<MethodStatus>
  readonly #participants = new Set<LabwareThread>()
  /** A new action, a participant more or less, the end. */
  readonly changed = new Change()
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

  /** `isTold`: of one that was saved, its status is in the log. */
  constructor(owner: LabwareThread, plan: MethodPlan, saved?: SavedMethod & { isTold: boolean }) {
    this.method_id = saved?.method_id ?? owner.world.newId()
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
    this.status = new Status(methodTransitions, (saved?.status as MethodStatus) ?? 'CREATED', publish, { isTold: saved?.isTold === true })
  }

  get isOver(): boolean {
    return this.status.isTerminal
  }

  context() {
    const { owner, plan, method_id } = this
    const { execution, thread_id, name } = owner
    return {
      execution_id: execution.execution_id,
      workflow_name: execution.workflow.name,
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

  enter(thread: LabwareThread): void {
    this.#participants.add(thread)
    this.changed.tell()
  }

  leave(thread: LabwareThread): void {
    this.#participants.delete(thread)
    this.changed.tell()
  }

  /** Who brings this labware, once it has come to take part. */
  carrierOf(labware: string): LabwareThread | undefined {
    if (this.owner.labware.template === labware) return this.owner
    for (const thread of this.#participants) if (thread.labware.template === labware) return thread
    return undefined
  }

  get participants(): readonly LabwareThread[] {
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
