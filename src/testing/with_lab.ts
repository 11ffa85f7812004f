// Tests that start a NATS server and PostgreSQL.

import { existsSync } from 'node:fs'
import { type Test, test } from 'tap'
import { noBroker } from './with_broker.ts'

const noPostgres = !existsSync('/usr/lib/postgresql') && 'there is no postgres'

/** A test that starts a lab: skipped where there is no `nats-server` or no `postgres`. */
export function withLab(name: string, body: (t: Test) => Promise<unknown>): void {
  test(name, { skip: noBroker || noPostgres }, body)
}
