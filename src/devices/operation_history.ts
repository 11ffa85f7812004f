// The operations and their outcomes, which outlast a restart. A line is written when an operation begins and another when it has ended, without
// delaying the operation. They are read when somebody asks.

import { messageOf } from '../errors.ts'
import { type Clock, systemClock } from '../kit/clock.ts'
import type { Report } from '../kit/json_file.ts'
import { LineFile } from '../kit/json_lines.ts'
import { WriteBehind } from '../kit/write_behind.ts'
import { OperationRecord } from './records.ts'

/** When more records than this wait for a slow card, the oldest is left out. */
const mostWaiting = 4000
/** The pause between two writes: operations that end one soon after the other are written together. */
const rest_ms = 10

type Records = () => Promise<OperationRecord[]>

export class OperationHistory {
  readonly #report: Report
  readonly #file: LineFile<OperationRecord>
  readonly #behind: WriteBehind
  readonly #waiting = new Set<OperationRecord>()
  #live: Records = async () => []
  /** Whether the file may be written. */
  #isOurs = true

  constructor({ folder, report, clock = systemClock }: { folder: string; report: Report; clock?: Clock }) {
    const loss = 'what some operations came to is not known any more; the audit says which were asked for'
    this.#report = report
    this.#file = new LineFile({ path: `${folder}/operations.jsonl`, schema: OperationRecord, report, loss })
    this.#behind = new WriteBehind({ clock, rest_ms, write: (isAgain) => this.#write(isAgain), onFailure: (error) => this.#refused(error) })
  }

  /** Returns the operations that began before this start, the oldest first; none where the file cannot be read, which is reported. */
  async before(): Promise<OperationRecord[]> {
    const lines = await this.#file.read().catch((error) => {
      // A file that cannot be read, for example one of a newer version, is not written over.
      this.#isOurs = false
      this.#report({ kind: 'storage', message: `what operations came to before: ${messageOf(error)}` })
      return []
    })
    // Of two lines of an operation, the last says how it ended.
    return [...new Map(lines.map((line) => [line.operation_id, line])).values()]
  }

  /**
   * Writes the record, of an operation that has begun or ended, at once or at the end of the pause after the last write. `live` answers all
   * records that the file is to hold when it begins anew, once `before` was read.
   */
  add(record: OperationRecord, live: Records): void {
    this.#live = live
    this.#waiting.add(record)
    if (this.#waiting.size > mostWaiting) this.#waiting.delete(this.#waiting.values().next().value!)
    this.#behind.soon()
  }

  /** Resolves when all that was added is written, or was refused. Nothing is to be added afterwards. */
  close(): Promise<void> {
    return this.#behind.close(() => this.#file.close())
  }

  async #write(isAgain: boolean): Promise<void> {
    const added = [...this.#waiting]
    if (added.length === 0 && !isAgain) return
    this.#waiting.clear()
    if (this.#file.isOpen) return this.#file.add(added.map(lineOf), { isSynced: false })
    const all = await this.#live()
    if (!this.#isOurs) return
    for (const record of all) this.#waiting.delete(record)
    await this.#file.begin(all.map(lineOf))
  }

  /** Operations that cannot be written are shown for as long as the service runs, and are written when the file begins anew. */
  #refused(error: unknown): void {
    this.#report({ kind: 'storage', message: `what operations came to is not kept: ${messageOf(error)}` })
  }
}

/** The line of an operation. While it runs, the line says what is known of the operation should the service break off before its end. */
function lineOf(record: OperationRecord): OperationRecord {
  if (record.status === 'ended') return record
  const { operation, device_id } = record
  const detail = `the service broke off while ${operation} of ${device_id} was under way: outcome unknown; look at ${device_id} first`
  return { ...record, status: 'ended', detail, reason: 'stopping', notice: null }
}
