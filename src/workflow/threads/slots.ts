// Who brings the labware that other threads' methods need: a queue of methods for each labware and scope, and one receiver at a time.

import { LabError } from '../../errors.ts'
import { Signal } from '../../kit/signal.ts'
import type { ThreadPlan } from '../plans/plan.ts'
import { mayFeed } from '../plans/plan.ts'
import type { SlotStatus } from '../statuses.ts'
import { type Frame, joinsAhead, remaining, tipsOf } from './ahead.ts'
import type { Carrier, Publisher, ThreadOrigin } from './carrier.ts'
import { isSpent } from './labware.ts'
import type { MethodRun } from './method.ts'
import { Fatal } from './recovery.ts'

/** A thread, as its slot knows it. */
type Receiver = Carrier & {
  readonly frames: readonly Frame[]
  /** The method of another thread in which it takes part. */
  readonly joining: MethodRun | null
  readonly isStopping: boolean
  pause(reason: 'system'): unknown
}

/** What slots use of their run. */
interface Run extends Publisher {
  /** Whether labware that may be batched is shared by all its submissions. */
  readonly isJoinable: boolean
  live(): readonly Receiver[]
  /** Makes a thread, which adopts its slot. */
  spawn(plan: ThreadPlan, origin: ThreadOrigin): unknown
}

export type Slot = {
  /** `<labware>:<group or *>:<submission or *>` */
  readonly key: string
  readonly labware: string
  readonly group_id: string | null
  readonly submission_id: string | null
  /** Methods that wait for the receiver. */
  readonly queue: MethodRun[]
  /** Methods for the receiver after this one. */
  readonly pending: MethodRun[]
  receiver: Receiver | null
  /** In how many methods the receiver takes part, or is to; when there is none any more, in how many the last one took part. */
  contributions: number
  /** Nobody is left who could bring it work. */
  isClosed: boolean
  /** Its receiver ended with work in hand: an operator has to look at it. */
  isOrphaned: boolean
}

type Scope = { labware: string; group_id: string | null; submission_id: string | null }

export class Slots {
  readonly #execution: Run
  readonly #slots = new Map<string, Slot>()
  /** Those whose entry in the journal is out of date. */
  readonly dirty = new Set<Slot>()
  /** Receivers that wait with nothing in the queue. */
  readonly #emptyHanded = new Set<Receiver>()
  /** Work has come, or a slot was closed. */
  readonly changed = new Signal()

  constructor(execution: Run) {
    this.#execution = execution
  }

  restore(slot: Slot): void {
    this.#slots.set(slot.key, slot)
  }

