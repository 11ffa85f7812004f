// The records of executions in `records.jsonl`: written at most once a second, but for what was accepted and what has ended, which is
// written and synced at once.

import { messageOf } from '../../errors.ts'
import type { Clock } from '../../kit/clock.ts'
import type { Report } from '../../kit/json_file.ts'
import { LineFile } from '../../kit/json_lines.ts'
import { WriteBehind } from '../../kit/write_behind.ts'
import { type Change, Records, Row } from './records.ts'

type Options = { folder: string; clock: Clock; report: Report }

const between_ms = 1000
/** Lines that no longer count, beyond as many as do: then the file begins anew. */
const mostDead = 10_000

export class RecordFile {
  readonly records: Records
  readonly #file: LineFile<Row>
  readonly #behind: WriteBehind
  /** Not on the card yet; by the id of each. */
  #unwritten = new Map<string, Change>()
  #isUrgent = false
  #lines: number

  static async open({ folder, clock, report }: Options): Promise<RecordFile> {
    const loss = 'records of runs may be missing or old; the events of those runs are still in the event log'
    const file = new LineFile({ path: `${folder}/records.jsonl`, schema: Row, report, loss })
    return new RecordFile(file, await file.read(), { clock, report })
  }

  private constructor(file: LineFile<Row>, rows: readonly Row[], { clock, report }: Omit<Options, 'folder'>) {
    this.#file = file
    const onFailure = (error: unknown) => report({ kind: 'storage', message: `records of executions are not kept: ${messageOf(error)}` })
    this.#behind = new WriteBehind({ clock, write: (isAgain) => this.#write(isAgain), onFailure })
    this.#lines = rows.length
    this.records = Records.of(rows, (change) => this.#onChange(change))
  }

  /** Resolves when all that is known is on the card. Rejects with `storage` when that cannot be; what is missing is written later. */
  written(): Promise<void> {
    this.#isUrgent = true
    return this.#behind.now()
  }

  close(): Promise<void> {
    this.#isUrgent = true
    return this.#behind.close(() => this.#file.close())
  }

  #onChange(change: Change): void {
    const { kind, record } = change
    if (kind === 'removed') this.#passOver(record.execution_id)
    // A row that changes again before it is written keeps its place: no row comes before that of its execution.
    this.#unwritten.set(keyOf(change), change)
    if (kind !== 'thread') this.written().catch(() => undefined)
    else this.#behind.soon(between_ms)
  }

  /** A run that is removed may be recorded anew, behind the row that removes it. */
  #passOver(execution_id: string): void {
    for (const [key, { record }] of this.#unwritten)
      if ('execution_id' in record && record.execution_id === execution_id) this.#unwritten.delete(key)
  }

  /** After a failure the file begins anew with all there is. */
  async #write(isAgain: boolean): Promise<void> {
    const changes = [...this.#unwritten.values()]
    const isSynced = this.#isUrgent
    this.#unwritten = new Map()
    this.#isUrgent = false
    if (changes.length === 0 && !isAgain) return
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
