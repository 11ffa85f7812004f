// A file of the audit trail. Entries wait here to be written, a flood is written in batches, and entries that do not fit are counted.

import { messageOf } from '../errors.ts'
import { ChainedLines, type Head } from '../kit/chained_lines.ts'
import type { Clock } from '../kit/clock.ts'
import type { Report } from '../kit/json_file.ts'
import type { Log } from '../kit/log.ts'
import { WriteBehind } from '../kit/write_behind.ts'
import type { AuditEntry } from './audit_entry.ts'

const mostWaiting = 1000
/** The most entries that are written together, and the pause between two writes: a flood must not keep the card and the processor busy. */
const batch = 200
const rest_ms = 50

type Options = ConstructorParameters<typeof ChainedLines>[0] & { clock: Clock; report: Report }

export class AuditFile {
  readonly #lines: ChainedLines
  readonly #behind: WriteBehind
  #waiting: AuditEntry[] = []
  #leftOut = 0
  /** The newest of those that were left out; it is not among them if it is written after all. */
  #lastLeftOut: AuditEntry | undefined
  #loggedHash = ''
  /** Whether somebody has asked for the lines of the file: a start before this one may have written here, and this one nothing yet. */
  #isAsked = false

  constructor({ clock, report, ...file }: Options) {
    this.#lines = new ChainedLines({ ...file, report })
    const onFailure = (error: unknown) => report({ kind: 'storage', message: `who does what is not taken down: ${messageOf(error)}` })
    this.#behind = new WriteBehind({ clock, rest_ms, write: () => this.#write(), onFailure })
  }

  /** Has it written soon, and returns at once. */
  add(entry: AuditEntry): void {
    if (this.#waiting.length >= mostWaiting) this.leaveOut(entry)
    else {
      this.#waiting.push(this.#leftOut ? { ...entry, left_out: this.#leftOut } : entry)
      this.#leftOut = 0
      this.#lastLeftOut = undefined
      this.#behind.soon()
    }
  }

  /** Counts it; the next line says how many were left out. */
  leaveOut(entry: AuditEntry): void {
    this.#leftOut++
    this.#lastLeftOut = entry
  }

  /** Writes the newest that was left out, with the number of the others: no line may come after it that tells of them. */
  tellLeftOut(): void {
    const last = this.#lastLeftOut
    if (!last) return
    this.#leftOut--
    this.add(last)
  }

  /** The newest thousand, oldest first, and the head; what was added before is among them unless the disk refuses it. */
  async newest(): Promise<{ head: Head; lines: ChainedLines['newest'] }> {
    this.#isAsked = true
    await this.settled()
    const { head, newest } = this.#lines
    return { head, lines: newest }
  }

  /** Resolves when all is on the card, or was refused. */
  settled(): Promise<void> {
    return this.#behind.settled()
  }

  /** Logs the head, unless it was logged before. `name` begins the sentence. */
  tellHead(name: string, log: Log): void {
    const { seq, hash } = this.#lines.head
    if (seq === 0 || hash === this.#loggedHash) return
    this.#loggedHash = hash
    log.info(`${name}: line ${seq} has the hash ${hash}`)
  }

  close(): Promise<void> {
    return this.#behind.close(() => this.#lines.close())
  }

  /** Writes all that waits, many entries together, and what came meanwhile if that fills a batch. */
  async #write(): Promise<void> {
    if (this.#waiting.length === 0 && !this.#isAsked) return
    // Not in the turn of the request.
    await new Promise(setImmediate)
    let due = this.#waiting.length
    do {
      const entries = this.#waiting.splice(0, batch)
      due -= entries.length
      await this.#lines.add(entries).catch((error) => this.#failed(entries, error))
    } while (due > 0 || this.#waiting.length >= batch)
  }

  #failed(entries: AuditEntry[], error: unknown): never {
    const all = [...entries, ...this.#waiting]
    this.#leftOut += Math.max(0, all.length - mostWaiting)
    this.#waiting = all.slice(0, mostWaiting)
    throw error
  }
}
