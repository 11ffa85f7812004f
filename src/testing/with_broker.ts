// Tests that start a NATS server.

import { spawnSync } from 'node:child_process'
import { type Test, test } from 'tap'

/** Says why a test with a broker cannot run here, or false. */
export const noBroker = spawnSync('nats-server', ['--version']).status !== 0 && 'there is no nats-server'

/** A test that starts a broker: skipped where there is no `nats-server`. */
export function withBroker(name: string, body: (t: Test) => Promise<unknown>): void {
  test(name, { skip: noBroker }, body)
}
