// All that every driver must keep: of the catalogue, and of a lab's own.

import * as v from 'valibot'
import { type AnyDriver, isOnPins } from '../../drivers/driver.ts'
import { reports } from '../../drivers/reported.ts'
import type { Test } from './assertions.ts'
import { conformance, conformanceInVirtualTime } from './conformance.ts'
import { conformanceOfHalts } from './halt_conformance.ts'
import { conformanceOfHeat } from './heat_conformance.ts'
import { conformanceOfIdling, conformanceOfRestarts } from './idle_conformance.ts'
import { calm, onPins, onSimulator } from './on_simulator.ts'
import { conformanceOfStops } from './stop_conformance.ts'
import { saysWhatToDo } from './subject.ts'
import { type Timed, virtualSubject } from './virtual_subject.ts'
import { conformanceOnTheWire } from './wire_conformance.ts'

/** No instrument has an error of this number. */
const strange = 99_999
const seal = { temperature: 150, duration: 3 }

/** Returns the settings with which a driver is tried. */
export function settingsOf({ trial }: AnyDriver): readonly object[] {
  return [{}, ...(trial?.variants ?? [])]
}

/** Tests the duties that need no real line, with these settings. */
export async function keepsPromises(t: Test, driver: AnyDriver, settings: object): Promise<void> {
  const make = () => virtualSubject(driver, settings)
  await conformance(t, make)
  await conformanceInVirtualTime(t, make)
  await conformanceOnTheWire(t, make)
  await conformanceOfStops(t, make)
  await conformanceOfHalts(t, driver, settings)
  await conformanceOfHeat(t, driver, settings)
  await conformanceOfIdling(t, driver, settings)
  await conformanceOfRestarts(t, driver, settings)
  await leavesNoTimer(t, make)
}

/** Tests that each error that the instrument numbers is told in words, with what to do. */
export function tellsErrors(t: Test, driver: AnyDriver, name: string): void {
  for (const settings of settingsOf(driver)) {
    const table = driver.errors?.(v.parse(driver.settings, settings))
    if (!table) continue
    for (const code of [...Object.keys(table.codes).map(Number), strange]) saysWhatToDo(t, reports(table, [code]), `${name} ${code}`)
    for (const [words, action] of Object.values(table.codes)) t.match([words, action], [/\w{2}/, /^[A-Z].*[^.]$/])
    t.match(reports(table, [strange]).message, new RegExp(`not known to benchd.*Look .*${strange} up in ${table.manual}`))
  }
}

/** Tests that the device takes as long to initialize and to heat as its driver declares. */
export async function takesAsDeclared(t: Test, driver: AnyDriver): Promise<void> {
  const { device, clock, run } = isOnPins(driver) ? await onPins(driver) : await onSimulator(driver)
  const timed = async (operation: Promise<unknown>) => {
    const began = clock.now()
    await run(operation)
    return (clock.now() - began) / 1000
  }
  const agree = (declared: number, seen: number, what: string) =>
    t.ok(Math.abs(declared - seen) <= Math.max(0.5, seen / 10), `${what}: ${declared} s are declared, and it takes ${seen} s`)
  const { initialize_s, heating_s } = driver.typical
  agree(initialize_s, await timed(device.initialize({}, calm)), 'initialize')
  t.equal(heating_s !== undefined, device.seal !== undefined && device.get_temperature !== undefined)
  if (heating_s === undefined) return
  const { temperature } = await run(device.get_temperature!())
  const cold = await timed(device.seal!(seal, calm))
  const warm = await timed(device.seal!(seal, calm))
  agree(heating_s * (seal.temperature - temperature), cold - warm, 'heating')
}

async function leavesNoTimer(t: Test, make: () => Promise<Timed>): Promise<void> {
  for (const moment of [0, 1000, 120_000]) {
    await t.test(`switched off ${moment / 1000} s after it began to initialize, it leaves no timer`, async (t) => {
      const { device, simulator, pass, timers } = await make()
      const initializing = device.initialize({}, new AbortController().signal).catch(() => {})
      await pass(moment)
      simulator.powerOff()
      await pass(300_000)
      await initializing
      t.equal(timers(), 0)
    })
  }
}
