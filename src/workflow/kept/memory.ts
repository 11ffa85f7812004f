// Keeps on the card how far an execution has come, so that it can be taken up again after the service has ended in any way.

import type { KeyedJournal } from '../../kit/keyed_journal.ts'
import type { Execution } from '../runs/execution.ts'
import type { MethodRun } from '../threads/method.ts'
import type { Slot } from '../threads/slots.ts'
import type { LabwareThread } from '../threads/thread.ts'
import type { World } from '../threads/world.ts'
import type { SavedExecution, SavedMethod, SavedSlot, SavedSubmission, SavedThread } from './saved.ts'

/** Of the runs that share a world. */
const memories = new WeakMap<World, Set<Memory>>()

export class Memory {
  readonly #execution: Execution
  readonly #journal: Pick<KeyedJournal, 'put' | 'synced' | 'remove'>
  /** What was put last, by key. */
  readonly #known = new Map<string, string>()
  #isNew = true
  #isScheduled = false
  #isOver = false
  /** Something was put that may not be on the card. */
  #isUnsynced = false
  /** The last time it was brought there, which may be under way: others wait for that as well. */
  #syncing: Promise<void> = Promise.resolve()

  constructor(execution: Execution, journal: Pick<KeyedJournal, 'put' | 'synced' | 'remove'>) {
    this.#execution = execution
    this.#journal = journal
    const { world } = execution
    const others = memories.get(world)
    if (others) others.add(this)
    else memories.set(world, new Set([this]))
  }

