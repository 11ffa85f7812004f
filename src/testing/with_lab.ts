// Tests that start a NATS server and PostgreSQL.

import { type Test, test } from 'tap'
import { noPostgres } from './lab.ts'
import { noBroker } from './with_broker.ts'

/** A test that starts a lab: skipped where there is no `nats-server` or no `postgres`. */
export function withLab(name: string, body: (t: Test) => Promise<unknown>): void {
  test(name, { skip: noBroker || noPostgres }, body)
}
