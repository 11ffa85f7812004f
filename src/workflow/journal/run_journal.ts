// Persists how far an execution has come, so that it can be taken up again after the service has ended in any way. A write looks
// only at entries that were marked as dirty: a run may have had thousands of threads, and nearly all of them wait or have ended.

import type { KeyedJournal } from '../../kit/keyed_journal.ts'
import type { Execution } from '../runs/execution.ts'
import type { Submission } from '../runs/submission.ts'
import type { MethodRun } from '../threads/method.ts'
import { mayBePicked } from '../threads/moving.ts'
import type { RunEnvironment } from '../threads/run_environment.ts'
import type { Slot } from '../threads/slots.ts'
import type { LabwareThread } from '../threads/thread.ts'
import type { ChannelState, ExecutionState, GroupState, SlotState, SubmissionState, ThreadState } from './checkpoint.ts'

/** The journals of the runs that share an environment. */
const journals = new WeakMap<RunEnvironment, Set<RunJournal>>()

export class RunJournal {
  readonly #execution: Execution
  readonly #journal: Pick<KeyedJournal, 'put' | 'synced' | 'remove'>
  /** The text that was put last, by key. */
  readonly #known = new Map<string, string>()
  /** The method of each thread whose entry is in the journal. */
  readonly #methods = new Map<LabwareThread, MethodRun>()
  readonly #submissions = new Map<Submission, string>()
  /** The threads that have or had each labware. */
  readonly #carriers = new Map<string, Set<LabwareThread>>()
  readonly #stopWatching: () => void
  #isNew = true
  #isScheduled = false
  #isOver = false
  /** Whether something was put that may not be synced. */
  #isUnsynced = false
  /** The last sync, which may be under way: others wait for that as well. */
  #syncing: Promise<void> = Promise.resolve()

  constructor(execution: Execution, journal: Pick<KeyedJournal, 'put' | 'synced' | 'remove'>) {
    this.#execution = execution
    this.#journal = journal
    const { environment } = execution
    const others = journals.get(environment)
    if (others) others.add(this)
    else journals.set(environment, new Set([this]))
    this.#stopWatching = environment.scheduler.onMoved((labware_id) => this.#moved(labware_id))
  }

