// The requests with an Idempotency-Key, and their answers for a day. The start of a request is on the card before the request is carried out,
// so that a request which a restart interrupted is never carried out twice, nor one that may have been lost from a damaged file.

import { hash } from 'node:crypto'
import * as v from 'valibot'
import { LabError } from '../errors.ts'
import { steadySeconds } from '../kit/clock.ts'
import { LineFile } from '../kit/json_lines.ts'
import { SerialQueue } from '../kit/serial_queue.ts'

/** An answer that can be repeated. */
export const StoredAnswer = v.strictObject({ status: v.number(), headers: v.record(v.string(), v.string()), body: v.string() })
export type StoredAnswer = v.InferOutput<typeof StoredAnswer>

const Entry = v.strictObject({
  /** Hash of who asked, for what, under which key. */
  id: v.string(),
  /** The hash of the body. */
  sha256: v.string(),
  at: v.number(),
  state: v.picklist(['running', 'ended', 'forgotten']),
  /** null also for one that is not to be kept here: it holds a secret, or is long. */
  answer: v.nullable(StoredAnswer),
})
type Entry = v.InferOutput<typeof Entry>

/** The file was found damaged at that time (Unix, s): requests of before may be missing. */
const LostLine = v.strictObject({ lost_at: v.number() })
type Line = Entry | v.InferOutput<typeof LostLine>
/** `isSettled` once somebody has looked what became of them. */
type Lost = { at: number; isSettled(): boolean }

/** A request with an Idempotency-Key. */
export type IdempotentRequest = { key_id: string; method: string; path: string; idempotency_key: string; body: Uint8Array }

/** How long an answer is stored: `keep` for a day, `secret` as long as the service runs, `forget` not at all, as nothing was done. */
export type Worth = 'keep' | 'secret' | 'forget'

const mostAnswers = 1000
const keptSeconds = 24 * 3600
const longestAnswer = 16 * 1024
const mostWaiting = 64
const consequence =
  'until this is acknowledged, for 24 hours at most, a request with an Idempotency-Key that is not known is refused, as it may have been carried out'

type Options = {
  folder: string
  /** Whether this service has carried out anything in that folder before: then the file of its requests must be there. */
  isUsed: boolean
  /** Tells an operator that requests may be forgotten. The answer says whether somebody has acknowledged that since. */
  tellLost(message: string): () => boolean
  /** Unix seconds that no setting of the clock changes: a request that is forgotten could be carried out twice. */
  now?: () => number
  /** Unix seconds as the clock of the computer shows them now. */
  wall?: () => number
}

export class Idempotency {
  readonly #file: LineFile<Line>
  readonly #queue = new SerialQueue(mostWaiting)
  readonly #now: () => number
  readonly #wall: () => number
  /** Oldest first, as they are on the card. Those that say `running` and do not run were interrupted by a restart. */
  readonly #entries: Map<string, Entry>
  readonly #running = new Set<string>()
  /** The requests that were answered before their end, and before this start. */
  readonly #interrupted = new Set<string>()
  /** Answers that are not for the card. */
  readonly #secrets = new Map<string, StoredAnswer>()
  /** Requests that are not known may have been made before that moment. */
  #lost: Lost | undefined
  /** Whether the content of the file besides the entries has changed. */
  #isOutdated = false

  static async open({ folder, isUsed, tellLost, now = steadySeconds, wall = () => Date.now() / 1000 }: Options): Promise<Idempotency> {
    let isSettled: Lost['isSettled'] | undefined
    const file = new LineFile<Line>({
      path: `${folder}/idempotency.jsonl`,
      schema: v.union([Entry, LostLine]),
      isExpected: isUsed,
      loss: `requests with an Idempotency-Key may be forgotten; ${consequence}`,
      report: ({ message }) => {
        isSettled = tellLost(message)
      },
    })
    const lines = await file.read((whole) => [...whole, { lost_at: now() }])
    // The file is begun, so that it is missed where it is not there any more. A disk that refuses it does so again when it is needed.
    if (lines.length === 0 && !file.isOpen) await file.begin([]).catch(() => undefined)
    const lost_at = Math.max(
      ...lines.map((line) => ('lost_at' in line ? line.lost_at : Number.NEGATIVE_INFINITY)),
      Number.NEGATIVE_INFINITY,
    )
    // At each start until it is over: who is refused looks for the reason.
    if (lost_at >= now() - keptSeconds)
      isSettled ??= tellLost(`idempotency.jsonl was damaged at ${timeOf(lost_at)}, and requests may be forgotten; ${consequence}`)
    const entries = lines.flatMap((line) => ('id' in line ? [[line.id, line] as const] : []))
    return new Idempotency(file, { now, wall }, new Map(entries), isSettled && { at: lost_at, isSettled })
  }

