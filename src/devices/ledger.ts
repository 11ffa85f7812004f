// The records of running and ended operations, in which a client that lost its connection finds the outcome.

import type { Author } from '../kit/author.ts'
import { steadySeconds } from '../kit/clock.ts'
import { flatId } from '../kit/flat_id.ts'
import type { OperationHistory } from './operation_history.ts'
import type { OperationRecord } from './records.ts'

const mostKept = 1000
/** The number of further operations after which old ones are forgotten together, since that visits all records. */
const atOnce = 100
const keptSeconds = 24 * 3600

type Ends = Record<'success' | 'failed', number>
type OperationCount = { device_id: string; operation: string; result: keyof Ends; times: number }

/** `begun` is the start by the steady clock; for an operation before this start of the service, by the clock of that time. */
type Kept = { record: OperationRecord; begun: number }

const results = ['success', 'failed'] as const

export class Ledger {
  /** Oldest first. An array, because a `Map` with steady insertions and deletions burdens the garbage collector. */
  #records: Kept[] = []
  /** Keyed by device and operation. */
  readonly #counts = new Map<string, Map<string, Ends>>()
  readonly #history: OperationHistory | undefined
  readonly #now: () => number
  readonly #steadyNow: () => number
  #recalling: Promise<void> | undefined
  /** The values of the newest operation of each device; they are too large to keep for all operations. */
  readonly #data = new Map<string, { operation_id: string; data: unknown }>()

  /**
   * Without `history` a restart forgets the records. `now` gives Unix seconds for people; `steadyNow` gives seconds that setting the clock does not
   * change, by which records are forgotten.
   */
  constructor({
    history,
    now = () => Date.now() / 1000,
    steadyNow = steadySeconds,
  }: {
    history?: OperationHistory
    now?: () => number
    steadyNow?: () => number
  } = {}) {
    this.#history = history
    this.#now = now
    this.#steadyNow = steadyNow
  }

  /** Records that an operation begins. */
  begin(
    device_id: string,
    operation: string,
    params: Record<string, unknown>,
    { execution_id = null, by = null, operator }: Partial<Author & { execution_id: string | null }> = {},
  ): OperationRecord {
    const record: OperationRecord = {
      operation_id: flatId(),
      device_id,
      operation,
      params,
      status: 'running',
      result: null,
      detail: null,
      reason: null,
      ended_early: false,
      notice: null,
      started: this.#now(),
      ended: null,
      execution_id,
      by,
      ...(operator !== undefined && { operator }),
    }
    this.#records.push({ record, begun: this.#steadyNow() })
    if (this.#records.length >= mostKept + atOnce) this.#forget()
    this.#history?.add(record, () => this.all())
    return record
  }

  /** Records that an operation has ended. `data` are the values that it gave. */
  end(
    record: OperationRecord,
    outcome: Pick<OperationRecord, 'result' | 'detail' | 'reason'> & Partial<OperationRecord>,
    data?: unknown,
  ): void {
    Object.assign(record, outcome)
    record.status = 'ended'
    record.ended = this.#now()
    const { device_id, operation_id } = record
    if (data === undefined) this.#data.delete(device_id)
    else this.#data.set(device_id, { operation_id, data })
    this.#count(record)
    this.#history?.add(record, () => this.all())
  }

  /** Returns the values of an operation; undefined if it gave none, or the device has done another operation since. */
  dataOf({ device_id, operation_id }: OperationRecord): unknown {
    const newest = this.#data.get(device_id)
    return newest?.operation_id === operation_id ? newest.data : undefined
  }

  /** Counts the outcomes of each operation since the service began. */
  get counts(): OperationCount[] {
    return [...this.#counts].flatMap(([device_id, operations]) =>
      [...operations].flatMap(([operation, ends]) =>
        results.flatMap((result) => (ends[result] > 0 ? [{ device_id, operation, result, times: ends[result] }] : [])),
      ),
    )
  }

  /** Finds an operation since this start, or one that was already read from the history. */
  get(operation_id: string): OperationRecord | undefined {
    this.#forget()
    return this.#records.find(({ record }) => record.operation_id === operation_id)?.record
  }

  /** Finds an operation, also one that began before this start. */
  async find(operation_id: string): Promise<OperationRecord | undefined> {
    await this.#recall()
    return this.get(operation_id)
  }

  /** Returns the operation that ended last on a device, also before this start. */
  async lastOf(device_id: string): Promise<OperationRecord | null> {
    return (await this.all()).findLast((record) => record.device_id === device_id && record.status === 'ended') ?? null
  }

  /** Resolves when the disk has stored or refused all records. */
  async close(): Promise<void> {
    await this.#history?.close()
  }

  /** Returns the operations that are kept, the oldest first. */
  async all(): Promise<OperationRecord[]> {
    await this.#recall()
    this.#forget()
    return this.#records.map(({ record }) => record)
  }

  /** Reads the history once, at the first request for an older operation. */
  async #recall(): Promise<void> {
    if (!this.#history) return
    this.#recalling ??= this.#history.before().then((before) => {
      this.#records = [...before.map((record) => ({ record, begun: record.started })), ...this.#records]
    })
    await this.#recalling
  }

  #count({ device_id, operation, result }: OperationRecord): void {
    const operations = this.#counts.get(device_id) ?? new Map<string, Ends>()
    const ends = operations.get(operation) ?? { success: 0, failed: 0 }
    ends[result?.success ? 'success' : 'failed']++
    operations.set(operation, ends)
    this.#counts.set(device_id, operations)
  }

  /** Keeps the newest operations of the last day, and the running ones. */
  #forget(): void {
    const oldest = this.#steadyNow() - keptSeconds
    const newest = this.#records.length - mostKept
    this.#records = this.#records.filter(({ record, begun }, i) => record.status === 'running' || (i >= newest && begun >= oldest))
  }
}
