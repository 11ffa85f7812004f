// With every driver, the service can use the instrument again after it has stood idle, as if no time had gone by; and it notices one
// that restarted while it was hot. In virtual time.

import type { Test } from 'tap'
import { type AnyDriver, isOnPins } from '../../../drivers/driver.ts'
import { oneDevice } from '../devices.ts'
import { before, type Name, paramsOf } from './conformance.ts'
import { tampered } from './tampered.ts'

/** The watchdog of no instrument waits longer; the service looks at the instrument all the while. */
const idle_ms = 180_000
/** An instrument that tells its temperature alone may be ten minutes too cold before that counts; meanwhile it is a little warm. */
const cold_ms = 15 * 60_000
const names: Name[] = ['set_temperature', 'shake', 'seal', 'peel', 'centrifuge']

export async function conformanceOfIdling(t: Test, driver: AnyDriver, settings: object): Promise<void> {
  await t.test('what it has done once it does again after minutes in which nothing ran', async (t) => {
    const { clock, instrument, link, profile, perform, start } = await oneDevice(t, driver, { settings })
    await start()
    await perform('initialize', {})
    for (const name of names.filter((name) => instrument.abilities.knows(name))) {
      for (const time of ['first', 'second']) {
        for (const first of before[name] ?? []) if (instrument.abilities.knows(first)) await perform(first, {})
        const { success } = await perform(name, paramsOf(name, profile))
        t.ok(success, `${name}, the ${time} time`)
        await clock.advance(idle_ms)
        t.match(instrument.info(), { state: 'ready', fault: null }, `${name}: it stays ready`)
      }
    }
    link.simulator.powerOff()
  })
}

/** A restart of an instrument that tells neither its temperature nor whether it heats cannot be noticed. */
export async function conformanceOfRestarts(t: Test, driver: AnyDriver, settings: object): Promise<void> {
  if (isOnPins(driver)) return
  await t.test('an instrument that restarts while it is hot and nothing runs has a fault', async (t) => {
    const { driver: same, hand } = tampered(driver)
    const { clock, instrument, link, leftOn, profile, perform, start } = await oneDevice(t, same, { settings })
    if (!instrument.abilities.knows('get_temperature')) return
    await start()
    await perform('initialize', {})
    await perform('set_temperature', paramsOf('set_temperature', profile))
    await clock.advance(idle_ms)
    t.equal(instrument.state, 'ready')
    hand.restart()
    await clock.advance(cold_ms)
    t.match(instrument.info(), { state: 'faulted', fault: { error: /initialize/ } })
    t.same(leftOn(), [])
    link.simulator.powerOff()
  })
}
