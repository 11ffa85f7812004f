// A file of the audit trail. Entries wait here to be written, a flood is written in batches, and entries that do not fit are counted.

import { messageOf } from '../errors.ts'
import { ChainedLines, type Head } from '../kit/chained_lines.ts'
import type { Clock } from '../kit/clock.ts'
import type { Report } from '../kit/json_file.ts'
import type { Log } from '../kit/log.ts'
import { Pause } from '../kit/pause.ts'
import type { AuditEntry } from './audit_entry.ts'

const mostWaiting = 1000
/** The most entries that are written together, and the pause between two writes: a flood must not keep the card and the processor busy. */
const batch = 200
const rest_ms = 50

type Options = ConstructorParameters<typeof ChainedLines>[0] & { clock: Clock; report: Report }

export class AuditFile {
  readonly #lines: ChainedLines
  readonly #report: Report
  readonly #pause: Pause
  #waiting: AuditEntry[] = []
  #writing: Promise<void> | undefined
  #leftOut = 0
  /** The newest of those that were left out; it is not among them if it is written after all. */
  #lastLeftOut: AuditEntry | undefined
  #isWell = true
  #loggedHash = ''
  #isAwaited = false
  #isClosed = false

  constructor({ clock, report, ...file }: Options) {
    this.#lines = new ChainedLines({ ...file, report })
    this.#report = report
    this.#pause = new Pause(clock, rest_ms)
  }

  /** Has it written soon, and returns at once. */
  add(entry: AuditEntry): void {
    if (this.#waiting.length >= mostWaiting) this.leaveOut(entry)
    else {
      this.#waiting.push(this.#leftOut ? { ...entry, left_out: this.#leftOut } : entry)
      this.#leftOut = 0
      this.#lastLeftOut = undefined
      this.#writing ??= this.#write()
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
    // A start before this one may have written here, and this one nothing yet.
    if (!this.#isClosed) this.#writing ??= this.#read()
    await this.settled()
    const { head, newest } = this.#lines
    return { head, lines: newest }
  }

  /** Resolves when all is on the card, or was refused. */
  async settled(): Promise<void> {
    this.#isAwaited = true
    this.#pause.end()
    await this.#writing
    this.#isAwaited = false
  }

  /** Logs the head, unless it was logged before. `name` begins the sentence. */
  tellHead(name: string, log: Log): void {
    const { seq, hash } = this.#lines.head
    if (seq === 0 || hash === this.#loggedHash) return
    this.#loggedHash = hash
    log.info(`${name}: line ${seq} has the hash ${hash}`)
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await this.settled()
    await this.#lines.close()
  }

  async #read(): Promise<void> {
    await this.#written([])
    await this.#write()
  }

  /** All that waits, until nothing does; what the disk refuses waits for the next entry. One is written at once, many together. */
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
    return this.#isAwaited || this.#waiting.length >= batch ? Promise.resolve() : this.#pause.taken()
  }

  #failed(entries: AuditEntry[], error: unknown): void {
    const all = [...entries, ...this.#waiting]
    this.#leftOut += Math.max(0, all.length - mostWaiting)
    this.#waiting = all.slice(0, mostWaiting)
    if (this.#isWell) this.#report({ kind: 'storage', message: `who does what is not taken down: ${messageOf(error)}` })
    this.#isWell = false
  }
}
