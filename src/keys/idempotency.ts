// The requests with an Idempotency-Key, and their answers for a day. The start of a request is on the card before the request is carried out,
// so that a request which a restart interrupted is never carried out twice, nor one that may have been lost from a damaged file.

import { hash } from 'node:crypto'
import * as v from 'valibot'
import { LabError } from '../errors.ts'
import { steadySeconds } from '../kit/clock.ts'
import { LineFile } from '../kit/json_lines.ts'
import { SerialQueue } from '../kit/serial_queue.ts'
import { utc } from '../kit/utc.ts'
import { Entry, IdempotencyTable, type Known, keptSeconds, longestAnswer, PastLine, type StoredAnswer } from './idempotency_table.ts'

/** The file was found damaged at that time (Unix, s): earlier requests may be missing. */
const LostLine = v.strictObject({ lost_at: v.number() })
type Line = Entry | PastLine | v.InferOutput<typeof LostLine>
/** `isSettled` is true once a person has acknowledged the incident. */
type Lost = { at: number; isSettled(): boolean }

/** A request with an Idempotency-Key. */
export type IdempotentRequest = { key_id: string; method: string; path: string; idempotency_key: string; body: Uint8Array }

/** How long an answer is stored: `keep` for a day, `secret` as long as the service runs, `forget` not at all, as nothing was done. */
export type Worth = 'keep' | 'secret' | 'forget'

const mostWaiting = 64
const consequence =
  'until this is acknowledged, for 24 hours at most, a request with an Idempotency-Key that is not known is refused, as it may have been carried out'

type IdempotencyOptions = {
  folder: string
  /** Whether a service has used the folder before, so that the file must exist. */
  isUsed: boolean
  /** Reports that requests may be forgotten. Returns a function that tells whether a person has acknowledged the report. */
  tellLost(message: string): () => boolean
  /** Unix seconds, unaffected by setting the clock: a request that is forgotten too early could be carried out twice. */
  now?: () => number
  /** Unix seconds as the clock of the computer shows them now. */
  wall?: () => number
}

export class Idempotency {
  readonly #file: LineFile<Line>
  readonly #queue = new SerialQueue(mostWaiting)
  readonly #now: () => number
  readonly #wall: () => number
  /** The requests of the day. An entry that is stored as `running` and does not run was interrupted by a restart. */
  readonly #table = new IdempotencyTable()
  /** Requests before that moment may be missing from the table. */
  #lost: Lost | undefined
  /** Whether the file has to be written anew, apart from new entries. */
  #isOutdated = false

  static async open({
    folder,
    isUsed,
    tellLost,
    now = steadySeconds,
    wall = () => Date.now() / 1000,
  }: IdempotencyOptions): Promise<Idempotency> {
    let isSettled: Lost['isSettled'] | undefined
    const file = new LineFile<Line>({
      path: `${folder}/idempotency.jsonl`,
      schema: v.union([Entry, PastLine, LostLine]),
      isExpected: isUsed,
      loss: `requests with an Idempotency-Key may be forgotten; ${consequence}`,
      report: ({ message }) => {
        isSettled = tellLost(message)
      },
    })
    const lines = await file.read((whole) => [...whole, { lost_at: now() }])
    // An empty file is begun, so that its loss is noticed later. A disk that refuses it refuses again when it is needed.
    if (lines.length === 0 && !file.isOpen) await file.begin([]).catch(() => undefined)
    const lost_at = Math.max(
      ...lines.map((line) => ('lost_at' in line ? line.lost_at : Number.NEGATIVE_INFINITY)),
      Number.NEGATIVE_INFINITY,
    )
    // Reported at each start until it is over, because refused clients look for the reason.
    if (lost_at >= now() - keptSeconds)
      isSettled ??= tellLost(`idempotency.jsonl was damaged at ${utc(lost_at)}, and requests may be forgotten; ${consequence}`)
    const once = new Idempotency(file, { now, wall }, isSettled && { at: lost_at, isSettled })
    const requests = lines.flatMap((line) => ('lost_at' in line ? [] : [line]))
    once.#table.take(requests, now())
    return once
  }

  private constructor(file: LineFile<Line>, { now, wall }: Required<Pick<IdempotencyOptions, 'now' | 'wall'>>, lost: Lost | undefined) {
    this.#file = file
    this.#now = now
    this.#wall = wall
    this.#lost = lost
  }

