// The module `benchd/driver-test`, with which labs test drivers of their own. `benchd drivers test` runs these tests before the conformance suite.

export { VirtualClock } from '../kit/clock.ts'

import type { Device } from '../devices/device.ts'
import type { OwnTest } from './runner.ts'
import { operate } from './subject.ts'

export { calm, onSimulator } from './on_simulator.ts'
export type { OwnTest as Test } from './runner.ts'
export { type Hand, tampered } from './tampered.ts'

type Declared = { name: string; work: (t: OwnTest) => unknown }

const declared: Declared[] = []

/** Performs an operation of the table, or one of the driver's own. Resolves with its values. */
export async function perform(device: Device, name: string, params: object = {}, signal?: AbortSignal): Promise<unknown> {
  const ended = await operate(device, name, params, signal)
  return device.described?.operations.has(name) ? (ended as { data?: unknown }).data : ended
}

/** Declares a test, which is run when the files of all tests are loaded. */
export function test(name: string, work: (t: OwnTest) => unknown): void {
  declared.push({ name, work })
}

/** Returns the tests that were declared since the last call. */
export function declaredTests(): readonly Declared[] {
  return declared.splice(0)
}