  /** Schedules a write of all that has changed, for when this turn is over. */
  changed(): void {
    if (this.#isScheduled || this.#isOver) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#write()
    })
  }

  /**
   * Resolves when the present state of every run of the environment is synced, as it must be before something moves. Otherwise the journals could
   * say that a run has put labware somewhere, and not that the position was free. Rejects with `storage`.
   */
  async persisted(): Promise<void> {
    await Promise.all([...journals.get(this.#execution.environment)!].map((journal) => journal.#synced()))
  }

  async #synced(): Promise<void> {
    // The journal of a run that stands down stays as it was then.
    if (this.#execution.journal !== this) return
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

  /** Removes the journal of an execution that has ended: there is nothing to take up. */
  async end(): Promise<void> {
    this.#isOver = true
    this.#known.clear()
    this.#stopWatching()
    journals.get(this.#execution.environment)?.delete(this)
    await this.#journal.remove()
  }

  /** Lists the entries that differ from the journal although nothing marked them as dirty: a test fails on each. */
  unmarked(): string[] {
    const gone = new Set(this.#known.keys())
    const found: string[] = []
    for (const [key, value] of entriesOf(this.#execution)) {
      gone.delete(key)
      if (this.#known.get(key) !== JSON.stringify(value)) found.push(key)
    }
    return [...found, ...gone]
  }

  #write(): void {
    if (this.#isOver) return
    const changes = new Map<string, string | null>()
    for (const [key, value] of this.#dirtyEntries()) {
      const text = value && JSON.stringify(value)
      if ((this.#known.get(key) ?? null) === text) continue
      if (text === null) this.#known.delete(key)
      else this.#known.set(key, text)
      changes.set(key, text)
    }
    if (changes.size === 0) return
    // The document is written once: it stays as it was when the run began.
    if (this.#isNew) changes.set('document', documentOf(this.#execution))
    this.#isNew = false
    this.#isUnsynced = true
    this.#journal.put(changes)
  }

  /** Answers the dirty entries, and takes the marks off. The value is null for an entry that is gone. */
  *#dirtyEntries(): Generator<[string, object | null]> {
    const { dirty, submissions, slots, groups, channels, threads } = this.#execution
    yield ['execution', executionOf(this.#execution)]
    for (const submission of submissions) {
      if (this.#submissions.get(submission) === submission.status.current) continue
      this.#submissions.set(submission, submission.status.current)
      yield entryOfSubmission(submission)
    }
    for (const thread of this.#isNew ? threads.values() : dirty) yield* this.#entriesOf(thread)
    for (const slot of this.#isNew ? slots.list() : slots.dirty) yield entryOfSlot(slot)
    for (const group of this.#isNew ? groups.list() : groups.dirty) yield entryOfGroup(group)
    for (const channel of this.#isNew ? channels.list() : channels.changed()) yield entryOfChannel(channel)
    // A thread that is under way changes without marks until it waits again.
    for (const thread of dirty) if (thread.isResting) dirty.delete(thread)
    slots.dirty.clear()
    groups.dirty.clear()
    channels.dirty.clear()
  }

  *#entriesOf(thread: LabwareThread): Generator<[string, object | null]> {
    yield entryOfThread(thread, this.#execution)
    const { labware_id } = thread.labware
    const carriers = this.#carriers.get(labware_id)
    if (carriers) carriers.add(thread)
    else this.#carriers.set(labware_id, new Set([thread]))
    const before = this.#methods.get(thread)
    const now = thread.method?.isOver ? null : thread.method
    if (before && before !== now) yield [`method ${before.method_id}`, null]
    if (!now) this.#methods.delete(thread)
    else {
      this.#methods.set(thread, now)
      yield entryOfMethod(now)
    }
  }

  /** Marks the threads of a labware that stands elsewhere now, also those that have ended. */
  #moved(labware_id: string): void {
    for (const thread of this.#carriers.get(labware_id) ?? []) this.#execution.dirty.add(thread)
  }
}

/** The document of the workflow; null for one with code, which only its file has. */
function documentOf({ workflow: { hasCode, document } }: Execution): string {
  const { on: _, ...written } = document
  return JSON.stringify(hasCode ? null : written)
}

type Entry = [string, object]
const entryOfSubmission = (submission: Submission): Entry => [`submission ${submission.submission_id}`, submissionOf(submission)]
const entryOfThread = (thread: LabwareThread, run: Execution): Entry => [`thread ${thread.thread_id}`, threadOf(thread, run)]
const entryOfMethod = (method: MethodRun): Entry => [`method ${method.method_id}`, method.state]
const entryOfSlot = (slot: Slot): Entry => [`slot ${slot.key}`, slotOf(slot)]
const entryOfGroup = (group: GroupState): Entry => [`group ${group.submission_id} ${group.group_id}`, group]
const entryOfChannel = (channel: ChannelState): Entry => [`channel ${channel.name}`, channel]

/** Answers all entries, dirty or not. */
function* entriesOf(execution: Execution): Generator<Entry> {
  yield ['execution', executionOf(execution)]
  yield* execution.submissions.map(entryOfSubmission)
  const methods = new Set<MethodRun>()
  for (const thread of execution.threads.values()) {
    yield entryOfThread(thread, execution)
    for (const method of [thread.method, thread.joining]) if (method && !method.isOver) methods.add(method)
  }
  for (const slot of execution.slots.list()) {
    yield entryOfSlot(slot)
    for (const method of [...slot.queue, ...slot.pending]) if (!method.isOver) methods.add(method)
  }
  yield* [...methods].map(entryOfMethod)
  yield* execution.groups.list().map(entryOfGroup)
  yield* execution.channels.list().map(entryOfChannel)
}

function executionOf({
  execution_id,
  workflow,
  environment,
  isJoinable,
  started_at,
  phase,
  threadFactory,
  inserts,
}: Execution): ExecutionState {
  return {
    execution_id,
    workflow: workflow.name,
    hash: workflow.hash,
    topology: workflow.topology.name,
    run_mode: environment.mode,
    is_joinable: isJoinable,
    started_at,
    phase: phase.current,
    names: Object.fromEntries(threadFactory.names),
    inserts: inserts.list(),
  }
}

function submissionOf({ submission_id, request, submitted_at, status }: Submission): SubmissionState {
  return { submission_id, request, submitted_at, status: status.current }
}

function threadOf(thread: LabwareThread, { inserts }: Execution): ThreadState {
  const {
    thread_id,
    name,
    plan,
    origin,
    startsAt,
    status,
    last_error,
    labware,
    environment,
    frames,
    seen,
    method,
    joining,
    action,
    move,
    window,
  } = thread
  const isPicked = mayBePicked(thread)
  return {
    thread_id,
    name,
    template: plan.name,
    ...origin,
    starts_at: startsAt,
    status: status.current,
    last_error,
    labware: isPicked ? { ...labware, held_by: move!.hop.transporter } : labware,
    seat: environment.scheduler.whereIs(labware.labware_id) ?? null,
    frames: frames.map(({ path, steps, next, isLoop, inserted }) => ({ path, next, is_loop: isLoop, inserted: placesOf(steps, inserted) })),
    seen: Object.fromEntries(seen),
    method_id: method?.method_id ?? null,
    joining_id: joining?.method_id ?? null,
    skips: [...thread.skips],
    awaited: inserts.awaitedBy(thread),
    // An action that an earlier restart interrupted stays here until somebody has decided about it.
    interrupted: action
      ? { action_id: action.action_id, path: action.plan.path, name: action.plan.name, status: action.status.current }
      : thread.interrupted,
    retry_on: thread.retryOn,
    window: window?.state ?? null,
    picking: isPicked || thread.picking,
    placing: move?.status.current === 'PLACING' && move.hop.to !== move.hop.from ? move.hop.to : thread.placing,
    move: move && { action_id: move.action_id, path: '', name: null, status: move.status.current },
  }
}

/** The places of the plans that an operator inserted. */
function placesOf<Plan extends { path: string }>(lane: readonly Plan[], inserted: ReadonlySet<Plan>): { at: number; path: string }[] {
  if (inserted.size === 0) return []
  return lane.flatMap((plan, at) => (inserted.has(plan) ? { at, path: plan.path } : []))
}

function slotOf({ labware, group_id, submission_id, queue, pending, receiver, contributions, isClosed, isOrphaned }: Slot): SlotState {
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