  /** Something has changed: all that is different is written when this turn is over. */
  changed(): void {
    if (this.#isScheduled || this.#isOver) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#write()
    })
  }

  /**
   * Resolves when all that is so now is on the card, of every run here: before something moves. Else what one run has put somewhere could
   * be known, and not that it was free. Rejects with `storage`.
   */
  async kept(): Promise<void> {
    await Promise.all([...memories.get(this.#execution.world)!].map((memory) => memory.#synced()))
  }

  async #synced(): Promise<void> {
    // Of one that stands down what stood then is kept.
    if (this.#execution.memory !== this) return
    this.#write()
    if (!this.#isUnsynced) return this.#syncing
    this.#isUnsynced = false
    this.#syncing = this.#journal.synced()
    try {
      await this.#syncing
    } catch (error) {
      this.#isUnsynced = true
      throw error
    }
  }

  /** The execution has ended: there is nothing to take up. */
  async end(): Promise<void> {
    this.#isOver = true
    this.#known.clear()
    memories.get(this.#execution.world)?.delete(this)
    await this.#journal.remove()
  }

  #write(): void {
    if (this.#isOver) return
    const changes = new Map<string, string | null>()
    const gone = new Set(this.#known.keys())
    for (const [key, value] of entriesOf(this.#execution)) {
      gone.delete(key)
      const text = JSON.stringify(value)
      if (this.#known.get(key) === text) continue
      this.#known.set(key, text)
      changes.set(key, text)
    }
    for (const key of gone) {
      this.#known.delete(key)
      changes.set(key, null)
    }
    if (changes.size === 0) return
    // Once: it stays as it was when the run began.
    if (this.#isNew) changes.set('document', documentOf(this.#execution))
    this.#isNew = false
    this.#isUnsynced = true
    this.#journal.put(changes)
  }
}

/** Code can be had of its file alone. */
function documentOf({ workflow: { hasCode, document } }: Execution): string {
  const { on: _, ...written } = document
  return JSON.stringify(hasCode ? null : written)
}

function* entriesOf(execution: Execution): Generator<[string, object]> {
  yield ['execution', executionOf(execution)]
  for (const submission of execution.submissions) yield [`submission ${submission.submission_id}`, submissionOf(submission)]
  const methods = new Set<MethodRun>()
  for (const thread of execution.threads.values()) {
    yield [`thread ${thread.thread_id}`, threadOf(thread)]
    for (const method of [thread.method, thread.joining]) if (method && !method.isOver) methods.add(method)
  }
  for (const slot of execution.slots.list()) {
    yield [`slot ${slot.key}`, slotOf(slot)]
    for (const method of [...slot.queue, ...slot.pending]) if (!method.isOver) methods.add(method)
  }
  for (const method of methods) yield [`method ${method.method_id}`, methodOf(method)]
  for (const group of execution.groups.list()) yield [`group ${group.submission_id} ${group.group_id}`, group]
  for (const channel of execution.channels.list()) yield [`channel ${channel.name}`, channel]
}

function executionOf({ execution_id, workflow, world, isJoinable, started_at, phase, births, inserts }: Execution): SavedExecution {
  return {
    execution_id,
    workflow: workflow.name,
    hash: workflow.hash,
    topology: workflow.topology.name,
    run_mode: world.mode,
    is_joinable: isJoinable,
    started_at,
    phase: phase.current,
    names: Object.fromEntries(births.names),
    inserts: inserts.list(),
  }
}

function submissionOf({ submission_id, request, submitted_at, status }: Execution['submissions'][number]): SavedSubmission {
  return { submission_id, request, submitted_at, status: status.current }
}

function threadOf(thread: LabwareThread): SavedThread {
  const {
    thread_id,
    name,
    plan,
    origin,
    startsAt,
    status,
    last_error,
    labware,
    world,
    frames,
    seen,
    method,
    joining,
    action,
    move,
    window,
  } = thread
  return {
    thread_id,
    name,
    template: plan.name,
    ...origin,
    starts_at: startsAt,
    status: status.current,
    last_error,
    labware,
    seat: world.floor.whereIs(labware.labware_id) ?? null,
    frames: frames.map(({ path, steps, next, isLoop, inserted }) => ({ path, next, is_loop: isLoop, inserted: placesOf(steps, inserted) })),
    seen: Object.fromEntries(seen),
    method_id: method?.method_id ?? null,
    joining_id: joining?.method_id ?? null,
    skips: [...thread.skips],
    awaited: thread.execution.inserts.awaitedBy(thread),
    // Also what a restart interrupted before, and nobody has decided about.
    interrupted: action
      ? { action_id: action.action_id, path: action.plan.path, name: action.plan.name, status: action.status.current }
      : thread.interrupted,
    window: window && { after: window.after, allowed_s: window.allowed_s, until: window.until, is_told: window.isTold },
    placing: move?.status.current === 'PLACING' && move.hop.to !== move.hop.from ? move.hop.to : thread.placing,
    move: move && { action_id: move.action_id, path: '', name: null, status: move.status.current },
  }
}

function methodOf({ method_id, plan, owner, status, next, isWhole, isAbandoned, wanted, actions, inserted }: MethodRun): SavedMethod {
  return {
    method_id,
    name: plan.name,
    owner_id: owner.thread_id,
    status: status.current,
    next,
    is_whole: isWhole,
    wanted: [...wanted],
    is_abandoned: isAbandoned,
    inserted: placesOf(actions, inserted),
  }
}

/** Of what an operator put in. */
function placesOf<Plan extends { path: string }>(lane: readonly Plan[], inserted: ReadonlySet<Plan>): { at: number; path: string }[] {
  if (inserted.size === 0) return []
  return lane.flatMap((plan, at) => (inserted.has(plan) ? { at, path: plan.path } : []))
}

function slotOf({ labware, group_id, submission_id, queue, pending, receiver, contributions, isClosed, isOrphaned }: Slot): SavedSlot {
  const open = (methods: readonly MethodRun[]) => methods.filter((method) => !method.isOver).map(({ method_id }) => method_id)
  return {
    labware,
    group_id,
    submission_id,
    queue: open(queue),
    pending: open(pending),
    receiver_id: receiver?.thread_id ?? null,
    contributions,
    is_closed: isClosed,
    is_orphaned: isOrphaned,
  }
}
