// Checks for every driver, in virtual time, that the instrument works as usual after it was idle, and that the service notices an instrument that
// restarted while it was hot.

import { type AnyDriver, isOnPins } from '../../drivers/driver.ts'
import type { Test } from './assertions.ts'
import { oneDevice } from './one_device.ts'
import { tampered } from './tampered.ts'
import { goesOn, namesOn, paramsOf, preparing } from './trials.ts'

/** No watchdog of an instrument waits longer. The service checks the instrument meanwhile. */
const idle_ms = 180_000
/** An instrument that reports only its temperature may be too cold for ten minutes before that counts as a fault. */
const cold_ms = 15 * 60_000

export async function conformanceOfIdling(t: Test, driver: AnyDriver, settings: object): Promise<void> {
  await t.test('what it has done once it does again after minutes in which nothing ran', async (t) => {
    const { clock, instrument, device, link, profile, perform, start } = await oneDevice(t, driver, { settings })
    await start()
    await perform('initialize', {})
    for (const name of namesOn(device).filter((name) => goesOn(name, profile))) {
      for (const time of ['first', 'second']) {
        for (const first of preparing(name, (one) => instrument.abilities.knows(one))) await perform(first, paramsOf(first, profile))
        const { success } = await perform(name, paramsOf(name, profile))
        t.ok(success, `${name}, the ${time} time`)
        await clock.advance(idle_ms)
        t.match(instrument.info(), { state: 'ready', fault: null }, `${name}: it stays ready`)
      }
    }
    link.simulator.powerOff()
  })
}

/** Checks that a restart is noticed, if the instrument reports its temperature or its heater. */
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