  private constructor(
    file: LineFile<Line>,
    { now, wall }: Required<Pick<Options, 'now' | 'wall'>>,
    entries: Map<string, Entry>,
    lost: Lost | undefined,
  ) {
    this.#file = file
    this.#now = now
    this.#wall = wall
    this.#entries = entries
    this.#lost = lost
    for (const [id, { state, answer }] of entries) {
      if (state === 'forgotten') entries.delete(id)
      if (answer?.status === 202) this.#interrupted.add(id)
    }
    this.#forgetOld()
  }

  /**
   * The answer of before, or nothing: then it is this caller's to do, and `end` is to be called with what it came to. Rejects with
   * `in_progress` while it runs, `invalid` for another body, `conflict` when a restart interrupted it, when its answer was not kept, or when
   * it may be one that was forgotten, and `storage`.
   */
  async begin(asked: IdempotentRequest): Promise<StoredAnswer | undefined> {
    const [id, sha256] = [idOf(asked), hash('sha256', asked.body)]
    this.#forgetOld()
    const before = this.#entries.get(id)
    if (before) return this.#answerOf(before, sha256)
    this.#mustNotBeForgotten()
    // The next start counts from the clock of the computer, which may have been set since this one: a board without a battery begins in the past.
    const at = Math.max(this.#now(), this.#wall())
    const entry: Entry = { id, sha256, at, state: 'running', answer: null }
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

  /** Tells whether a request was answered 202 before a restart that interrupted its operation. */
  isInterrupted(asked: IdempotentRequest): boolean {
    return this.#interrupted.has(idOf(asked))
  }

  /** Resolves when it is on the card; when the disk refuses it, it is known for as long as the service runs, and was interrupted after that. */
  async end(asked: IdempotentRequest, answer: StoredAnswer, worth: Worth): Promise<void> {
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
    await this.#queue.run(() => this.#file.close())
  }

  #write(entry: Entry): Promise<void> {
    return this.#queue.run(async () => {
      const others = () => [...this.#entries.values()].filter(({ id }) => id !== entry.id)
      const lost = this.#lost ? [{ lost_at: this.#lost.at }] : []
      if (this.#isOutdated) await this.#file.begin([...lost, ...others(), entry])
      else await this.#file.write([entry], { isSynced: true, all: () => [...lost, ...others(), entry] })
      this.#isOutdated = false
    })
  }

  #mustNotBeForgotten(): void {
    if (!this.#lost) return
    const { at, isSettled } = this.#lost
    if (at < this.#now() - keptSeconds || isSettled()) {
      this.#lost = undefined
      this.#isOutdated = true
      return
    }
    throw new LabError(
      'conflict',
      `the file of requests was damaged at ${timeOf(at)}, so this request may have been carried out before: look at what it is about; if it is still to be done, send it without an Idempotency-Key, or acknowledge the incident of the damage (GET /api/incidents) and send it again`,
    )
  }

  #forgetOld(): void {
    const oldest = this.#now() - keptSeconds
    for (const [id, { at }] of this.#entries) {
      if (this.#entries.size <= mostAnswers && at >= oldest) return
      if (this.#running.has(id)) continue
      this.#entries.delete(id)
      this.#secrets.delete(id)
      this.#interrupted.delete(id)
    }
  }

  #answerOf({ id, sha256, state, answer }: Entry, wanted: string): StoredAnswer {
    if (sha256 !== wanted)
      throw new LabError('invalid', 'this Idempotency-Key was used with another body; take a new one for a new request')
    if (this.#running.has(id))
      throw new LabError('in_progress', 'the request of this Idempotency-Key is still running; ask again later', { retry_after_s: 1 })
    const known = answer ?? this.#secrets.get(id)
    if (known) return known
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

/** `2026-11-20 17:15 UTC`. */
function timeOf(seconds: number): string {
  return `${new Date(seconds * 1000).toISOString().slice(0, 16).replace('T', ' ')} UTC`
}

function idOf({ key_id, method, path, idempotency_key }: IdempotentRequest): string {
  return hash('sha256', JSON.stringify([key_id, method, path, idempotency_key]))
}
