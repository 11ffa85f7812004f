// Checks for every driver that heats, in virtual time, that the heater can be switched off without a stop, so that no fault is latched; and for every driver
// with a climate that nothing but a new set point changes it.

import { type AnyDriver, isOnPins } from '../../drivers/driver.ts'
import type { Test } from './assertions.ts'
import { oneDevice } from './one_device.ts'
import { tampered } from './tampered.ts'
import { paramsOf } from './trials.ts'

/** Within this time every driver notices that its heater is off, if it takes that for a fault. */
const idle_ms = 15 * 60_000
const warm_ms = 20_000
/** Within this time the service checks twice, and the slowest instrument answers. */
const heard_ms = 20_000

/** The heaters that a device may have: the operation that sets one, its parameter, and its reading. */
const heaters = [
  { set: 'set_temperature', param: 'temperature', reading: 'get_temperature' },
  { set: 'set_lid_temperature', param: 'lid_temperature', reading: 'get_lid_temperature' },
] as const

export async function conformanceOfHeat(t: Test, driver: AnyDriver, settings: object): Promise<void> {
  for (const heater of heaters) await t.test(heater.set, (t) => conformanceOfHeater(t, heater, driver, settings))
  await t.test('a device with two heaters may be on until both are off', (t) => bothAreOff(t, driver, settings))
}

async function bothAreOff(t: Test, driver: AnyDriver, settings: object): Promise<void> {
  for (const [first, last] of [heaters, [...heaters].reverse()] as const) {
    const { instrument, link, leftOn, profile, perform, start } = await oneDevice(t, driver, { settings })
    if (!heaters.every(({ set }) => instrument.abilities.knows(set))) return
    await start()
    await perform('initialize', {})
    for (const { set } of heaters) await perform(set, paramsOf(set, profile))
    await perform(first!.set, { [first!.param]: null })
    t.same(leftOn(), ['d'], `${last!.set} is on`)
    t.match(instrument.info().heating, { target: paramsOf(last!.set, profile)[last!.param], is_lowest: false })
    await perform(last!.set, { [last!.param]: null })
    t.same(leftOn(), [])
    t.equal(instrument.info().heating, null)
    t.equal(link.simulator.world.heating, false)
    link.simulator.powerOff()
  }
}

async function conformanceOfHeater(
  t: Test,
  { set, param, reading }: (typeof heaters)[number],
  driver: AnyDriver,
  settings: object,
): Promise<void> {
  await t.test('its heater is switched off without a stop, and it goes on to be ready', async (t) => {
    const { clock, instrument, link, leftOn, profile, perform, start } = await oneDevice(t, driver, { settings })
    if (!instrument.abilities.knows(set) || profile.features.climate) return
    const { lowest_set_point: lowest } = profile
    await start()
    await perform('initialize', {})
    for (const time of ['first', 'second']) {
      const temperature = paramsOf(set, profile)[param] as number
      await perform(set, { [param]: temperature })
      t.match(instrument.info().heating, { target: temperature, is_lowest: false }, `${time}: it heats`)
      t.same(leftOn(), ['d'])
      await clock.advance(warm_ms)
      for (const again of ['once', 'once more']) {
        const { success, message } = await perform(set, { [param]: null })
        const words = lowest === undefined ? /heater switched off/ : /cannot switch its heater off. Its set point is now .*, the lowest/
        t.match({ success, message }, { success: true, message: words }, `${time}: ${again}`)
        t.same(leftOn(), [])
      }
      t.same(instrument.info().heating, lowest === undefined ? null : { target: lowest, is_lowest: true })
      if (lowest === undefined) t.equal(link.simulator.world.heating, false, `${time}: it is cold`)
      if (instrument.abilities.knows(reading)) {
        const { target } = await clock.run(instrument.questions.ask(reading))
        t.equal(target, lowest ?? null)
      }
      await clock.advance(idle_ms)
      t.match(instrument.info(), { state: 'ready', fault: null }, `${time}: nothing is latched`)
    }
    link.simulator.powerOff()
  })

  await t.test('a heater that does not hear that it is to be off is not said to be off', async (t) => {
    if (isOnPins(driver)) return
    const { driver: same, hand } = tampered(driver)
    const { clock, instrument, link, leftOn, profile, perform, start } = await oneDevice(t, same, { settings })
    if (!instrument.abilities.knows(set) || profile.features.climate) return
    await start()
    await perform('initialize', {})
    await perform(set, paramsOf(set, profile))
    await clock.advance(warm_ms)
    hand.cut()
    const unheard = await perform(set, { [param]: null }).catch((error: unknown) => error)
    t.ok(unheard instanceof Error, 'the caller hears that')
    t.match(instrument.info(), { state: 'faulted', fault: { may_still_be_moving: true } })
    t.same(leftOn(), ['d'])
    hand.leave()
    await clock.advance(heard_ms)
    if (profile.lowest_set_point === undefined) t.equal(link.simulator.world.heating, false)
    t.same(leftOn(), [])
    link.simulator.powerOff()
  })

  await t.test('a climate stays as it was set, over a stop and without a fault, and is not left on', async (t) => {
    const { clock, registry, instrument, link, leftOn, profile, perform, start } = await oneDevice(t, driver, { settings })
    if (!profile.features.climate) return
    await start()
    await perform('initialize', {})
    const { temperature } = paramsOf('set_temperature', profile) as { temperature: number }
    await perform('set_temperature', { temperature })
    const target = async () => (await clock.run(instrument.questions.ask('get_temperature'))).target
    t.equal(await target(), temperature)
    t.same([leftOn(), instrument.info().heating], [[], null], 'nothing has to be switched off')
    const refused = await perform('set_temperature', { temperature: null }).catch((error: unknown) => error)
    t.match(refused, { code: 'invalid' })
    t.match(instrument.info(), { state: 'ready', fault: null })
    await clock.run(registry.halt('d'))
    await perform('initialize', {})
    t.equal(await target(), temperature, 'it has the same set point after a stop and an initialize')
    await clock.advance(idle_ms)
    t.match(instrument.info(), { state: 'ready', fault: null })
    link.simulator.powerOff()
  })
}
