// Backlogs deliver labware to the methods of other threads. A backlog is a queue of methods for one labware and scope, with one receiver at a time. The API, the
// events and the files of the state call it a backlog (`backlogs`, `SLOT`), which is not a backlog of a storage.

import { LabError } from '../../errors.ts'
import { mayFeed, type ThreadPlan } from '../plans/plan.ts'
import { Signal } from '../scheduler/signal.ts'
import { Entry, type Fixed, type RunState } from '../state/entry.ts'
import { isSpent } from '../state/labware.ts'
import type { BacklogState } from '../state/run.ts'
import type { BacklogStatus } from '../state/statuses.ts'
import type { Carrier, Publisher, ThreadOrigin } from './carrier.ts'
import type { Frame } from './frame.ts'
import type { MethodRun } from './method.ts'
import { joinsAhead, remaining, tipsOf } from './next_stops.ts'
import { Fatal } from './recovery.ts'

/** The part of a thread that its backlog uses. */
type Receiver = Carrier & {
  readonly frames: readonly Frame[]
  /** The method of another thread in which it takes part. */
  readonly joining: MethodRun | null
  readonly control: { readonly isStopping: boolean; pause(reason: 'system'): unknown }
}

/** The part of a run that backlogs use. */
interface Run extends Publisher {
  /** Whether labware that may be batched is shared by all its submissions. */
  readonly isJoinable: boolean
  readonly state: RunState
  readonly threads: ReadonlyMap<string, Receiver>
  /** Methods that have not ended. */
  readonly methods: ReadonlyMap<string, MethodRun>
  live(): readonly Receiver[]
  /** Makes a thread, which adopts its backlog. */
  spawn(plan: ThreadPlan, origin: ThreadOrigin): unknown
}

type Backlog = Entry<'slot'>

type Scope = { labware: string; group_id: string | null; submission_id: string | null }

export class Backlogs {
  readonly #execution: Run
  readonly #backlogs = new Map<string, Backlog>()
  /** Receivers that wait while their queue is empty. */
  readonly #waitingReceivers = new Set<Receiver>()
  /** Tells when work has come, or a backlog was closed. */
  readonly changed = new Signal()

  constructor(execution: Run) {
    this.#execution = execution
  }

  restore(saved: BacklogState): void {
    this.#add(saved)
  }

  list(): Fixed<BacklogState>[] {
    return [...this.#backlogs.values()].map(({ state }) => state)
  }

  /** Lists the backlogs without a receiver, about which an operator must decide. */
  orphaned(): Fixed<BacklogState>[] {
    return this.list().filter(({ is_orphaned }) => is_orphaned)
  }

  /** Returns those of the methods that have not ended. */
  open(method_ids: readonly string[]): MethodRun[] {
    return method_ids.flatMap((method_id) => this.#execution.methods.get(method_id) ?? [])
  }

  /** Returns the backlog of the labware that a thread carries. */
  #of({ labware, origin }: Receiver): Backlog {
    return this.#backlog(this.scope(labware.template, origin))
  }

  #receiver({ state: { receiver_id } }: Backlog): Receiver | undefined {
    return receiver_id === null ? undefined : this.#execution.threads.get(receiver_id)
  }