  list(): Slot[] {
    return [...this.#slots.values()]
  }

  /** The slot whose labware a thread carries. */
  of({ labware, origin }: Receiver): Slot {
    return this.#slot(this.#scope(labware.template, origin))
  }

  /** A thread that carries labware for which nobody else is there becomes its receiver. */
  adopt(thread: Receiver): void {
    const slot = this.of(thread)
    if (slot.receiver && !slot.receiver.isOver) return
    slot.receiver = thread
    slot.contributions = slot.queue.length
    this.dirty.add(slot)
  }

  /**
   * Sends for the labware of these templates, all or none of them: to the receiver that is there, else to a fresh thread.
   * Answers false when one is full, and an operator has to decide: a `isRetry` is their word that a fresh one may come once the full one
   * has ended. Throws `Fatal` when one is full and that is to fail.
   */
  deliver(method: MethodRun, labware: readonly string[], { isRetry = false }: { isRetry?: boolean } = {}): boolean {
    const slots = labware
      .filter((template) => !method.state.wanted.includes(template))
      .map((template) => this.#slot(this.#scope(template, method.owner.origin)))
    for (const slot of slots) {
      if (slot.isOrphaned) return this.#awaitDecision(slot)
      if (!this.#isFull(slot)) continue
      const { max, when_full } = this.#carrier(slot).template.capacity!
      if (when_full === 'REJECT') {
        this.#emit(slot, 'REJECTED')
        const why = `${slot.labware} has taken part in ${max} methods, and no other is sent for (capacity of its thread)`
        throw new Fatal(new LabError('conflict', `slot ${slot.key} is full: ${why}`))
      }
      const mayReplace = isRetry && (slot.receiver === null || slot.receiver.isOver)
      if (when_full === 'RECOVERABLE_REJECT' && !mayReplace) return this.#awaitDecision(slot)
    }
    for (const slot of slots) {
      method.sendFor(slot.labware)
      if (this.#overflows(slot)) this.#emit(slot, 'OVERFLOW')
      this.#hand(slot, method)
    }
    this.changed.tell()
    return true
  }

  /** The first method in the queue that the receiver may take part in; 'closed' when none will come any more. */
  next(thread: Receiver, allows: readonly string[]): MethodRun | 'closed' | undefined {
    const slot = this.of(thread)
    if (slot.receiver !== thread) return 'closed'
    const method = slot.queue.find((method) => allows.includes(method.plan.name) && !method.isOver)
    return method ?? (slot.isClosed || this.#isUsedUp(slot) ? 'closed' : undefined)
  }

  take(thread: Receiver, method: MethodRun): void {
    const slot = this.of(thread)
    remove(slot.queue, method)
    this.dirty.add(slot)
  }

  hasWork(thread: Receiver): boolean {
    return this.of(thread).receiver === thread && this.of(thread).queue.some((method) => !method.isOver)
  }

  /** Whether a loop of the receiver has more to do, or may have. */
  hasMore(thread: Receiver): boolean {
    const slot = this.of(thread)
    if (slot.receiver !== thread || this.#isSpent(thread)) return false
    return slot.queue.some((method) => !method.isOver) || !(slot.isClosed || this.#isUsedUp(slot))
  }

  /** The receiver takes part in nothing more than it has already. */
  #isUsedUp(slot: Slot): boolean {
    const { receiver, contributions } = slot
    const max = this.#carrier(slot).template.capacity?.max
    return receiver !== null && (this.#isSpent(receiver) || (max !== undefined && contributions >= max))
  }

  /** Whether it has no tips, or fewer than any method of the workflow takes of it. */
  #isSpent({ labware }: Receiver): boolean {
    if (labware.tips_left === null || isSpent(labware)) return isSpent(labware)
    const wanting = [...this.#execution.workflow.methods.values()].filter(({ actions }) =>
      actions.some((action) => action.labware.includes(labware.template)),
    )
    return wanting.length > 0 && wanting.every((method) => tipsOf(method, labware.template) > labware.tips_left!)
  }

  /** Who brings this labware to the method, as far as somebody has been sent for. */
  bearers(method: MethodRun, labware: readonly string[]): string[] {
    return labware.flatMap((template) => {
      const { receiver } = this.#slot(this.#scope(template, method.owner.origin))
      const thread = method.carrierOf(template) ?? receiver
      return thread ? [thread.thread_id] : []
    })
  }

  /** Those that would be sent for if this labware were wanted now, and are there already. */
  likely(method: MethodRun, labware: readonly string[]): Receiver[] {
    return labware.flatMap((template) => {
      const slot = this.#slots.get(scopeKey(this.#scope(template, method.owner.origin)))
      const receiver = slot?.receiver
      if (!slot || !receiver || slot.isOrphaned || method.state.wanted.includes(template) || receiver.joining === method) return []
      return this.#canTakeOn(receiver, method) && !this.#isFull(slot) ? receiver : []
    })
  }

  /** A thread has ended: what it was to take part in goes to another, or waits for an operator if it ended badly. */
  ended(thread: Receiver): void {
    const slot = this.of(thread)
    const work = thread.joining ? [thread.joining] : []
    this.dirty.add(slot)
    if (slot.receiver === thread) {
      work.push(...slot.queue.splice(0), ...slot.pending.splice(0))
      slot.receiver = null
    }
    const open = work.filter((method) => !method.isOver)
    if (open.length === 0) return
    if (slot.receiver === null) slot.contributions = 0
    if (thread.status.current === 'COMPLETED') for (const method of open) this.#hand(slot, method)
    else this.#orphan(slot, thread, open)
    this.changed.tell()
  }

  /** The receiver waits for work; the answer is called when it does no longer. */
  waits(thread: Receiver): () => void {
    this.#emptyHanded.add(thread)
    return () => this.#emptyHanded.delete(thread)
  }

  /** Closes the slots whose receivers wait for work that nobody can bring any more. */
  settle(): void {
    for (const receiver of this.#emptyHanded) {
      const slot = this.of(receiver)
      if (slot.isClosed || slot.receiver !== receiver || slot.queue.some((method) => !method.isOver)) continue
      const mayCome = (thread: Receiver) => thread !== receiver && this.#isInScope(slot, thread) && mayFeed(remaining(thread), slot.labware)
      if (this.#execution.live().some(mayCome)) continue
      slot.isClosed = true
      this.dirty.add(slot)
      this.changed.tell()
    }
  }

  /** Methods that have ended are in no slot. */
  methodEnded({ state, owner }: MethodRun): void {
    for (const labware of state.wanted) this.dirty.add(this.#slot(this.#scope(labware, owner.origin)))
  }

  /** Gives up the work of orphaned slots: methods that wait for their labware go on without it. */
  acceptPartial(): void {
    for (const slot of this.#slots.values()) {
      if (!slot.isOrphaned) continue
      slot.isOrphaned = false
      slot.isClosed = true
      this.dirty.add(slot)
      for (const method of slot.pending.splice(0)) method.abandon()
    }
  }

  /** What was never delivered is said before the execution ends. */
  abandon(): void {
    for (const slot of this.#slots.values()) if (slot.queue.length + slot.pending.length > 0) this.#emit(slot, 'ABANDONED')
  }

  /** One that is full, and could take it on all the same, has to end first. */
  #hand(slot: Slot, method: MethodRun): void {
    this.dirty.add(slot)
    slot.isClosed = false
    if (this.#isFull(slot) && slot.receiver && this.#canTakeOn(slot.receiver, method)) {
      slot.pending.push(method)
      return
    }
    const { receiver } = slot
    if (!receiver || !this.#canTakeOn(receiver, method)) {
      slot.receiver = null
      slot.contributions = 0
      this.#execution.spawn(this.#carrier(slot), {
        group_id: slot.group_id,
        submission_id: slot.submission_id ?? method.owner.origin.submission_id,
      })
    }
    slot.queue.push(method)
    slot.contributions++
  }

  /** The labware that is there, or that was there last, has taken part in as many methods as it may. */
  #isFull(slot: Slot): boolean {
    const max = this.#carrier(slot).template.capacity?.max
    return max !== undefined && slot.contributions >= max
  }

  /** Whether one labware more is needed because others are full: published once for each, whenever these end. */
  #overflows(slot: Slot): boolean {
    const { max, when_full } = this.#carrier(slot).template.capacity ?? {}
    return when_full === 'NEW' && max !== undefined && this.#isFull(slot) && slot.pending.length % max === 0
  }

  /** A receiver that has no join left for it, though it has not ended, takes on nothing new; nor one with too few tips. */
  #canTakeOn(receiver: Receiver, method: MethodRun): boolean {
    if (receiver.isOver || receiver.isStopping) return false
    const { labware, joining } = receiver
    const ahead = [...(joining ? [joining] : []), ...this.of(receiver).queue]
    if (joinsAhead(remaining(receiver), method.plan.name) <= ahead.length) return false
    const pledged = [...ahead, method].reduce((sum, work) => sum + tipsOf(work, labware.template), 0)
    return labware.tips_left === null || pledged <= labware.tips_left
  }

  #orphan(slot: Slot, thread: Receiver, work: MethodRun[]): void {
    const others = this.#execution.live().filter((other) => other !== thread && this.#isInScope(slot, other))
    if (others.length === 0) return
    slot.isOrphaned = true
    slot.pending.push(...work)
    this.#emit(slot, 'ORPHANED')
    const names = work.map((method) => method.plan.name).join(', ')
    this.#execution.incident(
      'ORPHANED_BACKLOG',
      `${thread.name} ended ${thread.status.current} with work in hand: ${names}; resume the execution to go on without its labware`,
      thread,
      {
        recovery_action: 'RESUME_EXECUTION',
      },
    )
    for (const other of others) other.pause('system')
  }

  #awaitDecision(slot: Slot): false {
    this.#emit(slot, 'AWAITING_DECISION')
    return false
  }

