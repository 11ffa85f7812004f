// The operations that run and that ran: there a client that went away finds how its own ended.

import { randomUUID } from 'node:crypto'
import type { OperationRecord } from './records.ts'

const kept = 1000
const keptSeconds = 24 * 3600

export class Ledger {
  readonly #records = new Map<string, OperationRecord>()
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
    this.#records.set(record.operation_id, record)
    this.#forget()
    return record
  }

  end(record: OperationRecord, outcome: Pick<OperationRecord, 'result' | 'detail'>): void {
    Object.assign(record, outcome, { status: 'ended', ended: this.#now() })
  }

  get(operation_id: string): OperationRecord | undefined {
    this.#forget()
    return this.#records.get(operation_id)
  }

  /** Oldest first; what still runs is never forgotten. */
  #forget(): void {
    const oldest = this.#now() - keptSeconds
    for (const [id, record] of this.#records) {
      if (record.status === 'running') continue
      if (this.#records.size <= kept && record.started >= oldest) return
      this.#records.delete(id)
    }
  }
}
