// What of a run is written on the card, and what of that has changed. Only entries that were marked as dirty are looked at: a run may have had
// thousands of threads, and nearly all of them wait or have ended.

import type { Execution } from '../runs/execution.ts'
import type { Interrupted, ThreadState } from '../runs/state.ts'
import { mayBePicked } from '../threads/moving.ts'
import type { LabwareThread } from '../threads/thread.ts'

export class RunJournal {
  readonly #execution: Execution
  /** The threads that have or had each labware. */
  readonly #carriers = new Map<string, Set<LabwareThread>>()
  readonly stop: () => void
  #isNew = true

  constructor(execution: Execution) {
    this.#execution = execution
    this.stop = execution.environment.scheduler.onMoved((labware_id) => this.#moved(labware_id))
  }

  takeChanges(change: (key: string, value: object | null) => void): void {
    const { dirty, threads } = this.#execution
    for (const thread of this.#isNew ? threads.values() : dirty) for (const entry of this.#entriesOf(thread)) change(...entry)
    // A thread that is under way changes without marks until it waits again.
    for (const thread of dirty) if (thread.isResting) dirty.delete(thread)
    this.#isNew = false
  }

  entries(): Iterable<[string, object]> {
    return entriesOf(this.#execution)
  }

  *#entriesOf(thread: LabwareThread): Generator<[string, object | null]> {
    yield entryOfThread(thread, this.#execution)
    const { labware_id } = thread.labware
    const carriers = this.#carriers.get(labware_id)
    if (carriers) carriers.add(thread)
    else this.#carriers.set(labware_id, new Set([thread]))
  }

  /** Marks the threads of a labware that stands elsewhere now, also those that have ended. */
  #moved(labware_id: string): void {
    for (const thread of this.#carriers.get(labware_id) ?? []) this.#execution.dirty.add(thread)
  }
}

type Entry = [string, object]
const entryOfThread = (thread: LabwareThread, run: Execution): Entry => [`thread ${thread.thread_id}`, threadOf(thread, run)]

/** Answers all entries, dirty or not. */
function* entriesOf(execution: Execution): Generator<Entry> {
  for (const thread of execution.threads.values()) yield entryOfThread(thread, execution)
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
