// What of a run is written on the card, and what of that has changed. Only entries that were marked as dirty are looked at: a run may have had
// thousands of threads, and nearly all of them wait or have ended.

import type { StateSource } from '../../events/states.ts'
import type { Execution } from '../runs/execution.ts'
import type { Submission } from '../runs/submission.ts'
import type { MethodRun } from '../threads/method.ts'
import { mayBePicked } from '../threads/moving.ts'
import type { Slot } from '../threads/slots.ts'
import type { LabwareThread } from '../threads/thread.ts'
import type { ChannelState, ExecutionState, GroupState, Interrupted, SlotState, SubmissionState, ThreadState } from './checkpoint.ts'

/** Writes the state of all runs, in one transaction with their events. */
export interface RunStates {
  /** Writes the state of this run from now on. */
  add(execution_id: string, source: StateSource): void
  /** Has all that has changed written at the end of this turn. */
  changed(): void
  /** Resolves when all events so far, and the state of all runs as it is at the end of this turn, are on the card. Rejects with `storage`. */
  persist(): Promise<void>
  /** At the end of this turn the state of the run is written for the last time. `left` is called in that very moment. */
  leave(execution_id: string, left: () => void): void
  /** The run is over: with the next transaction its state is gone. */
  drop(execution_id: string): void
}

export class RunJournal implements StateSource {
  readonly standing = new Map<string, string>()
  readonly #execution: Execution
  readonly #states: RunStates
  /** The method of each thread whose entry is written. */
  readonly #methods = new Map<LabwareThread, MethodRun>()
  readonly #submissions = new Map<Submission, string>()
  /** The threads that have or had each labware. */
  readonly #carriers = new Map<string, Set<LabwareThread>>()
  readonly #stopWatching: () => void
  #isNew = true
  /** Tells whether the entry of the execution may have changed. */
  #version = ''

  constructor(execution: Execution, states: RunStates) {
    this.#execution = execution
    this.#states = states
    this.#stopWatching = execution.environment.scheduler.onMoved((labware_id) => this.#moved(labware_id))
    states.add(execution.execution_id, this)
  }

  /** Schedules a write of all that has changed, for when this turn is over. */
  changed(): void {
    this.#states.changed()
  }

  /**
   * Resolves when the present state of every run is on the card, as it must be before something moves. Otherwise it could say that a run has put
   * labware somewhere, and not that the position was free. Rejects with `storage`.
   */
  persisted(): Promise<void> {
    return this.#states.persist()
  }

  /** Writes the state for the last time; it stands when this resolves. `left` is called when nothing that happens is written any more. */
  async leave(left: () => void): Promise<void> {
    this.#states.leave(this.#execution.execution_id, () => {
      this.#stopWatching()
      left()
    })
    await this.persisted()
  }

  /** Removes the state of an execution that has ended: there is nothing to take up. */
  end(): void {
    this.#stopWatching()
    this.#states.drop(this.#execution.execution_id)
  }

  changes(): Map<string, string | null> {
    const changes = new Map<string, string | null>()
    const change = (key: string, text: string | null) => {
      if ((this.standing.get(key) ?? null) === text) return
      changes.set(key, text)
      if (text === null) this.standing.delete(key)
      else this.standing.set(key, text)
    }
    for (const [key, value] of this.#dirtyEntries()) change(key, value && JSON.stringify(value))
    // The document is written once: it stays as it was when the run began.
    if (this.#isNew) change('document', documentOf(this.#execution))
    this.#isNew = false
    return changes
  }

  /** Lists the entries that differ from the journal although nothing marked them as dirty: a test fails on each. */
  unmarked(): string[] {
    const gone = new Set(this.standing.keys())
    const found: string[] = []
    for (const [key, value] of entriesOf(this.#execution)) {
      gone.delete(key)
      if (this.standing.get(key) !== JSON.stringify(value)) found.push(key)
    }
    gone.delete('document')
    return [...found, ...gone]
  }

  /** Answers the dirty entries, and takes the marks off. The value is null for an entry that is gone. */
  *#dirtyEntries(): Generator<[string, object | null]> {
    const { dirty, submissions, slots, groups, channels, threads, phase, inserts, threadFactory } = this.#execution
    let named = 0
    for (const count of threadFactory.names.values()) named += count
    const version = `${phase.current} ${named}`
    if (version !== this.#version || inserts.size > 0) yield ['execution', executionOf(this.#execution)]
    this.#version = version
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
    since,
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
    since,
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
      ? { ...partOf(action.action_id, action.status.current), path: action.plan.path, name: action.plan.name }
      : thread.interrupted,
    retry_on: thread.retryOn,
    window: window?.state ?? null,
    picking: isPicked || thread.picking,
    placing: move?.status.current === 'PLACING' && move.hop.to !== move.hop.from ? move.hop.to : thread.placing,
    move: move && partOf(move.action_id, move.status.current),
  }
}

/** An action or a move that is under way. */
function partOf(action_id: string, status: string): Interrupted {
  return { action_id, path: '', name: null, status, has_ended: false }
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
