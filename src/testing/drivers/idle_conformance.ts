// With every driver, the service can use the instrument again after it has stood idle, as if no time had gone by. In virtual time.

import type { Test } from 'tap'
import type { AnyDriver } from '../../../drivers/driver.ts'
import { oneDevice } from '../devices.ts'
import { before, type Name, paramsOf } from './conformance.ts'

/** The watchdog of no instrument waits longer; the service looks at the instrument all the while. */
const idle_ms = 180_000
const names: Name[] = ['set_temperature', 'shake', 'seal', 'peel', 'centrifuge']

export async function conformanceOfIdling(t: Test, driver: AnyDriver, settings: object): Promise<void> {
  await t.test('what it has done once it does again after minutes in which nothing ran', async (t) => {
    const { clock, instrument, link, profile, perform, start } = await oneDevice(t, driver, { settings })
    await start()
    await perform('initialize', {})
    for (const name of names.filter((name) => instrument.knows(name))) {
      for (const time of ['first', 'second']) {
        for (const first of before[name] ?? []) if (instrument.knows(first)) await perform(first, {})
        const { success } = await perform(name, paramsOf(name, profile))
        t.ok(success, `${name}, the ${time} time`)
        await clock.advance(idle_ms)
        t.match(instrument.info(), { state: 'ready', fault: null }, `${name}: it stays ready`)
      }
    }
    link.simulator.powerOff()
  })
}
