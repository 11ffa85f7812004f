// A driver on its simulator in virtual time, as the conformance tests take one.

import * as v from 'valibot'
import { type AnyDriver, isOnPins, type LineDriver } from '../../drivers/driver.ts'
import { onPins, onSimulator } from './on_simulator.ts'
import { tampered } from './tampered.ts'
import type { VirtualSubject } from './wire_conformance.ts'

/** `timers` is the number of timers that have not fired. */
export type Timed = VirtualSubject & { timers(): number }

/** Makes a driver on its simulator, in virtual time. */
export async function virtualSubject(driver: AnyDriver, settings: object = {}): Promise<Timed> {
  const { hand, ...bench } = isOnPins(driver)
    ? { ...(await onPins(driver, settings)), hand: undefined }
    : await onTampered(driver, settings)
  const { device, clock, written, run } = bench
  const link = 'line' in bench ? bench.line : bench.board
  const profile = { ...driver.profile(v.parse(driver.settings, settings)), own: device.described?.operations }
  return {
    device,
    profile,
    simulator: link.simulator,
    hangsOn: 'line' in bench ? 'line' : 'board',
    link,
    written,
    ...('line' in bench && { write: (bytes: Uint8Array) => bench.line.write(bytes) }),
    ...(hand && { hand }),
    showsRestart: driver.trial?.shows_restart ?? true,
    onWire: (watch) => link.onWire(watch),
    setFault: (fault) => link.setFault(fault),
    clearFaults: () => link.clearFaults(),
    run,
    pass: (ms) => clock.advance(ms),
    now: () => clock.now(),
    timers: () => clock.timers,
  }
}

async function onTampered(driver: LineDriver, settings: object) {
  const { driver: same, hand } = tampered(driver)
  return { ...(await onSimulator(same, settings)), hand }
}
