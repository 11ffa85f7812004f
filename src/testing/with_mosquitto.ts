// Tests that start an MQTT broker.

import { spawnSync } from 'node:child_process'
import { type Test, test } from 'tap'
import { env } from './mosquitto.ts'

/** Says why a test with a broker cannot run here, or false. */
const noMosquitto =
  (spawnSync('mosquitto', ['-h'], { env }).error !== undefined || spawnSync('mosquitto_sub', ['--help']).error !== undefined) &&
  'there is no mosquitto with its clients'

/** A test that starts an MQTT broker: skipped where there is none. */
export function withMosquitto(name: string, body: (t: Test) => Promise<unknown>): void {
  test(name, { skip: noMosquitto }, body)
}
