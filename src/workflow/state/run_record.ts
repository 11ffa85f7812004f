// The record of a run for its readers: rows of its actions, moves and values, written in the transactions of its state.

import { createHash } from 'node:crypto'
import type { RecordRow, RunRecordFile } from '../../events/run_record_file.ts'
import type { RunState } from './entry.ts'
import type { RecordState } from './run.ts'

/** The longest JSON of a value in its row, in bytes; a longer value lies beside the record, under its hash. */
export const longestInline = 4096
/** The limits of a run: its values, the bytes of its long values, and the bytes of its rows. Beyond that, a row says that values or readings are left out. */
const mostValues = 200_000
const mostLongBytes = 256 * 1024 * 1024
const mostBytes = 256 * 1024 * 1024

/** Members of a value besides the value itself. */
type ValueRow = Readonly<Record<string, unknown>> & { readonly name: string }
/** A value as a row and an event have it: with `value`, or with the hash of a long one. */
export type KeptValue = { value: unknown } | { sha256: string; bytes: number }

const none: RecordState = { bytes: 0, actions: 0, moves: 0, values: 0, long_bytes: 0 }

export class RunRecord {
  readonly #state: RunState
  #file: RunRecordFile | undefined
  #counts = { ...none }
  /** The kinds of rows that were left out since this start: long values, other values, readings, decisions. */
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

  /** The rows on the disk: the path, and the length up to which a reader may read. Undefined for a run without a record. */
  get readable(): { path: string; length: number } | undefined {
    return this.#file && { path: this.#file.path, length: this.#file.written }
  }

  /** Whether rows wait for the next transaction. */
  get hasWaiting(): boolean {
    return this.#file !== undefined && this.#file.written < this.#file.length
  }

  /** Adds a row, which is written with the next transaction. */
  add(row: RecordRow): void {
    if (!this.#file) return
    this.#state.mark('record')
    if (row.kind === 'action') this.#counts.actions++
    if (row.kind === 'move') this.#counts.moves++
    this.#file.add(row)
    this.#state.writeSoon()
  }

  /** Adds a row of which a run may have any number, unless the record is too long already. */
  addWithin(row: RecordRow & { readonly at: number }): void {
    if ((this.#file?.length ?? 0) <= mostBytes) this.add(row)
    else this.#leaveOut(row.kind, { kind: row.kind === 'readings' ? 'readings_left_out' : 'decisions_left_out', at: row.at })
  }

  #leaveOut(what: string, row: RecordRow): void {
    if (!this.#leftOut.has(what)) this.add(row)
    this.#leftOut.add(what)
  }

  /** Adds a value. Returns it as the row has it; undefined if the run has too many values already. */
  addValue(row: ValueRow, value: unknown): KeptValue | undefined {
    const json = JSON.stringify(value) ?? 'null'
    const bytes = Buffer.byteLength(json)
    // A copy, because an event freezes it.
    const sha256 = bytes <= longestInline ? undefined : createHash('sha256').update(json).digest('hex')
    const kept: KeptValue = sha256 === undefined ? { value: JSON.parse(json) } : { sha256, bytes }
    const counts = this.#counts
    const isLong = sha256 !== undefined
    const isTooMuch =
      counts.values >= mostValues || (this.#file?.length ?? 0) > mostBytes || (isLong && counts.long_bytes + bytes > mostLongBytes)
    if (isTooMuch) {
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
