// The records of executions in `records.jsonl`: written at most once a second, except accepted submissions and ended executions, which are
// written and synced at once.

import { messageOf } from '../../errors.ts'
import type { Clock } from '../../kit/clock.ts'
import type { Report } from '../../kit/json_file.ts'
import { LineFile } from '../../kit/json_lines.ts'
import { SerialQueue } from '../../kit/serial_queue.ts'
import { type Change, Records, Row } from './records.ts'

type RecordFileOptions = { folder: string; clock: Clock; report: Report }

const between_ms = 1000
const mostWaiting = 1000
/** The excess of outdated lines over valid ones at which the file is rewritten. */
const mostDead = 10_000

export class RecordFile {
  readonly records: Records
  readonly #file: LineFile<Row>
  readonly #clock: Clock
  readonly #report: Report
  readonly #queue = new SerialQueue(mostWaiting)
  /** The changes that are not on the disk yet, by their ids. */
  #unwritten = new Map<string, Change>()
  #isUrgent = false
  #lines: number
  #cancel: (() => void) | undefined
  #next: Promise<void> | undefined
  #isReported = false

  static async open({ folder, clock, report }: RecordFileOptions): Promise<RecordFile> {
    const loss = 'records of runs may be missing or old; the events of those runs are still in the event log'
    const file = new LineFile({ path: `${folder}/records.jsonl`, schema: Row, report, loss })
    return new RecordFile(file, await file.read(), { clock, report })
  }

  private constructor(file: LineFile<Row>, rows: readonly Row[], { clock, report }: Omit<RecordFileOptions, 'folder'>) {
    this.#file = file
    this.#clock = clock
    this.#report = report
    this.#lines = rows.length
    this.records = Records.of(rows, (change) => this.#onChange(change))
  }

  /** Resolves when all records are on the disk. Rejects with `storage`; the rest is written later. */
  written(): Promise<void> {
    this.#isUrgent = true
    return this.#write()
  }

  async close(): Promise<void> {
    await this.written().catch(() => undefined)
    this.#cancel?.()
    await this.#queue.run(() => this.#file.close())
  }

  #onChange(change: Change): void {
    const { kind, record } = change
    if (kind === 'removed') this.#passOver(record.execution_id)
    // A row that changes again keeps its place, so that no row precedes that of its execution.
    this.#unwritten.set(keyOf(change), change)
    if (kind !== 'thread') this.written().catch(() => undefined)
    else this.#cancel ??= this.#clock.after(between_ms, () => void this.#write().catch(() => undefined))
  }

  /** Drops the unwritten rows of a removed run, which may be recorded anew after the row of its removal. */
  #passOver(execution_id: string): void {
    for (const [key, { record }] of this.#unwritten)
      if ('execution_id' in record && record.execution_id === execution_id) this.#unwritten.delete(key)
  }

  /** Writes all changes so far in one write. */
  #write(): Promise<void> {
    this.#next ??= this.#queue.run(() => this.#writeNow())
    return this.#next
  }

  async #writeNow(): Promise<void> {
    this.#next = undefined
    this.#cancel?.()
    this.#cancel = undefined
    const changes = [...this.#unwritten.values()]
    const isSynced = this.#isUrgent
    this.#unwritten = new Map()
    this.#isUrgent = false
    if (changes.length === 0 && !this.#isReported) return
    try {
      await this.#put(changes, isSynced)
      this.#isReported = false
    } catch (error) {
      // The file is rewritten with all records when the disk allows it.
      this.#cancel ??= this.#clock.after(between_ms, () => void this.#write().catch(() => undefined))
      if (!this.#isReported) this.#report({ kind: 'storage', message: `records of executions are not kept: ${messageOf(error)}` })
      this.#isReported = true
      throw error
    }
  }

  async #put(changes: readonly Change[], isSynced: boolean): Promise<void> {
    if (this.#file.isOpen && this.#lines <= mostDead + 2 * this.records.size) {
      await this.#file.add(changes.map(rowOf), { isSynced })
      this.#lines += changes.length
    } else {
      const all = this.records.all()
      await this.#file.begin(all.map(rowOf))
      this.#lines = all.length
    }
  }
}

function keyOf({ kind, record }: Change): string {
  if (kind === 'thread') return record.thread_id
  if (kind === 'submission') return record.submission_id
  if (kind === 'withdrawn') return `withdrawn ${record.submission_id}`
  return `${kind} ${record.execution_id}`
}

function rowOf({ kind, record }: Change): Row {
  return { kind, ...record } as Row
}
