// Who did what: a line for each request that changes something or was refused that, chained by hashes, in `audit.jsonl`. Nothing waits
// for it. Its head is told to the log, so that the journal of the system can witness that the end was not cut off.

import * as v from 'valibot'
import { messageOf } from '../errors.ts'
import { ChainedLines, type Head } from '../kit/chained_lines.ts'
import { type Clock, systemClock } from '../kit/clock.ts'
import type { Report } from '../kit/json_file.ts'
import type { Log } from '../kit/log.ts'
import { withoutSecrets } from './secret.ts'

const Word = v.nullable(v.string())

export const AuditEntry = v.strictObject({
  at: v.pipe(v.number(), v.description('Unix time'), v.metadata({ unit: 's' })),
  key_id: v.pipe(
    Word,
    v.description('`local` is somebody with a shell on this machine, `service` the service itself; null without a good key'),
  ),
  name: Word,
  scope: Word,
  from: v.pipe(Word, v.description('The address that the request came from')),
  what: v.pipe(v.string(), v.description('Method and path, or a command')),
  status: v.nullable(v.number()),
  reason: v.pipe(Word, v.description('Why it was refused, as X-Reason has it')),
  operation_id: Word,
  left_out: v.optional(
    v.pipe(
      v.number(),
      v.description('So many lines before this one were left out: too many came without a good key, or the disk refused them'),
    ),
  ),
})
export type AuditEntry = v.InferOutput<typeof AuditEntry>

/** What happened; what is left out is null. */
export type Deed = { what: string } & Partial<Omit<AuditEntry, 'at' | 'what' | 'left_out'>>

/** What the service itself does. */
export const byService = { key_id: 'service', name: 'service' } as const

export const auditFile = 'audit.jsonl'

const mostWaiting = 1000
/** So many are written together, and so long after the ones before: a flood must not keep the card and the processor busy. */
const batch = 200
const rest_ms = 50
const headEveryMs = 3_600_000
const longestWhat = 300
/** Of deeds that anybody on the network can do: so many at once, then one a second. */
const strangers = { burst: 20, perSecond: 1 }

type Options = { folder: string; log: Log; report: Report; clock?: Clock; now?: () => number }

export class Audit {
  readonly #lines: ChainedLines
  readonly #log: Log
  readonly #report: Report
  readonly #clock: Clock
  readonly #now: () => number
  #waiting: AuditEntry[] = []
  #writing: Promise<void> | undefined
  #leftOut = 0
  #tries = strangers.burst
  #triedAt: number
  #isWell = true
  #told = ''
  #cancel = () => {}
  #hurry = () => {}
  #isAwaited = false
  #isClosed = false

  /** `now` in Unix seconds. */
  constructor({ folder, log, report, clock = systemClock, now = () => Date.now() / 1000 }: Options) {
    this.#lines = new ChainedLines({ path: `${folder}/${auditFile}`, report })
    this.#log = log
    this.#report = report
    this.#clock = clock
    this.#now = now
    this.#triedAt = clock.now()
    this.#tellHourly()
  }

  /** Takes it down, and returns at once. */
  note(deed: Deed): void {
    if (this.#isClosed) return
    const entry = entryOf(deed, this.#now())
    const isRefusedStranger = entry.key_id === null && (entry.status ?? 0) >= 400
    if (this.#waiting.length >= mostWaiting || (isRefusedStranger && !this.#mayCountOne())) {
      this.#leftOut++
      return
    }
    this.#waiting.push(this.#leftOut ? { ...entry, left_out: this.#leftOut } : entry)
    this.#leftOut = 0
    this.#writing ??= this.#write()
  }

  /** The newest, oldest first, and the head; what was noted before is among them unless the disk refuses it. */
  async newest(limit: number): Promise<{ head: Head; entries: (AuditEntry & Head)[] }> {
    await this.#settled()
    const { head, newest } = this.#lines
    return { head, entries: newest.slice(-limit).map(({ seq, hash, entry }) => ({ seq, hash, ...(entry as AuditEntry) })) }
  }

  /** Resolves when all is on the card, or was refused; tells the head a last time. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#cancel()
    await this.#settled()
    this.#tellHead()
    await this.#lines.close()
  }

  /** All that waits, until nothing does; what the disk refuses waits for the next deed. One deed is written at once, many together. */
  async #write(): Promise<void> {
    // Not in the turn of the request.
    await new Promise(setImmediate)
    while (this.#waiting.length && (await this.#written(this.#waiting.splice(0, batch)))) await this.#rest()
    this.#writing = undefined
  }

  async #written(entries: AuditEntry[]): Promise<boolean> {
    try {
      await this.#lines.add(entries)
      this.#isWell = true
    } catch (error) {
      this.#failed(entries, error)
    }
    return this.#isWell
  }

  /** Until there is enough for another write, or somebody wants to know. */
  #rest(): Promise<void> {
    if (this.#isAwaited || this.#waiting.length >= batch) return Promise.resolve()
    return new Promise((resolve) => {
      const cancel = this.#clock.after(rest_ms, resolve)
      this.#hurry = () => {
        cancel()
        resolve()
      }
    })
  }

  async #settled(): Promise<void> {
    this.#isAwaited = true
    this.#hurry()
    await this.#writing
    this.#isAwaited = false
  }

  #failed(entries: AuditEntry[], error: unknown): void {
    const all = [...entries, ...this.#waiting]
    this.#leftOut += Math.max(0, all.length - mostWaiting)
    this.#waiting = all.slice(0, mostWaiting)
    if (this.#isWell) this.#report({ kind: 'storage', message: `who does what is not taken down: ${messageOf(error)}` })
    this.#isWell = false
  }

  #mayCountOne(): boolean {
    const now = this.#clock.now()
    this.#tries = Math.min(strangers.burst, this.#tries + ((now - this.#triedAt) / 1000) * strangers.perSecond)
    this.#triedAt = now
    if (this.#tries < 1) return false
    this.#tries--
    return true
  }

  #tellHourly(): void {
    this.#cancel = this.#clock.after(headEveryMs, () => {
      this.#tellHead()
      this.#tellHourly()
    })
  }

  #tellHead(): void {
    const { seq, hash } = this.#lines.head
    if (seq === 0 || hash === this.#told) return
    this.#told = hash
    this.#log.info(`audit: line ${seq} has the hash ${hash}`)
  }
}

/** Member by member: with spreads it costs ten times as much, and a stop comes here too. */
function entryOf(
  { what, key_id = null, name = null, scope = null, from = null, status = null, reason = null, operation_id = null }: Deed,
  at: number,
): AuditEntry {
  return { at, key_id, name, scope, from, what: withoutSecrets(what).slice(0, longestWhat), status, reason, operation_id }
}
