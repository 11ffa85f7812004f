// A method under way: its owner goes through its actions, other threads take part in them.

import type { ActionRun } from './action.ts'
import { Change } from './change.ts'
import type { MethodPlan } from './plan.ts'
import type { SavedMethod } from './saved.ts'
import { type MethodStatus, methodTransitions, Status } from './statuses.ts'
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
  /** Of its actions, the first that is not done. */
  next = 0
  /** Labware that has been sent for. */
  readonly wanted = new Set<string>()
  /** None of its actions was left out so far. */
  isWhole = true
  /** The labware that was to come never will: the owner goes on without. */
  isAbandoned = false

  constructor(owner: LabwareThread, plan: MethodPlan, saved?: SavedMethod) {
    this.method_id = saved?.method_id ?? owner.world.newId()
    this.owner = owner
    this.plan = plan
    if (saved) {
      this.next = saved.next
      this.isWhole = saved.is_whole
      for (const labware of saved.wanted) this.wanted.add(labware)
    }
    const publish = (status: MethodStatus) => owner.execution.emit('METHOD', this.method_id, status, this.context())
    this.status = new Status(methodTransitions, (saved?.status as MethodStatus) ?? 'CREATED', publish, { isTold: saved !== undefined })
  }

  get isOver(): boolean {
    return this.status.isTerminal
  }

  context() {
    const { owner, plan, method_id } = this
    const participating_thread_ids = [owner.thread_id, ...[...this.#participants].map(({ thread_id }) => thread_id)]
    return {
      ...owner.execution.context(),
      method_id,
      method_name: plan.name,
      thread_id: owner.thread_id,
      thread_name: owner.name,
      participating_thread_ids,
    }
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
    this.changed.tell()
  }

  /** Ends it: COMPLETED if all was done. Done twice changes nothing. */
  end(isDone: boolean): void {
    if (this.isOver) return
    this.status.become(isDone && this.isWhole ? 'COMPLETED' : this.status.current === 'CREATED' ? 'SKIPPED' : 'PARTIAL_COMPLETE')
    this.action = null
    this.changed.tell()
  }
}