  #carrier({ labware }: Slot): ThreadPlan {
    const { carrier, threads } = this.#execution.workflow
    return threads.get(carrier(labware)!)!
  }

  #isInScope(slot: Slot, { origin }: Receiver): boolean {
    const isGroup = slot.group_id === null || origin.group_id === null || slot.group_id === origin.group_id
    return isGroup && (slot.submission_id === null || slot.submission_id === origin.submission_id)
  }

  #scope(labware: string, { group_id, submission_id }: { group_id: string | null; submission_id: string }): Scope {
    const { group_sharing, submission_batching } = this.#execution.workflow.document.labware[labware]!
    return {
      labware,
      group_id: group_sharing === 'SHARED_ACROSS_GROUPS' ? null : group_id,
      submission_id: submission_batching === 'BATCHABLE' && this.#execution.isJoinable ? null : submission_id,
    }
  }

  #slot(scope: Scope): Slot {
    const key = scopeKey(scope)
    let slot = this.#slots.get(key)
    if (!slot) {
      slot = { key, ...scope, queue: [], pending: [], receiver: null, contributions: 0, isClosed: false, isOrphaned: false }
      this.#slots.set(key, slot)
      this.dirty.add(slot)
    }
    return slot
  }

  #emit(slot: Slot, status: SlotStatus): void {
    this.#execution.emit('SLOT', slot.key, status, this.#execution.context())
  }
}

function remove<Item>(items: Item[], item: Item): void {
  const at = items.indexOf(item)
  if (at !== -1) items.splice(at, 1)
}

export function scopeKey({ labware, group_id, submission_id }: Scope): string {
  return `${labware}:${group_id ?? '*'}:${submission_id ?? '*'}`
}
