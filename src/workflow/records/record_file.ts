// The records of executions in `records.jsonl`: written at most once a second, except accepted submissions and ended executions, which are
// written and synced at once.

import { dirname } from 'node:path'
import { messageOf } from '../../errors.ts'
import { recordPath } from '../../events/run_record_file.ts'
import type { Clock } from '../../kit/clock.ts'
import { namesIn } from '../../kit/files.ts'
import { removeFolder } from '../../kit/folder.ts'
import type { Report } from '../../kit/json_file.ts'
import { LineFile } from '../../kit/json_lines.ts'
import { WriteBehind } from '../../kit/write_behind.ts'
import { type Change, Records, Row } from './records.ts'

type RecordFileOptions = { folder: string; clock: Clock; report: Report }

const between_ms = 1000
/** Ids of runs are names of folders. */
const isRunId = /^[0-9a-f-]{36}$/
/** The excess of outdated lines over valid ones at which the file is rewritten. */
const mostDead = 10_000

export class RecordFile {
  readonly records: Records
  /** Whether the records of all runs were read. After damage some may be missing, also at later starts while the damaged file is kept. */
  readonly isWhole: boolean
  readonly #file: LineFile<Row>
  readonly #behind: WriteBehind
  /** The folder with the records of what runs did, one folder for each run. */
  readonly #runs: string
  /** The changes that are not on the disk yet, by their ids. */
  #unwritten = new Map<string, Change>()
  #isUrgent = false
  #lines: number

  static async open({ folder, clock, report }: RecordFileOptions): Promise<RecordFile> {
    const loss = 'records of runs may be missing or old; the events of those runs are still in the event log'
    let isDamaged = false
    const onDamage: Report = (problem) => {
      isDamaged = true
      report(problem)
    }
    const file = new LineFile({ path: `${folder}/records.jsonl`, schema: Row, report: onDamage, loss })
    const rows = await file.read()
    const names = await namesIn(folder)
    const isWhole = !isDamaged && names.includes('records.jsonl') && !names.some((name) => name.startsWith('records.jsonl.'))
    return new RecordFile(file, rows, { folder, clock, report, isWhole })
  }

  private constructor(
    file: LineFile<Row>,
    rows: readonly Row[],
    { folder, clock, report, isWhole }: RecordFileOptions & { isWhole: boolean },
  ) {
    this.isWhole = isWhole
    this.#runs = `${folder}/executions`
    this.#file = file
    const onFailure = (error: unknown) => report({ kind: 'storage', message: `records of executions are not kept: ${messageOf(error)}` })
    this.#behind = new WriteBehind({ clock, write: (isAgain) => this.#write(isAgain), onFailure })
    this.#lines = rows.length
    this.records = Records.of(rows, (change) => this.#onChange(change))
  }

  /** Resolves when all records are on the disk. Rejects with `storage`; the rest is written later. */
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
    // A row that changes again keeps its place, so that no row precedes that of its execution.
    this.#unwritten.set(keyOf(change), change)
    if (kind !== 'thread') this.written().catch(() => undefined)
    else this.#behind.soon(between_ms)
  }

  async #removeFolderOf(execution_id: string): Promise<void> {
    // A restored run is recorded anew under its old id.
    if (this.records.execution(execution_id) || !isRunId.test(execution_id)) return
    await removeFolder(dirname(recordPath(this.#runs, execution_id))).catch(() => undefined)
  }

  /** Drops the unwritten rows of a removed run, which may be recorded anew after the row of its removal. */
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
    // Before the row of the removal: after a kill in between, the run is still there to be removed again.
    for (const { kind, record } of changes) if (kind === 'removed') await this.#removeFolderOf(record.execution_id)
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