  /** Makes a thread the receiver of its labware's backlog, unless the backlog has one. */
  adopt(thread: Receiver): void {
    const backlog = this.#of(thread)
    if (this.#receiver(backlog)?.isOver === false) return
    backlog.set({ receiver_id: thread.thread_id, contributions: backlog.state.queue.length })
  }

  /**
   * Sends for labware of these templates, all or none: from the present receiver, else from a new thread. Returns false if a receiver is full and an
   * operator must decide. `isRetry`: the operator has decided that a new thread may come after the full one has ended. Throws `Fatal` if a receiver
   * is full and its capacity says REJECT.
   */
  deliver(method: MethodRun, labware: readonly string[], { isRetry = false }: { isRetry?: boolean } = {}): boolean {
    const backlogs = labware
      .filter((template) => !method.state.wanted.includes(template))
      .map((template) => this.#backlog(this.scope(template, method.owner.origin)))
    for (const backlog of backlogs) {
      if (backlog.state.is_orphaned) return this.#awaitDecision(backlog)
      if (!this.#isFull(backlog)) continue
      const { max, when_full } = this.#carrier(backlog).template.capacity!
      if (when_full === 'REJECT') {
        this.#emit(backlog, 'REJECTED')
        const why = `${backlog.state.labware} has taken part in ${max} methods, and the capacity of its thread allows no other`
        throw new Fatal(new LabError('conflict', `slot ${scopeKey(backlog.state)} is full: ${why}`))
      }
      const mayReplace = isRetry && this.#receiver(backlog)?.isOver !== false
      if (when_full === 'RECOVERABLE_REJECT' && !mayReplace) return this.#awaitDecision(backlog)
    }
    for (const backlog of backlogs) {
      method.sendFor(backlog.state.labware)
      if (this.#overflows(backlog)) this.#emit(backlog, 'OVERFLOW')
      this.#hand(backlog, method)
    }
    this.changed.tell()
    return true
  }

  /**
   * Cancels the delivery to a method whose owner has lost its device; the owner sends again once it has one. Otherwise the labware would wait for this
   * owner, and the thread that has got the device would wait for the labware.
   */
  callOff(method: MethodRun): void {
    const { method_id, wanted } = method.state
    const others = (ids: readonly string[]) => ids.filter((id) => id !== method_id)
    for (const template of wanted) {
      const backlog = this.#backlog(this.scope(template, method.owner.origin))
      const { queue, pending, contributions } = backlog.state
      const isCounted = queue.includes(method_id) || this.#receiver(backlog)?.state.joining_id === method_id
      backlog.set({ queue: others(queue), pending: others(pending), contributions: contributions - Number(isCounted) })
    }
    method.set({ wanted: [] })
  }

  /** Returns the first method in the queue that the receiver may take part in; 'closed' if no more will come. */
  next(thread: Receiver, allows: readonly string[]): MethodRun | 'closed' | undefined {
    const backlog = this.#of(thread)
    const { receiver_id, queue, is_closed } = backlog.state
    if (receiver_id !== thread.thread_id) return 'closed'
    for (const method_id of queue) {
      const method = this.#execution.methods.get(method_id)
      if (method && allows.includes(method.plan.name)) return method
    }
    return is_closed || this.#isUsedUp(backlog) ? 'closed' : undefined
  }

  take(thread: Receiver, method: MethodRun): void {
    const backlog = this.#of(thread)
    backlog.set({ queue: backlog.state.queue.filter((method_id) => method_id !== method.method_id) })
  }

  hasWork(thread: Receiver): boolean {
    const { receiver_id, queue } = this.#of(thread).state
    return receiver_id === thread.thread_id && queue.some((method_id) => this.#execution.methods.has(method_id))
  }

  /** Whether a loop of the receiver has work, or may still get some. */
  hasMore(thread: Receiver): boolean {
    const backlog = this.#of(thread)
    const { receiver_id, is_closed } = backlog.state
    if (receiver_id !== thread.thread_id || this.#isSpent(thread)) return false
    return this.hasWork(thread) || !(is_closed || this.#isUsedUp(backlog))
  }

  /** Whether the receiver can take on no more methods than it has. */
  #isUsedUp(backlog: Backlog): boolean {
    const receiver = this.#receiver(backlog)
    return receiver !== undefined && (this.#isSpent(receiver) || this.#isFull(backlog))
  }

  /** Whether the receiver's rack has fewer tips than any method of the workflow needs. */
  #isSpent({ labware }: Receiver): boolean {
    if (labware.tips_left === null || isSpent(labware)) return isSpent(labware)
    const wanting = [...this.#execution.workflow.methods.values()].filter(({ actions }) =>
      actions.some((action) => action.labware.includes(labware.template)),
    )
    return wanting.length > 0 && wanting.every((method) => tipsOf(method, labware.template) > labware.tips_left!)
  }

  /** Returns the threads that bring this labware to the method, if they have been sent for. */
  bearers(method: MethodRun, labware: readonly string[]): string[] {
    return labware.flatMap((template) => {
      const thread = method.carrierOf(template) ?? this.#receiver(this.#backlog(this.scope(template, method.owner.origin)))
      return thread ? [thread.thread_id] : []
    })
  }

  /** Returns the existing threads that would be sent for if the method needed this labware now. */
  likely(method: MethodRun, labware: readonly string[]): Receiver[] {
    return labware.flatMap((template) => {
      const backlog = this.#backlogs.get(scopeKey(this.scope(template, method.owner.origin)))
      const receiver = backlog && this.#receiver(backlog)
      if (!receiver || backlog.state.is_orphaned || method.state.wanted.includes(template) || receiver.joining === method) return []
      return this.#canTakeOn(receiver, method) && !this.#isFull(backlog) ? receiver : []
    })
  }

  /** Hands on the work of a thread that has ended: to another receiver, or to an operator's decision if the thread did not complete. */
  ended(thread: Receiver): void {
    const backlog = this.#of(thread)
    const { receiver_id, queue, pending } = backlog.state
    const isReceiver = receiver_id === thread.thread_id
    const open = [...(thread.joining?.isOver === false ? [thread.joining] : []), ...(isReceiver ? this.open([...queue, ...pending]) : [])]
    if (isReceiver) backlog.set({ queue: [], pending: [], receiver_id: null })
    if (open.length === 0) return
    if (backlog.state.receiver_id === null) backlog.set({ contributions: 0 })
    if (thread.status.current === 'COMPLETED') for (const method of open) this.#hand(backlog, method)
    else this.#orphan(backlog, thread, open)
    this.changed.tell()
  }

  /** Notes that the receiver waits for work. The returned function ends that. */
  waits(thread: Receiver): () => void {
    this.#waitingReceivers.add(thread)
    return () => this.#waitingReceivers.delete(thread)
  }

  /** Closes the backlogs whose receivers wait for work that nobody can bring any more. */
  settle(): void {
    for (const receiver of this.#waitingReceivers) {
      const backlog = this.#of(receiver)
      const { receiver_id, labware, is_closed } = backlog.state
      if (is_closed || receiver_id !== receiver.thread_id || this.hasWork(receiver)) continue
      const mayCome = (thread: Receiver) => thread !== receiver && this.#isInScope(backlog, thread) && mayFeed(remaining(thread), labware)
      if (this.#execution.live().some(mayCome)) continue
      backlog.set({ is_closed: true })
      this.changed.tell()
    }
  }

  /** Gives up the work of orphaned backlogs: the methods continue without their labware. */
  acceptPartial(): void {
    for (const backlog of this.#backlogs.values()) {
      if (!backlog.state.is_orphaned) continue
      const given = this.open(backlog.state.pending)
      backlog.set({ is_orphaned: false, is_closed: true, pending: [] })
      for (const method of given) method.abandon()
    }
  }

  /** Reports labware that was never delivered, before the run ends. */
  abandon(): void {
    for (const backlog of this.#backlogs.values()) {
      const { queue, pending } = backlog.state
      if (queue.length + pending.length > 0) this.#emit(backlog, 'ABANDONED')
    }
  }

  /** Queues the method for the receiver. If the receiver is full, the method waits for the next one; without a receiver, a new thread starts. */
  #hand(backlog: Backlog, method: MethodRun): void {
    const receiver = this.#receiver(backlog)
    const isTaken = receiver !== undefined && this.#canTakeOn(receiver, method)
    backlog.set({ is_closed: false })
    if (isTaken && this.#isFull(backlog)) {
      backlog.set({ pending: [...backlog.state.pending, method.method_id] })
      return
    }
    if (!isTaken) {
      backlog.set({ receiver_id: null, contributions: 0 })
      const { group_id, submission_id } = backlog.state
      this.#execution.spawn(this.#carrier(backlog), { group_id, submission_id: submission_id ?? method.owner.origin.submission_id })
    }
    backlog.set({ queue: [...backlog.state.queue, method.method_id], contributions: backlog.state.contributions + 1 })
  }

  /** Whether the present receiver, or the last one, has taken part in as many methods as it may. */
  #isFull(backlog: Backlog): boolean {
    const max = this.#carrier(backlog).template.capacity?.max
    return max !== undefined && backlog.state.contributions >= max
  }

  /** Whether this delivery needs one more labware because the others are full. OVERFLOW is published once for each. */
  #overflows(backlog: Backlog): boolean {
    const { max, when_full } = this.#carrier(backlog).template.capacity ?? {}
    return when_full === 'NEW' && max !== undefined && this.#isFull(backlog) && backlog.state.pending.length % max === 0
  }

  /** Whether the receiver can take on the method: it is not ending, has a join step left for it, and has enough tips. */
  #canTakeOn(receiver: Receiver, method: MethodRun): boolean {
    if (receiver.isOver || receiver.control.isStopping) return false
    const { labware, joining } = receiver
    const ahead = [...(joining ? [joining] : []), ...this.open(this.#of(receiver).state.queue)]
    if (joinsAhead(remaining(receiver), method.plan.name) <= ahead.length) return false
    const pledged = [...ahead, method].reduce((sum, work) => sum + tipsOf(work, labware.template), 0)
    return labware.tips_left === null || pledged <= labware.tips_left
  }

  #orphan(backlog: Backlog, thread: Receiver, work: MethodRun[]): void {
    const others = this.#execution.live().filter((other) => other !== thread && this.#isInScope(backlog, other))
    if (others.length === 0) return
    backlog.set({ is_orphaned: true, pending: [...backlog.state.pending, ...work.map(({ method_id }) => method_id)] })
    this.#emit(backlog, 'ORPHANED')
    const names = work.map((method) => method.plan.name).join(', ')
    this.#execution.events.incident(
      'ORPHANED_BACKLOG',
      `${thread.name} ended ${thread.status.current} with work in hand: ${names}; resume the execution to go on without its labware`,
      thread,
      {
        recovery_action: 'RESUME_EXECUTION',
      },
    )
    for (const other of others) other.control.pause('system')
  }

  #awaitDecision(backlog: Backlog): false {
    this.#emit(backlog, 'AWAITING_DECISION')
    return false
  }

  #carrier({ state: { labware } }: Backlog): ThreadPlan {
    const { carrier, threads } = this.#execution.workflow
    return threads.get(carrier(labware)!)!
  }

  #isInScope({ state: { group_id, submission_id } }: Backlog, { origin }: Receiver): boolean {
    const isGroup = group_id === null || origin.group_id === null || group_id === origin.group_id
    return isGroup && (submission_id === null || submission_id === origin.submission_id)
  }

