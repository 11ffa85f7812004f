// What a device would go on doing without us: heat, and motion that only we end.

import { test } from 'tap'
import { driver as bioshake } from '../../drivers/bioshake/driver.ts'
import { driver as gpioShaker } from '../../drivers/gpio_shaker/driver.ts'
import { tampered } from '../conformance/tampered.ts'
import { silent } from '../kit/log.ts'
import { oneDevice } from '../testing/devices.ts'
import { LeftOn } from './left_on.ts'

test('a run that was refused leaves nothing on', async (t) => {
  const { leftOn, link, start, perform } = await oneDevice(t, gpioShaker)
  await start()
  await perform('initialize', {})
  link.setFault('interlock_open')
  await t.rejects(perform('shake', { speed: 500, duration: 5 }), { code: 'interlock' })
  t.same(leftOn(), [])
})

test('what was on before a run that was refused is still on', async (t) => {
  const { leftOn, perform } = await heated(t)
  await perform('unlock_plate', {})
  await t.rejects(perform('shake', { speed: 500, duration: 5 }), { code: 'interlock' })
  t.same(leftOn(), ['d'])
})

test('a heater that is unplugged while nothing runs may still be hot', async (t) => {
  const { instrument, link } = await heated(t)
  link.setFault('unplug')
  t.match(instrument.info(), { state: 'disconnected', fault: { error_type: 'Disconnected', may_still_be_moving: true } })
})

test('a device that is off and is unplugged is no danger', async (t) => {
  const { instrument, link, start } = await oneDevice(t, bioshake)
  await start()
  link.setFault('unplug')
  t.match(instrument.info(), { fault: { may_still_be_moving: false } })
})

test('a reading of a hot device that fails ends the run, which says why', async (t) => {
  const { clock, instrument, link, perform } = await heated(t)
  await perform('lock_plate', {})
  const shake = instrument.perform('shake', { speed: 500, duration: 60 })
  const ended = t.rejects(shake, { code: 'no_reply', message: /^d: no reply/ })
  await clock.advance(10_200)
  link.setFault('no_reply')
  await t.rejects(clock.run(instrument.questions.ask('get_temperature')), { code: 'no_reply' })
  await clock.run(ended)
  t.match(instrument.info(), {
    state: 'faulted',
    fault: { command: 'get_temperature', error_type: 'NoReply', may_still_be_moving: true },
    last_operation: { operation: 'shake', result: { success: false, message: /no reply/ } },
  })
  t.match(link.simulator.world, { heating: false })
})

test('a heater that initialize finds on is switched off as soon as it hears again', async (t) => {
  const { driver, hand } = tampered(bioshake)
  const { clock, instrument, link, leftOn, start, perform } = await oneDevice(t, driver)
  await start()
  for (const command of ['setTempTarget600\r', 'tempOn\r']) {
    if ('write' in link) link.write(Buffer.from(command))
    await clock.advance(100)
  }
  await perform('initialize', {})
  t.same(leftOn(), ['d'])
  hand.cut()
  await clock.advance(20_000)
  t.match(instrument.info(), { state: 'faulted', fault: { may_still_be_moving: true } })
  t.equal(link.simulator.world.heating, true)
  hand.leave()
  await clock.advance(10_000)
  t.equal(link.simulator.world.heating, false)
  t.same(leftOn(), [])
})

test('a device that was seen off is off, though the journal says so only later', async (t) => {
  const leftOn = leftOnBefore({ simulated: false })
  t.equal(leftOn.mayBeOn, true)
  leftOn.off()
  t.equal(leftOn.mayBeOn, false)
  await leftOn.before('set_temperature', 'heat')
  t.equal(leftOn.mayBeOn, true)
})

test('a simulator that is off says nothing of the instrument that was there before', async (t) => {
  const leftOn = leftOnBefore({ simulated: true })
  leftOn.off()
  t.equal(leftOn.mayBeOn, true)
})

test('a heater that is off is crossed out, but not a motion that was left on before', async (t) => {
  for (const [operation, isOn] of [
    ['shake', true],
    ['set_temperature', false],
  ] as const) {
    const on = new Set(['d'])
    const switchedOff = async (device_id: string) => void on.delete(device_id)
    const journal = { ...{ on: ['d'], haltsOwed: [], leftBy: () => operation, switchedOff }, switchedOn: async () => {} }
    const leftOn = new LeftOn({ device_id: 'd', simulated: false, timesItself: false, lowest: undefined }, { journal, log: silent })
    await leftOn.before('set_temperature', 'heat', 60)
    t.same(leftOn.heating, { target: 60, is_lowest: false })
    await leftOn.before('set_temperature', 'no heat')
    leftOn.after('no heat')
    await leftOn.before('open', undefined)
    t.same([leftOn.heating, leftOn.hot, on.has('d')], [null, false, isOn], operation)
    leftOn.off()
    await leftOn.before('open', undefined)
    t.notOk(on.has('d'))
  }
})

test('heat that could not be switched off, because that was refused, is still on', async (t) => {
  const { leftOn, instrument, perform } = await heated(t)
  await t.rejects(perform('set_temperature', { temperature: 1000 }), { code: 'invalid' })
  t.match(instrument.info(), { heating: { target: 60 } })
  t.same(leftOn(), ['d'])
})

/** What the journal says was on when the service ended, on a disk that crosses nothing out. */
function leftOnBefore({ simulated }: { simulated: boolean }): LeftOn {
  const journal = { on: ['d'], haltsOwed: [], leftBy: () => 'shake', switchedOn: async () => {}, switchedOff: async () => {} }
  return new LeftOn({ device_id: 'd', simulated, timesItself: false, lowest: undefined }, { journal, log: silent })
}

async function heated(t: Parameters<typeof oneDevice>[0]) {
  const made = await oneDevice(t, bioshake)
  await made.start()
  await made.perform('initialize', {})
  await made.perform('set_temperature', { temperature: 60 })
  return made
}
