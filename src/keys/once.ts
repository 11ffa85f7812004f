// What a client asked for under an Idempotency-Key is done once: that it began is on the card before it begins, and what it came to is
// answered again to whoever asks again, for a day. What a restart interrupted is never done a second time.

import { hash } from 'node:crypto'
import * as v from 'valibot'
import { LabError } from '../errors.ts'
import type { Report } from '../kit/json_file.ts'
import { LineFile, readLines } from '../kit/json_lines.ts'
import { Lane } from '../kit/lane.ts'

/** An answer as it can be given again. */
export const Answer = v.strictObject({ status: v.number(), headers: v.record(v.string(), v.string()), body: v.string() })
export type Answer = v.InferOutput<typeof Answer>

const Entry = v.strictObject({
  /** Hash of who asked, for what, under which key. */
  id: v.string(),
  /** Of the body. */
  sha256: v.string(),
  at: v.number(),
  state: v.picklist(['running', 'ended', 'forgotten']),
  /** null also for one that is not to be kept here: it holds a secret, or is long. */
  answer: v.nullable(Answer),
})
type Entry = v.InferOutput<typeof Entry>

/** One request. */
export type Asked = { key_id: string; method: string; path: string; idempotency_key: string; body: Uint8Array }

/** What an answer is worth: `keep` it, keep it as long as the service runs (`secret`), or `forget` it, as nothing was done. */
export type Worth = 'keep' | 'secret' | 'forget'

const kept = 1000
const keptSeconds = 24 * 3600
const longestAnswer = 16 * 1024
const mostWaiting = 64

type Options = { folder: string; report: Report; now?: () => number }

export class Once {
  readonly #file: LineFile<Entry>
  readonly #lane = new Lane(mostWaiting)
  readonly #now: () => number
  /** Oldest first, as they are on the card. Those that say `running` and do not run were interrupted by a restart. */
  readonly #entries: Map<string, Entry>
  readonly #running = new Set<string>()
  /** Those that were answered before their end, and before this start. */
  readonly #left = new Set<string>()
  /** Answers that are not for the card. */
  readonly #secrets = new Map<string, Answer>()
  #lines = 0

  static async open(options: Options): Promise<Once> {
    const entries = await readLines({ path: pathIn(options.folder), schema: Entry, report: options.report })
    return new Once(options, new Map(entries.map((entry) => [entry.id, entry])))
  }

  private constructor({ folder, now = () => Date.now() / 1000 }: Options, entries: Map<string, Entry>) {
    this.#file = new LineFile(pathIn(folder))
    this.#now = now
    this.#entries = entries
    for (const [id, { state, answer }] of entries) {
      if (state === 'forgotten') entries.delete(id)
      if (answer?.status === 202) this.#left.add(id)
    }
    this.#forgetOld()
  }

  /**
   * The answer of before, or nothing: then it is this caller's to do, and `end` is to be called with what it came to. Rejects with
   * `in_progress` while it runs, `invalid` for another body, `conflict` when a restart interrupted it or its answer was not kept,
   * and `storage`.
   */
  async begin(asked: Asked): Promise<Answer | undefined> {
    const [id, sha256] = [idOf(asked), hash('sha256', asked.body)]
    this.#forgetOld()
    const before = this.#entries.get(id)
    if (before) return this.#answerOf(before, sha256)
    const entry: Entry = { id, sha256, at: this.#now(), state: 'running', answer: null }
    this.#running.add(id)
    this.#entries.set(id, entry)
    try {
      await this.#write(entry)
    } catch (error) {
      this.#running.delete(id)
      this.#entries.delete(id)
      throw error
    }
    return undefined
  }

  /** Whether it was answered before it had ended, and the service has started anew since: that it runs is not so any more. */
  isLeft(asked: Asked): boolean {
    return this.#left.has(idOf(asked))
  }

  /** Resolves when it is on the card; when the disk refuses it, it is known for as long as the service runs, and was interrupted after that. */
  async end(asked: Asked, answer: Answer, worth: Worth): Promise<void> {
    const id = idOf(asked)
    const entry = this.#entries.get(id)
    this.#running.delete(id)
    if (!entry) return
    const state = worth === 'forget' ? 'forgotten' : 'ended'
    const ended: Entry = { ...entry, state, answer: worth === 'keep' && answer.body.length <= longestAnswer ? answer : null }
    if (worth === 'forget') this.#entries.delete(id)
    else this.#entries.set(id, ended)
    if (worth === 'secret') this.#secrets.set(id, answer)
    await this.#write(ended).catch(() => undefined)
  }

  async close(): Promise<void> {
    await this.#lane.run(() => this.#file.close())
  }

  #write(entry: Entry): Promise<void> {
    return this.#lane.run(async () => {
      if (this.#file.isOpen && this.#lines < 4 * kept) {
        await this.#file.add([entry], { isSynced: true })
        this.#lines++
        return
      }
      const all = [...this.#entries.values()].filter(({ id }) => id !== entry.id)
      await this.#file.begin([...all, entry])
      this.#lines = all.length + 1
    })
  }

  #forgetOld(): void {
    const oldest = this.#now() - keptSeconds
    for (const [id, { at }] of this.#entries) {
      if (this.#entries.size <= kept && at >= oldest) return
      if (this.#running.has(id)) continue
      this.#entries.delete(id)
      this.#secrets.delete(id)
      this.#left.delete(id)
    }
  }

  #answerOf({ id, sha256, state, answer }: Entry, wanted: string): Answer {
    if (sha256 !== wanted)
      throw new LabError('invalid', 'this Idempotency-Key was used with another body; take a new one for a new request')
    if (this.#running.has(id))
      throw new LabError('in_progress', 'the request of this Idempotency-Key is still running; ask again later', { retry_after_s: 1 })
    const kept = answer ?? this.#secrets.get(id)
    if (kept) return kept
    if (state === 'running') throw interrupted()
    throw new LabError(
      'conflict',
      'the request of this Idempotency-Key was carried out, and its answer was not kept: look at what it was about',
    )
  }
}

export function interrupted(): LabError {
  const sentence = 'interrupted by a restart, outcome unknown: look at the bench, then take a new Idempotency-Key to ask for it again'
  return new LabError('conflict', sentence)
}

function idOf({ key_id, method, path, idempotency_key }: Asked): string {
  return hash('sha256', JSON.stringify([key_id, method, path, idempotency_key]))
}

function pathIn(folder: string): string {
  return `${folder}/idempotency.jsonl`
}
