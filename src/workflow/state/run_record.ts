// The record of a run for its readers: rows of its actions, moves and values, written in the transactions of its state.

import { createHash } from 'node:crypto'
import { LabError } from '../../errors.ts'
import type { RecordRow, RunRecordFile } from '../../events/run_record_file.ts'
import type { Attachments } from './attachments.ts'
import type { RunState } from './entry.ts'
import type { KnownVersions, RecordState } from './run.ts'

/** The longest JSON of a value in its row, in bytes; a longer value lies beside the record, under its hash. */
export const longestInline = 4096
const mib = 1024 * 1024
/** The limits of a run: its values, the bytes of its long values, and the bytes of its rows. Beyond that, a row says that values are left out. */
const mostValues = 200_000
const mostLongBytes = 256 * mib
const mostBytes = 256 * mib
/** The bytes of the file beyond which rows of all kinds are left out, except `lasting` ones. */
export const mostFileBytes = mostBytes + 64 * mib
/** The bytes that may wait for a disk that refuses them. */
export const mostHeld = 16 * mib
/** Rows of which a run may have any number: they leave room for the others. */
const many: ReadonlySet<string> = new Set(['value', 'readings'])
/** Rows that are kept in any case; they are few. */
const lasting: ReadonlySet<string> = new Set(['submission', 'file', 'note', 'rows_left_out', 'values_left_out', 'ended'])

/** Members of a value besides the value itself. */
type ValueRow = Readonly<Record<string, unknown>> & { readonly name: string }
/** A value as a row and an event have it: with `value`, or with the hash of a long one. */
export type KeptValue = { value: unknown } | { sha256: string; bytes: number }

const none: RecordState = { bytes: 0, actions: 0, moves: 0, values: 0, long_bytes: 0 }

/** A file: `row` makes the members besides the content when the file is there; `isOver` says whether the run has ended by then. */
type Attached = { bytes: number; row(): object; isOver(): boolean }

export class RunRecord {
  readonly #state: RunState
  /** Without these, no file is kept. */
  attachments: Attachments | undefined
  /** The versions of the workflow and the topology that the run ran. */
  versions: KnownVersions = {}
  #file: RunRecordFile | undefined
  #counts: RecordState = { ...none }
  /** The kinds of rows that are being left out; of values also `long` and `short`, if the run has too many. */
  readonly #leftOut = new Set<string>()

  constructor(state: RunState) {
    this.#state = state
  }

  /** Writes rows into the file from now on; `before` are the counts of a restored run. */
  writeTo(file: RunRecordFile, before: RecordState = none): void {
    this.#file = file
    this.#counts = { ...before }
    this.#state.record = file
    this.#state.put('record', () => ({ ...this.#counts, bytes: file.length }) satisfies RecordState)
  }

  /** Whether the run has a record. PURE_SIM runs have none. */
  get isKept(): boolean {
    return this.#file !== undefined
  }

  /**
   * The rows on the disk: the path, and the length up to which a reader may read. Others add rows once the state of the run is removed; then all of the file may
   * be read. Undefined for a run without a record.
   */
  get readable(): { path: string; length?: number } | undefined {
    if (!this.#file) return undefined
    const { path, written: length } = this.#file
    return this.#state.isWritten ? { path, length } : { path }
  }

  /** The number of forecasts in the record. */
  get forecasts(): number {
    return this.#counts.forecasts ?? 0
  }

  /** Whether rows wait for the next transaction. */
  get hasWaiting(): boolean {
    return this.#file !== undefined && this.#file.written < this.#file.length
  }

  /** Adds a row, which is written with the next transaction. Leaves it out if the file is too long, or too much waits for the disk; one row says so. */
  add(row: RecordRow): void {
    if (!this.#file) return
    const why = whyLeftOut(this.#file, row)
    if (why === undefined) {
      this.#leftOut.delete(row.kind)
      this.#write(this.#file, row)
    } else this.#leaveOut(row.kind, { kind: 'rows_left_out', at: row.at ?? row.ended ?? null, of: row.kind, why })
  }

  /** Says once that rows are left out from here on. */
  #leaveOut(what: string, row: RecordRow): void {
    if (!this.#leftOut.has(what) && this.#file) this.#write(this.#file, row)
    this.#leftOut.add(what)
  }

  #write(file: RunRecordFile, row: RecordRow): void {
    this.#state.mark('record')
    if (row.kind === 'action') this.#counts.actions++
    if (row.kind === 'move') this.#counts.moves++
    if (row.kind === 'forecast') this.#counts.forecasts = this.forecasts + 1
    file.add(row)
    this.#state.writeSoon()
  }

  /** Lists the rows of a kind that are not on the disk for certain. */
  waiting(kind: string): RecordRow[] {
    return this.#file?.waiting(kind) ?? []
  }

  /** Keeps a file, and adds its row. Rejects as `RunFiles.take` and `addRow`, and keeps nothing then; does nothing for a run without a record. */
  async attach(pieces: AsyncIterable<Uint8Array>, { bytes, row, isOver }: Attached): Promise<void> {
    if (!this.#file || !this.attachments) return
    const { execution_id } = this.#file
    const { files, addRow } = this.attachments
    const { sha256, bytes: length, isNew } = await files.take(execution_id, pieces, { bytes, waits: true })
    const whole: RecordRow = { kind: 'file', ...row(), bytes: length, sha256 }
    if (!isOver()) return this.add(whole)
    try {
      if (await addRow(execution_id, whole)) return
      throw new LabError('conflict', `the record of execution ${execution_id} is gone; the execution was deleted`)
    } catch (error) {
      if (isNew) await files.remove(execution_id, sha256)
      throw error
    }
  }

  /** Adds a value. Returns it as the row has it; undefined if the run has too many values already. */
  addValue(row: ValueRow, value: unknown): KeptValue | undefined {
    const json = JSON.stringify(value) ?? 'null'
    const bytes = Buffer.byteLength(json)
    // A copy, because an event freezes it.
    const sha256 = bytes <= longestInline ? undefined : createHash('sha256').update(json).digest('hex')
    const kept: KeptValue = sha256 === undefined ? { value: JSON.parse(json) } : { sha256, bytes }
    if (this.#file && whyLeftOut(this.#file, { kind: 'value' })) {
      this.add({ kind: 'value', ...row })
      return undefined
    }
    const counts = this.#counts
    const isLong = sha256 !== undefined
    if (counts.values >= mostValues || (isLong && counts.long_bytes + bytes > mostLongBytes)) {
      // A single row reports the left-out values: one for long values, one for the others.
      this.#leaveOut(isLong ? 'long' : 'short', { kind: 'values_left_out', ...row })
      return undefined
    }
    this.add({ kind: 'value', ...row, ...kept })
    counts.values++
    if (isLong) {
      counts.long_bytes += bytes
      this.#file?.addValue(sha256, json)
    }
    return kept
  }
}

/** Returns why a row is left out: the file is too long, or the disk refuses so much that memory would fill. */
function whyLeftOut({ length, held }: RunRecordFile, { kind, decision }: RecordRow): 'size' | 'disk' | undefined {
  if (lasting.has(kind)) return undefined
  // Programs emit events, and as many as they like.
  const bound = decision === 'emit' ? mostBytes / 4 : many.has(kind) ? mostBytes : mostFileBytes
  if (length > bound) return 'size'
  return held > mostHeld ? 'disk' : undefined
}
