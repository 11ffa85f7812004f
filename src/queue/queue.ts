// The queue of runs: submissions in order, each of which begins once, when its time has come and the bench is fit. Nothing begins unasked: after a
// start of the service, a stop, or a run that did not end well, the queue is paused until a person resumes it.

import { LabError, messageOf } from '../errors.ts'
import type { RuntimeEvent } from '../events/event.ts'
import type { Sink } from '../events/sinks.ts'
import { type Author, authorText } from '../kit/author.ts'
import { flatId } from '../kit/flat_id.ts'
import type { Report } from '../kit/json_file.ts'
import type { Runtime } from '../workflow/runtime.ts'
import { asksForTheSame, mustBeAStart, mustBeNew, mustHaveRoom, withGroups } from './checks.ts'
import { type MoveRequest, nameOf, type QueueContent, type QueueEntry, type QueueRequest, type ShownEntry, type StartAt } from './entry.ts'
import { Fitness, type FitnessOptions } from './fitness.ts'
import { fullSentence, inserted, moved, replaced, withStart } from './order.ts'
import { failureOf, held, type KnownRuns, settled, submissionIdOf, whyNotDue } from './outcome.ts'
import { joined, type Moment, StartClock, type StartClockOptions } from './start_clock.ts'
import { QueueStore } from './store.ts'
import { type QueueView, shownEntry } from './view.ts'

export type QueueOptions = FitnessOptions &
  StartClockOptions & {
    folder: string
    report: Report
    runtime: Runtime
    settings(): { open_runs: number; resume_after_restart: boolean }
    /** Whether the records of all runs were read. */
    areRecordsWhole(): boolean
    /** Lists the devices that are latched as stopped. */
    stopped(): readonly string[]
    /** Called when the queue pauses by itself, with the reason. */
    paused(message: string): void
    /** Called with a sentence about each run that the queue has begun. */
    began(text: string, execution_id: string): void
  }

/** The longest time between two looks while an entry waits for its time or for the bench. */
const look_ms = 30_000
/** Entries after which a look lets others have their turn. */
const ofTurn = 20
const isPaused = 'the queue is paused'

export class Queue implements Sink {
  readonly name = 'queue'
  readonly #options: QueueOptions
  readonly #store: QueueStore
  readonly #fitness: Fitness
  readonly #clock: StartClock
  readonly #runs: KnownRuns
  readonly #followed = new Set<string>()
  /** The runs of entries that the disk does not show as running yet, by entry. */
  readonly #begun = new Map<string, string>()
  /** The moments at which nobody looked, until the entries that they hold are stored. */
  #skipped: Moment['skipped']
  #isClosed = false
  #isLookDue = false
  #looking: Promise<void> = Promise.resolve()
  #cancelLook = () => {}
  /** The last reported failure of a look. */
  #told = ''

  /** Opens the queue, paused if it has entries. Rejects with `config`, `storage`. */
  static async open(options: QueueOptions): Promise<Queue> {
    const queue = new Queue(options, await QueueStore.open(options))
    await queue.#takeUp()
    return queue
  }

  private constructor(options: QueueOptions, store: QueueStore) {
    const { runtime, areRecordsWhole } = options
    this.#options = options
    this.#store = store
    this.#fitness = new Fitness(options)
    this.#clock = new StartClock(options)
    this.#runs = { runtime, areRecordsWhole, beginning: store.beginning, begun: this.#begun }
  }

  /** The queue as it is shown. The same object until something has changed. */
  get view(): QueueView {
    return this.#store.view
  }

