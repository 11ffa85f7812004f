// The queue on the disk, its pause, and its view: a pause is in force at once, also while the disk refuses it.

import { LabError } from '../errors.ts'
import { type Author, authorText } from '../kit/author.ts'
import { flatId } from '../kit/flat_id.ts'
import { JsonFile, type Report } from '../kit/json_file.ts'
import { utc } from '../kit/utc.ts'
import { nameOf, type Pause, QueueContent, type QueueEntry } from './entry.ts'
import { noEntry } from './order.ts'
import { type QueueView, viewOf } from './view.ts'

type StoreOptions = {
  folder: string
  report: Report
  /** Unix time, s. */
  wall(): number
  settings(): { open_runs: number }
  /** Called when the queue pauses by itself, with the reason. */
  paused(message: string): void
}

const resumeIt = 'a person with a key of scope operate resumes the queue: POST /api/queue/resume'

export class QueueStore {
  /** Entries that are being submitted just now. */
  readonly beginning = new Set<string>()
  readonly #options: StoreOptions
  readonly #file: JsonFile<QueueContent>
  #pause: Pause | null
  #why: ReadonlyMap<string, string> = new Map()
  /** Counts the changes since the start. */
  #changes = 0
  readonly #start = flatId().slice(0, 8)
  #view: QueueView | undefined

  /** Pauses a restored queue that has entries. Rejects with `config`, `storage`. */
  static async open(options: StoreOptions): Promise<QueueStore> {
    const { folder, report } = options
    const empty = { paused: null, entries: [], ended: [] }
    const file = await JsonFile.open({ path: `${folder}/queue.json`, format: 1, schema: QueueContent, empty, report })
    const store = new QueueStore(options, file)
    await store.#pauseIfRestored()
    return store
  }

  private constructor(options: StoreOptions, file: JsonFile<QueueContent>) {
    this.#options = options
    this.#file = file
    this.#pause = file.content.paused
  }

  get content(): QueueContent {
    return this.#file.content
  }

  get pause(): Pause | null {
    return this.#pause
  }

  /** The queue as it is shown. The same object until something has changed. */
  get view(): QueueView {
    const { open_runs } = this.#options.settings()
    if (this.#view?.open_runs !== open_runs) this.#view = undefined
    const version = `${this.#start}-${this.#changes}`
    this.#view ??= viewOf(this.content, { paused: this.#pause, why: this.#why, version, open_runs })
    return this.#view
  }

  whyOf(entry_id: string): string | null {
    return this.#why.get(entry_id) ?? null
  }

  /** Sets why entries wait. */
  say(why: ReadonlyMap<string, string>): void {
    const isSame = why.size === this.#why.size && [...why].every(([entry_id, sentence]) => this.#why.get(entry_id) === sentence)
    if (isSame) return
    this.#why = why
    this.#changed()
  }

  /** Stores the content that `next` returns, with the pause in force. Rejects as `next` throws, and with `storage`. */
  async change(next: (content: QueueContent) => QueueContent): Promise<void> {
    const before = this.content
    await this.#file.change((content) => {
      const changed = next(content)
      return changed === content ? content : { ...changed, paused: this.#pause }
    })
    if (this.content !== before) this.#changed()
  }

  /** Stores the pause that is in force. Rejects with `storage`. */
  keepPause(): Promise<void> {
    return this.change((content) => (content.paused === this.#pause ? content : { ...content }))
  }

  /** Pauses the queue after a restore. The pause is in force also where the disk refuses to store it; the next start then pauses the queue again. */
  async #pauseIfRestored(): Promise<void> {
    const { restored_from, entries } = this.content
    if (restored_from === undefined) return
    const backup = `a backup of ${utc(restored_from)} was restored`
    if (entries.length > 0) this.pauseBecause('start', `${backup}, and entries may have run since; remove those that have`)
    await this.change(({ restored_from: _, ...content }) => content).catch(() => undefined)
  }

  /** Pauses the queue for a person. Rejects with `storage`. */
  async pauseFor({ by: key, operator }: Author): Promise<void> {
    const by = authorText(key, operator) || null
    const pause = { since: this.#options.wall(), reason: 'person' as const, by, message: `${by ?? 'somebody'} paused it; ${resumeIt}` }
    // Always another object, so that a resume that is being stored does not end it.
    this.#pause = { ...(this.#pause ?? pause) }
    this.#changed()
    await this.keepPause()
  }

  /** Pauses the queue for a reason of the service, also if it is paused: whoever saw the pause before must see this one before they resume it. */
  pauseBecause(reason: Pause['reason'], why: string): void {
    const isTold = this.#pause?.reason === 'stop' || this.#pause?.reason === 'run_ended'
    const look = `${why}; see that the bench is well, then`
    const message = `${look} ${resumeIt}`
    this.#pause = { since: this.#options.wall(), reason, by: null, message }
    this.#changed()
    if (!isTold) this.#options.paused(`the queue is paused: ${look} resume the queue`)
  }

  /** Ends the pause, once that is stored. `since`: that of the pause that the person was shown. Rejects with `conflict` for another one, and with `storage`. */
  async resume(since?: number): Promise<void> {
    const pause = this.#pause
    if (!pause) return
    if (since !== undefined && since !== pause.since)
      throw new LabError('conflict', `the queue was paused again at ${utc(pause.since)}: ${pause.message}; look again, then decide`)
    await this.#file.change((content) => ({ ...content, paused: this.#pause === pause ? null : this.#pause }))
    if (this.#pause === pause) this.#pause = null
    this.#changed()
  }

  /** Returns an entry that has not ended. Throws `not_found`. */
  find(entry_id: string, { entries, ended } = this.content): QueueEntry {
    const entry = entries.find((other) => other.entry_id === entry_id)
    if (entry) return entry
    const before = ended.find((other) => other.entry_id === entry_id)
    throw new LabError(
      'not_found',
      before ? `entry ${entry_id.slice(0, 8)} has left the queue: it ran as execution ${before.execution_id}` : noEntry(entry_id),
    )
  }

  /** Returns an entry that waits. Throws `not_found`; `conflict` for one that has begun. */
  waiting(entry_id: string, content = this.content): QueueEntry {
    const entry = this.find(entry_id, content)
    if (entry.state === 'waiting' && !this.beginning.has(entry_id)) return entry
    const stop = entry.execution_id === null ? 'ask again in a moment' : `stop its run: POST /api/executions/${entry.execution_id}/stop`
    throw new LabError('conflict', `${nameOf(entry)} has begun already; ${stop}`)
  }

  settled(): Promise<void> {
    return this.#file.settled()
  }

  #changed(): void {
    this.#changes++
    this.#view = undefined
  }
}
