// The operations that run and that ran: there a client that went away finds how its own ended.

import { randomUUID } from 'node:crypto'
import type { OperationRecord } from './records.ts'

const kept = 1000
const keptSeconds = 24 * 3600

export class Ledger {
  /** Oldest first. Not a `Map`: one that forgets as it learns keeps the collector of garbage busy. */
  #records: OperationRecord[] = []
  readonly #now: () => number

  /** `now` tells Unix seconds. */
  constructor(now: () => number = () => Date.now() / 1000) {
    this.#now = now
  }

  /** Writes down that an operation begins. */
  begin(device_id: string, operation: string, params: Record<string, unknown>): OperationRecord {
    const record: OperationRecord = {
      operation_id: randomUUID(),
      device_id,
      operation,
      params,
      status: 'running',
      result: null,
      detail: null,
      started: this.#now(),
      ended: null,
    }
    this.#records.push(record)
    if (this.#records.length >= 2 * kept) this.#forget()
    return record
  }

  end(record: OperationRecord, outcome: Pick<OperationRecord, 'result' | 'detail'>): void {
    Object.assign(record, outcome, { status: 'ended', ended: this.#now() })
  }

  get(operation_id: string): OperationRecord | undefined {
    this.#forget()
    return this.#records.find((record) => record.operation_id === operation_id)
  }

  /** Keeps the newest of the last day, and what still runs. */
  #forget(): void {
    const oldest = this.#now() - keptSeconds
    const newest = this.#records.length - kept
    this.#records = this.#records.filter(({ status, started }, i) => status === 'running' || (i >= newest && started >= oldest))
  }
}