  /** Returns the scope in which labware of a template is shared. */
  scope(labware: string, { group_id, submission_id }: { group_id: string | null; submission_id: string }): Scope {
    const { group_sharing, submission_batching } = this.#execution.workflow.document.labware[labware]!
    return {
      labware,
      group_id: group_sharing === 'SHARED_ACROSS_GROUPS' ? null : group_id,
      submission_id: submission_batching === 'BATCHABLE' && this.#execution.isJoinable ? null : submission_id,
    }
  }

  #backlog(scope: Scope): Backlog {
    const nothing = { queue: [], pending: [], receiver_id: null, contributions: 0, is_closed: false, is_orphaned: false }
    return this.#backlogs.get(scopeKey(scope)) ?? this.#add({ ...scope, ...nothing })
  }

  #add(state: BacklogState): Backlog {
    const key = scopeKey(state)
    const backlog = new Entry(this.#execution.state, 'slot', state, key)
    this.#backlogs.set(key, backlog)
    return backlog
  }

  #emit({ state }: Backlog, status: BacklogStatus): void {
    this.#execution.events.emit('SLOT', scopeKey(state), status, this.#execution.events.context())
  }
}

/** `<labware>:<group or *>:<submission or *>` */
export function scopeKey({ labware, group_id, submission_id }: Scope): string {
  return `${labware}:${group_id ?? '*'}:${submission_id ?? '*'}`
}
