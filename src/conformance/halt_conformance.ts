// Checks for every driver, in virtual time, that the service repeats a lost halt as soon as the instrument can be reached again.

import { type AnyDriver, isOnPins } from '../../drivers/driver.ts'
import type { Test } from './assertions.ts'
import { oneDevice } from './one_device.ts'
import { tampered } from './tampered.ts'
import { goesOn, longer, type Name, namesOn, paramsOf, preparing, type TriedProfile } from './trials.ts'

/** The ways to lose the connection: the port stays open and all bytes are lost, or the port is gone. */
const losses = ['dead', 'unplugged'] as const
/** The ways to end the operation: the service notices the loss, or somebody presses stop. */
const ends = ['fault', 'stop'] as const

const into_ms = 20_000
/** Within this time every driver notices the loss, and no watchdog of an instrument fires. */
const lost_ms = 30_000
/** Within this time the service checks twice, and the slowest instrument answers. */
const heard_ms = 20_000
/** A rotor, or an uninterruptible motion, may take this long to come to rest. */
const rest_ms = 120_000

export async function conformanceOfHalts(t: Test, driver: AnyDriver, settings: object): Promise<void> {
  await t.test('a halt that was not heard is repeated as soon as it hears again', async (t) => {
    const { device, profile } = await bench(t, driver, settings)
    // The operations that an instrument continues until somebody stops it.
    const goings = namesOn(device).filter((name) => goesOn(name, profile))
    for (const loss of losses)
      for (const end of ends)
        for (const name of goings) {
          if (loss === 'dead' && isOnPins(driver)) continue
          await repeats(t, { driver, settings, name, loss, end })
        }
  })

  await t.test('after a fault that halted it, an instrument that watches its host hears nothing more', async (t) => {
    const { clock, link, instrument, perform, profile, written, start } = await bench(t, driver, settings)
    if (!profile.features.host_watchdog) return
    await start()
    await perform('initialize', {})
    const shake = instrument.perform('shake', going('shake', profile)).catch(() => {})
    await clock.advance(into_ms)
    link.setFault('jam')
    await clock.run(shake)
    t.match(instrument.info(), { state: 'faulted', fault: { may_still_be_moving: false } })
    await clock.advance(heard_ms)
    written.length = 0
    await clock.advance(3 * 60_000)
    t.same(written, [])
  })
}

type Case = { driver: AnyDriver; settings: object; name: Name; loss: (typeof losses)[number]; end: (typeof ends)[number] }

async function repeats(t: Test, { driver, settings, name, loss, end }: Case): Promise<void> {
  const made = await bench(t, driver, settings)
  const { clock, registry, instrument, link, profile, perform, leftOn, hand, start } = made
  if (!instrument.abilities.knows(name)) return
  const what = `${name}, ${loss}, ${end}`
  const stirs = () => link.simulator.world.moving || link.simulator.world.heating
  await start()
  await perform('initialize', {})
  for (const first of preparing(name, (one) => instrument.abilities.knows(one))) await perform(first, paramsOf(first, profile))
  const performing = instrument.perform(name, going(name, profile)).catch(() => {})
  if (name === 'set_temperature' || name === 'set_lid_temperature') await clock.run(performing)
  await clock.advance(into_ms)
  if (loss === 'dead') hand?.cut()
  else link.setFault('unplug')
  await clock.advance(500)
  if (end === 'stop') await clock.run(registry.halt('d').catch(() => {}))
  await clock.advance(lost_ms)
  t.match(instrument.info().fault?.error_type, /./, `${what}: it is latched`)
  const wentOn = stirs()
  const fault = instrument.info().fault
  if (wentOn) t.ok(fault?.may_still_be_moving || end === 'stop', `${what}: it may still be moving`, { fault })
  hand?.leave()
  link.clearFaults()
  await clock.advance(heard_ms)
  if (!profile.features.uninterruptible) t.notOk(link.simulator.world.heating, `${what}: nothing heats`)
  for (let ms = 0; stirs() && ms < rest_ms; ms += 250) await clock.advance(250)
  t.notOk(stirs(), `${what}: it rests`)
  await clock.advance(heard_ms)
  t.match(instrument.info(), { fault: { may_still_be_moving: false } }, `${what}: and that is reported`)
  t.same(leftOn(), [], `${what}: it is not left on`)
  link.simulator.powerOff()
}

async function bench(t: Test, driver: AnyDriver, settings: object) {
  if (isOnPins(driver)) return { ...(await oneDevice(t, driver, { settings })), hand: undefined }
  const { driver: same, hand } = tampered(driver)
  return { ...(await oneDevice(t, same, { settings })), hand }
}

/** Returns parameters with the longest duration that the device allows, at most an hour. */
function going(name: Name, profile: TriedProfile): Record<string, unknown> {
  const params = paramsOf(name, profile)
  return profile.own?.has(name) || 'duration' in params || 'steps' in params ? longer(name, profile, 3600) : params
}