  /**
   * Returns the stored answer. Without one, the caller carries the request out and calls `end` with its answer. Rejects with
   * `in_progress` while it runs, `invalid` for another body, `conflict` when a restart interrupted it, when its answer was not kept, or when
   * it may be one that was forgotten, `overloaded` when no more can be remembered, and `storage`.
   */
  async begin(asked: IdempotentRequest): Promise<StoredAnswer | undefined> {
    const [id, sha256, { key_id }] = [idOf(asked), hash('sha256', asked.body), asked]
    const now = this.#now()
    this.#table.tidy(now)
    const before = this.#table.find({ key_id, id })
    if (before) return answerOf(before, sha256)
    const pastUntil = this.#table.pastUntil({ key_id, id })
    if (pastUntil !== undefined) throw withoutAnswer(pastUntil)
    this.#mustNotBeForgotten()
    this.#table.mustHaveRoom(key_id, now)
    // The next start counts from the clock of the computer, which may be set until then: a board without a battery begins in the past.
    const at = Math.max(now, this.#wall())
    const entry: Entry = { id, key_id, sha256, at, state: 'running', answer: null }
    this.#table.put({ entry, since: now, isRunning: true })
    try {
      await this.#write(entry)
    } catch (error) {
      this.#table.delete(entry)
      throw error
    }
    return undefined
  }

  /** Tells whether a request was answered 202 before a restart that interrupted its operation. */
  isInterrupted(asked: IdempotentRequest): boolean {
    return this.#table.find({ key_id: asked.key_id, id: idOf(asked) })?.isInterrupted ?? false
  }

  /** Resolves when the answer is on the disk. If the disk refuses it, the answer lasts until the next start, which treats the request as interrupted. */
  async end(asked: IdempotentRequest, answer: StoredAnswer, worth: Worth): Promise<void> {
    const known = this.#table.find({ key_id: asked.key_id, id: idOf(asked) })
    if (!known) return
    const state = worth === 'forget' ? 'forgotten' : 'ended'
    const entry: Entry = { ...known.entry, state, answer: worth === 'keep' && answer.body.length <= longestAnswer ? answer : null }
    if (worth === 'forget') this.#table.delete(entry)
    else this.#table.put({ entry, since: known.since, isRunning: false, ...(worth === 'secret' && { secret: answer }) })
    await this.#write(entry).catch(() => undefined)
  }

  async close(): Promise<void> {
    await this.#queue.run(() => this.#file.close())
  }

  #write(entry: Entry): Promise<void> {
    return this.#queue.run(async () => {
      const lost = this.#lost ? [{ lost_at: this.#lost.at }] : []
      const others = () => this.#table.lines().filter((line) => !('id' in line && line.id === entry.id))
      const all = () => [...lost, ...others(), entry]
      if (this.#isOutdated) await this.#file.begin(all())
      else await this.#file.write([entry], { isSynced: true, all })
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
      `the file of requests was damaged at ${utc(at)}, so this request may have been carried out before: look at what it is about; if it is still to be done, send it without an Idempotency-Key, or acknowledge the incident of the damage (GET /api/incidents) and send it again`,
    )
  }
}

function answerOf({ entry, isRunning, secret }: Known, wanted: string): StoredAnswer {
  if (entry.sha256 !== wanted)
    throw new LabError('invalid', 'this Idempotency-Key was used with another body; take a new one for a new request')
  if (isRunning)
    throw new LabError('in_progress', 'the request of this Idempotency-Key is still running; ask again later', { retry_after_s: 1 })
  const known = entry.answer ?? secret
  if (known) return known
  if (entry.state === 'running') throw interrupted()
  throw new LabError(
    'conflict',
    'the request of this Idempotency-Key was carried out, and its answer was not kept: look at what it was about',
  )
}

function withoutAnswer(until: number): LabError {
  const sentence = `a request with this Idempotency-Key was sent before, by ${utc(until)}, and is not done again; its answer is not stored any more, because newer requests needed the room`
  return new LabError('conflict', `${sentence}. Look at what it was about; if it is still to be done, send it with a new Idempotency-Key`)
}

export function interrupted(): LabError {
  const sentence = 'interrupted by a restart, outcome unknown: look at the bench, then take a new Idempotency-Key to ask for it again'
  return new LabError('conflict', sentence)
}

function idOf({ key_id, method, path, idempotency_key }: IdempotentRequest): string {
  return hash('sha256', JSON.stringify([key_id, method, path, idempotency_key]))
}