  /** Returns an entry that has not ended, with its whole submission. Throws `not_found`. */
  entry(entry_id: string): ShownEntry & Pick<QueueEntry, 'submission'> {
    const entry = this.#store.find(entry_id)
    const waiting = this.#store.content.entries.filter(({ state }) => state === 'waiting')
    const shown = shownEntry(entry, { number: waiting.indexOf(entry) + 1, why: this.#store.whyOf(entry_id) })
    return { ...shown, submission: entry.submission }
  }

  /** The workflow of an entry; undefined for one that is not in the queue. */
  workflowOf(entry_id: string): string | undefined {
    return this.#store.content.entries.find((entry) => entry.entry_id === entry_id)?.submission.workflow
  }

  /**
   * Adds a submission, checked as `submit` checks it, and begins it if it is its turn. Resolves with its id. A repeated request with the same submission id
   * changes nothing. Rejects with `not_found`, `invalid`, `conflict`, `overloaded`, `storage`.
   */
  async add({ submission: asked, ...choices }: QueueRequest, author: Author): Promise<ShownEntry> {
    const entry_id = asked.submission_id ?? flatId()
    const before = this.#store.content.entries.find((other) => other.entry_id === entry_id)
    const submission = {
      ...withGroups(asked, before, this.#options.runtime),
      ...{ submission_id: entry_id, operator_id: asked.operator_id ?? author.operator ?? null },
    }
    const added_by = { by: author.by, ...(author.operator !== undefined && { operator: author.operator }) }
    // A copy, because the caller may change the object, and the store freezes it.
    const entry: QueueEntry = structuredClone({
      ...{ entry_id, submission, ...choices, state: 'waiting' as const, execution_id: null, held: null },
      ...{ added_at: this.#options.wall(), added_by },
    })
    if (!before) this.#fitness.check(submission, choices.requires)
    await this.#store.change((content) => {
      const before = content.entries.find((other) => other.entry_id === entry_id)
      if (before && asksForTheSame(before, entry)) return content
      if (before) throw new LabError('conflict', `${nameOf(before)} asks for something else; choose another submission_id`)
      mustBeNew(entry_id, content, this.#options.runtime)
      this.#checkStart(choices.start_at, content)
      mustHaveRoom([...content.entries, entry])
      return { ...content, entries: inserted(content.entries, entry) }
    })
    const stopped = before || this.#store.pause ? undefined : this.#options.stopped().find((device_id) => this.#uses(entry, device_id))
    if (stopped !== undefined) await this.#pauseForStop(`${stopped} is stopped`)
    return this.#shownAfterLook(entry)
  }

  /** Moves an entry that waits, or gives it another start. Rejects with `not_found`, `conflict`, `invalid`, `storage`. */
  async move(entry_id: string, request: MoveRequest): Promise<ShownEntry> {
    const { start_at, before } = request
    if (before === entry_id) throw new LabError('invalid', 'before names the entry itself; name another one')
    let entry = this.#store.waiting(entry_id)
    await this.#store.change((content) => {
      entry = this.#store.waiting(entry_id, content)
      if (start_at !== undefined) this.#checkStart(start_at, content, entry_id)
      if (start_at !== undefined) entry = withStart(entry, structuredClone(start_at))
      return { ...content, entries: moved(content.entries, entry, request) }
    })
    return this.#shownAfterLook(entry)
  }

  /** Removes an entry that waits. Entries that were to start after it wait for a person. Rejects with `not_found`, `conflict`, `storage`. */
  async remove(entry_id: string): Promise<void> {
    await this.#store.change((content) => {
      this.#store.waiting(entry_id, content)
      const entries = content.entries.filter((other) => other.entry_id !== entry_id)
      return held({ ...content, entries }, { removed: new Set([entry_id]) })
    })
    await this.#look()
  }

  /** Removes all entries that wait. Resolves with how many. Rejects with `storage`. */
  async clear(): Promise<number> {
    let count = 0
    await this.#store.change((content) => {
      const entries = content.entries.filter(({ state, entry_id }) => state !== 'waiting' || this.#store.beginning.has(entry_id))
      count = content.entries.length - entries.length
      return count === 0 ? content : { ...content, entries }
    })
    await this.#look()
    return count
  }

  /** Pauses the queue at once, also where the disk refuses to keep that. Open runs go on. Rejects with `storage`. */
  async pause(author: Author): Promise<void> {
    await this.#store.pauseFor(author)
    await this.#look()
  }

  /** Resumes the queue. `since`: that of the pause that the person was shown. Rejects with `conflict` for another pause, and with `storage`. */
  async resume(since?: number): Promise<void> {
    await this.#store.resume(since)
    await this.#look()
  }

  /**
   * Begins an entry now, for a person: before its time, out of turn, and also while the queue is paused. Resolves with the id of its run. Rejects with
   * `conflict` where the bench is not fit, and with `not_found`, `storage`; the entry then waits as before.
   */
  async startNow(entry_id: string, author: Author): Promise<string> {
    const entry = this.#store.waiting(entry_id)
    const why = this.#fitness.whyNot(entry)
    if (why !== undefined) throw new LabError('conflict', `${nameOf(entry)} cannot begin now: ${why}`)
    try {
      return await this.#begin(entry, author)
    } finally {
      this.lookSoon()
    }
  }

  /** Looks soon whether an entry can begin: something has changed that may have kept it. */
  lookSoon(): void {
    if (this.#isLookDue || this.#isClosed) return
    this.#isLookDue = true
    setImmediate(() => void this.#look())
  }

  onEvent({ entity_type, status, entity_id, context }: RuntimeEvent): void {
    if (entity_type === 'DEVICE') {
      if (status === 'STOPPED' || (status === 'FAULTED' && context.error_type === 'Stopped')) this.#onStop(entity_id, context)
      this.lookSoon()
    } else if (entity_type === 'EXECUTION' && /^(COMPLETED|FAILED|ABORTED)$/.test(status)) this.lookSoon()
  }

  /** Begins nothing more. */
  stop(): void {
    this.#isClosed = true
    this.#cancelLook()
  }

  /** Resolves when the look that is under way is over, and the disk has stored or refused all changes. */
  async settled(): Promise<void> {
    await this.#looking
    await this.#store.settled()
  }

  async close(): Promise<void> {
    this.stop()
    await this.settled()
  }

  /** Brings the entries up to date at the start, and pauses the queue unless the configuration says otherwise. */
  async #takeUp(): Promise<void> {
    const { settings, stopped, isUnsafe } = this.#options
    const isLeft = this.#store.content.entries.length > 0
    await this.#settle().catch((error) => this.#tell(messageOf(error)))
    if (!isLeft || this.#store.pause) return
    if (settings().resume_after_restart && stopped().length === 0 && isUnsafe() === undefined) return
    const count = this.#store.content.entries.length
    if (count > 0)
      this.#store.pauseBecause('start', `the service started with ${count === 1 ? 'an entry' : `${count} entries`} in the queue`)
    await this.#store.keepPause().catch(() => undefined)
  }

  /** Waits for the look after a change of an entry, which may have begun it. */
  async #shownAfterLook(entry: QueueEntry): Promise<ShownEntry> {
    await this.#look()
    const isThere = this.#store.content.entries.some(({ entry_id }) => entry_id === entry.entry_id)
    if (isThere) {
      const { submission: _, ...shown } = this.entry(entry.entry_id)
      return shown
    }
    const ended = this.#store.content.ended.find(({ entry_id }) => entry_id === entry.entry_id)
    return { ...shownEntry(entry, { number: null, why: null }), state: 'ended', execution_id: ended?.execution_id ?? null }
  }

  /** Begins what can begin, after the look that is under way. Never rejects. */
  #look(): Promise<void> {
    this.#isLookDue = false
    const done = () => {
      this.#told = ''
    }
    this.#looking = this.#looking.then(() => this.#lookAtAll()).then(done, (error) => this.#tell(messageOf(error)))
    return this.#looking
  }

  async #lookAtAll(): Promise<void> {
    if (this.#isClosed) return
    this.#cancelLook()
    const moment = this.#clock.look()
    this.#skipped = joined(this.#skipped, moment.skipped)
    try {
      await this.#settle()
      const failed = (execution_id: string) => failureOf(execution_id, this.#options.runtime)
      await this.#store.change((content) => held(content, { skipped: this.#skipped, failed }))
      this.#skipped = undefined
      const refused = new Map<string, string>()
      for (;;) {
        const next = await this.#next(moment, refused)
        if (!next) break
        await this.#begin(next).catch((error) => refused.set(next.entry_id, messageOf(error)))
      }
    } finally {
      this.#lookAgain(moment)
    }
  }

  /** Brings the entries up to date with the runs, and follows the open ones. */
  async #settle(): Promise<void> {
    await this.#store.change((before) => {
      const { content, pausing } = settled(before, this.#runs, this.#options.wall())
      if (pausing !== undefined) this.#store.pauseBecause('run_ended', pausing)
      return content
    })
    const { runtime } = this.#options
    for (const entry_id of this.#begun.keys()) if (!this.#store.beginning.has(entry_id)) this.#begun.delete(entry_id)
    for (const { execution_id } of this.#store.content.entries) {
      const run = runtime.runs.get(execution_id ?? '')
      if (!run || run.isOver || this.#followed.has(run.execution_id)) continue
      this.#followed.add(run.execution_id)
      void runtime.over(run).then(() => {
        this.#followed.delete(run.execution_id)
        this.lookSoon()
      })
    }
  }

  /** Says of each entry why it waits, and returns the first one that can begin. `refused`: entries that were refused in this look. */
  async #next(moment: Moment, refused: ReadonlyMap<string, string>): Promise<QueueEntry | undefined> {
    const { entries } = this.#store.content
    const { runtime, settings } = this.#options
    const why = new Map<string, string>()
    let blocked = this.#store.pause ? isPaused : fullSentence(entries, settings().open_runs)
    let next: QueueEntry | undefined
    let looked = 0
    for (const entry of entries) {
      if (entry.state !== 'waiting') continue
      const wait = whyNotDue(entry, { entries }, { ...moment, runtime }) ?? blocked
      const trouble = wait ?? refused.get(entry.entry_id) ?? this.#fitness.whyNot(entry)
      if (trouble === undefined) next = entry
      else why.set(entry.entry_id, trouble)
      if (wait !== undefined) continue
      if (trouble === undefined || !entry.may_be_passed) blocked = `it waits for its turn, behind ${nameOf(entry)}`
      if (++looked % ofTurn === 0) await new Promise(setImmediate)
    }
    this.#store.say(why)
    // Somebody may have paused it in between.
    return this.#store.pause || this.#isClosed ? undefined : next
  }

  /** Submits an entry. Without a person, only while the queue is not paused. Rejects as `submit` does; the entry then waits again. */
  async #begin({ entry_id }: QueueEntry, person?: Author): Promise<string> {
    const { runtime, began } = this.#options
    const { beginning } = this.#store
    const entry = await this.#starting(entry_id)
    try {
      const why = this.#store.pause && !person ? isPaused : this.#fitness.whyNot(entry)
      if (why !== undefined) throw new LabError('conflict', why)
      const queue = { entry_id, added_at: entry.added_at, ...(person && { started_by: authorText(person.by, person.operator) }) }
      const author: Author & { queue: object } = { ...entry.added_by, queue }
      const { execution_id } = await runtime.submit(entry.submission, author)
      this.#begun.set(entry_id, execution_id)
      const whose = authorText(author.by, author.operator)
      const name = `${entry.submission.workflow} as run ${execution_id.slice(0, 8)}`
      began(`The queue submitted ${name}${whose && `, which ${whose} had added`}`, execution_id)
      return execution_id
    } catch (error) {
      // Otherwise it has begun, and `settled` looks what became of it.
      if (!runtime.records.submission(submissionIdOf(entry)))
        await this.#store.change((content) => replaced(content, entry)).catch(() => undefined)
      throw error
    } finally {
      beginning.delete(entry_id)
      await this.#settle().catch((error) => this.#tell(messageOf(error)))
    }
  }

  /** Writes that an entry begins, before it is submitted. Resolves with the entry as it was. */
  async #starting(entry_id: string): Promise<QueueEntry> {
    let entry: QueueEntry | undefined
    try {
      await this.#store.change((content) => {
        entry = this.#store.waiting(entry_id, content)
        this.#store.beginning.add(entry_id)
        return replaced(content, { ...entry, state: 'starting' })
      })
      return entry!
    } catch (error) {
      if (entry) this.#store.beginning.delete(entry_id)
      throw error
    }
  }

  #lookAgain({ now }: Moment): void {
    if (this.#isClosed) return
    const waiting = this.#store.content.entries.filter((entry) => entry.state === 'waiting' && !entry.held)
    const times = waiting.flatMap(({ start_at }) => (typeof start_at === 'number' && start_at > now ? (start_at - now) * 1000 : []))
    if (times.length === 0 && (this.#store.pause || waiting.length === 0)) return
    this.#cancelLook = this.#options.clock.after(Math.max(1, Math.min(look_ms, ...times)), () => this.lookSoon())
  }

  #onStop(device_id: string, context: RuntimeEvent['context']): void {
    const run = typeof context.execution_id === 'string' ? this.#options.runtime.runs.get(context.execution_id) : undefined
    // The devices of a DEVICE_SIM run are simulators of its own.
    if (run && run.environment.mode !== 'LIVE') return
    if (!this.#store.content.entries.some((entry) => this.#uses(entry, device_id))) return
    const by = typeof context.by === 'string' ? ` by ${context.by}` : ''
    void this.#pauseForStop(`${device_id} was stopped${by}`)
  }

  /** Pauses the queue at once. Resolves when that is stored, or the disk has refused it. */
  #pauseForStop(why: string): Promise<void> {
    this.#store.pauseBecause('stop', why)
    return this.#store.keepPause().catch((error) => this.#tell(messageOf(error)))
  }

  /** Whether the run of an entry uses a device of the bench, or the entry requires it. */
  #uses({ submission, requires }: QueueEntry, device_id: string): boolean {
    return requires.devices.includes(device_id) || this.#fitness.uses(submission, device_id)
  }

  #checkStart(start_at: StartAt, content: QueueContent, entry_id?: string): void {
    mustBeAStart(start_at, { content, runtime: this.#options.runtime, moment: this.#clock.peek(), entry_id })
  }

  #tell(message: string): void {
    if (message !== this.#told) this.#options.report({ kind: 'storage', message })
    this.#told = message
  }
}
