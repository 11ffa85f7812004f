// The first look at an instrument, and whether it is the right one.

import { EventEmitter, once } from 'node:events'
import { test } from 'tap'
import { driver as a4s } from '../../drivers/a4s/driver.ts'
import { alps } from '../../drivers/alps/driver.ts'
import { driver as bigbear } from '../../drivers/bigbear/driver.ts'
import { driver as bioshake } from '../../drivers/bioshake/driver.ts'
import { driver as gpioShaker } from '../../drivers/gpio_shaker/driver.ts'
import { LabError } from '../errors.ts'
import { oneDevice } from '../testing/devices.ts'
import type { Link } from './device.ts'

test('what was left on is halted when it answers at last, however late that is', async (t) => {
  const { clock, instrument, link, leftOn, written, start } = await oneDevice(t, bigbear, { wasOn: true })
  link.setFault('no_reply')
  await start()
  await clock.advance(9000)
  t.match(instrument.info(), { state: 'faulted', fault: { command: 'check', may_still_be_moving: true } })
  t.notOk(written.includes('S'), 'nobody knows yet who is there')
  link.clearFaults()
  await clock.advance(6000)
  t.ok(written.includes('S'))
  t.same(leftOn(), [])
  const before = written.length
  await clock.advance(6000)
  t.notOk(written.slice(before).includes('S'), 'and once')
})

test('what was left on and acknowledges no halt is a fault, and is halted again and again', async (t) => {
  const { clock, instrument, device, leftOn, start } = await oneDevice(t, bigbear, { wasOn: true })
  const halt = device.halt
  let halts = 0
  device.halt = () => {
    halts++
    return new Promise(() => {})
  }
  await start()
  await clock.advance(15_000)
  t.match(instrument.info(), { state: 'faulted', fault: { command: 'stop', error_type: 'NoReply', may_still_be_moving: true } })
  t.match(instrument.info().fault?.error, /left on.*red button/)
  t.ok(halts > 1)
  t.same(leftOn(), ['d'])
  device.halt = halt
  await clock.advance(15_000)
  t.same(leftOn(), [])
})

test('a sealer that was left hot and first goes home, or tells its status every two seconds, is halted without a fault', async (t) => {
  for (const slow of [goesHome, tellsSeldom]) {
    const { clock, instrument, leftOn, start, perform } = await oneDevice(t, slow, { wasOn: true })
    await clock.advance(4000)
    await start()
    await clock.advance(12_000)
    t.match(instrument.info(), { state: 'not_initialized', fault: null })
    t.same(leftOn(), [])
    await perform('initialize', {})
    t.equal(instrument.state, 'ready')
  }
})

test('a stop that was not heard and is repeated by the next service is no fault though the sealer first goes home', async (t) => {
  const { clock, instrument, leftOn, start } = await oneDevice(t, goesHome, { wasOn: 'stop', on_restart: 'leave' })
  await clock.advance(4000)
  await start()
  await clock.advance(12_000)
  t.match(instrument.info(), { state: 'not_initialized', fault: null })
  t.same(leftOn(), [])
})

test('a stop that was not heard before the service ended is repeated by the next one, also where what was left on is left', async (t) => {
  const { clock, instrument, written, leftOn, start } = await oneDevice(t, bigbear, { wasOn: 'stop', on_restart: 'leave' })
  await start()
  await clock.advance(6000)
  t.equal(written.filter((frame) => frame === 'S').length, 1)
  t.same(leftOn(), [])
  t.equal(instrument.info().fault, null)
})

test('what was left on is halted before an initialize that comes first', async (t) => {
  const { clock, instrument, leftOn, registry, written } = await oneDevice(t, bigbear, { wasOn: true })
  registry.start()
  t.match(await clock.run(instrument.perform('initialize', {})), { success: true })
  t.equal(written.filter((frame) => frame === 'S').length, 1)
  t.ok(written.indexOf('S') < written.indexOf('F'), `${written}`)
  t.same(leftOn(), [])
})

test('an initialize that comes before the halt was heard repeats the halt first, and does nothing else without its answer', async (t) => {
  const { clock, instrument, device, registry, written, perform, start } = await oneDevice(t, bigbear)
  await start()
  await perform('initialize', {})
  const halt = device.halt
  device.halt = () => Promise.reject(new LabError('no_reply', 'no reply'))
  await clock.run(registry.halt('d'))
  written.length = 0
  await t.rejects(perform('initialize', {}), { code: 'no_reply', message: /not acknowledged that it was halted/ })
  t.same(written, [], 'nothing moves')
  device.halt = halt
  t.match(await perform('initialize', {}), { success: true })
  t.equal(written[0], 'S')
  t.match(instrument.info(), { state: 'ready', fault: null })
})

test('an acknowledgement that comes after an initialize switches nothing off in the books', async (t) => {
  const { device, registry, perform, leftOn, start, clock } = await oneDevice(t, bioshake)
  await start()
  await perform('initialize', {})
  let acknowledge = () => {}
  device.halt = () =>
    new Promise((resolve) => {
      acknowledge = resolve
    })
  await clock.run(registry.halt('d'))
  await perform('initialize', {})
  await perform('set_temperature', { temperature: 60 })
  acknowledge()
  await clock.advance(1)
  t.same(leftOn(), ['d'])
})

test('initialize does not move another instrument than the configured one', async (t) => {
  const { instrument, written, start, perform, link } = await oneDevice(t, bioshake, { identity: { serial_number: 'TAUGHT' } })
  await start()
  t.match(instrument.info(), { state: 'faulted', fault: { error: /another instrument.*SIM-0001, not TAUGHT/ } })
  const before = written.length
  await t.rejects(perform('initialize', {}), { code: 'device_failed', message: /another instrument/ })
  t.notOk(written.slice(before).some((frame) => /home/i.test(frame)))
  t.equal(link.simulator.world.moving, false)
})

test('another instrument that is plugged in where none is configured is a fault, until somebody initializes it', async (t) => {
  const { clock, device, instrument, start, perform, link, written } = await oneDevice(t, bioshake)
  await start()
  await perform('initialize', {})
  const identify = device.identify
  const replug = async () => {
    link.setFault('unplug')
    link.clearFaults()
    await clock.advance(4000)
  }
  await replug()
  t.match(instrument.info(), { fault: { error_type: 'Disconnected' } }, 'the same one')
  await perform('initialize', {})
  device.identify = async () => ({ ...(await identify.call(device))!, serial_number: 'OTHER' })
  await replug()
  written.length = 0
  const refused = {
    code: 'device_failed',
    message: /another instrument is plugged in than before: .* is OTHER, and was SIM-0001; see the cables/,
  }
  await t.rejects(perform('initialize', {}), refused)
  t.notOk(
    written.some((frame) => /home/i.test(frame)),
    'it does not move',
  )
  await replug()
  t.match(await perform('initialize', {}), { success: true }, 'a second initialize accepts the new instrument')
  device.identify = identify
  await replug()
  await t.rejects(perform('initialize', {}), { code: 'device_failed', message: /is SIM-0001, and was OTHER/ })
})

test('the configured instrument is initialized', async (t) => {
  const { start, perform } = await oneDevice(t, bioshake, { identity: { serial_number: 'SIM-0001' } })
  await start()
  t.match(await perform('initialize', {}), { success: true })
})

for (const [name, driver] of Object.entries({ alps, gpioShaker })) {
  test(`${name}: what an instrument does not tell cannot be asked for in a configuration`, async (t) => {
    const { clock, instrument, start, perform } = await oneDevice(t, driver as typeof alps, { identity: { serial_number: 'X1' } })
    await start()
    await clock.advance(8000)
    t.equal(instrument.state, 'not_initialized', 'which is no fault of it')
    const refused = { code: 'invalid', message: /d does not tell its serial_number.*configuration/ }
    await t.rejects(perform('initialize', {}), refused)
    await t.rejects(perform('initialize', {}), refused)
    t.match(instrument.info(), { state: 'not_initialized', fault: null })
  })
}

/** A sealer that is hot, with its shuttle out. */
const goesHome: typeof a4s = {
  ...a4s,
  simulate(at) {
    const simulator = a4s.simulate(at)
    simulator.receive(Buffer.from('*00DH=0165zz!*00MO=zz!'))
    return simulator
  },
}

/** A sealer that tells its status every two seconds, and never with an answer. */
const tellsSeldom: typeof a4s = {
  ...a4s,
  simulate: (at) =>
    a4s.simulate({
      ...at,
      send(bytes) {
        const answer = Buffer.from(bytes).indexOf('*Y00')
        if (answer >= 0) at.send(bytes.subarray(answer))
        else if (Math.round(at.clock.now() / 1000) % 2) at.send(bytes)
      },
    }),
}

/** Keeps the link from being opened, until one of these is called. */
function held(link: Link) {
  const open = link.open.bind(link)
  const told = new EventEmitter()
  link.open = async () => {
    const [error] = (await once(told, 'told')) as [LabError | undefined]
    if (error) throw error
    await open()
  }
  return {
    opens: () => told.emit('told'),
    fails: () => told.emit('told', new LabError('disconnected', 'there is no such pin')),
  }
}

test('a stop that comes while its link is being opened is latched at once, and sent as soon as that is open', async (t) => {
  const { clock, instrument, link, registry, written } = await oneDevice(t, gpioShaker)
  const { opens } = held(link)
  registry.start()
  const [one, all] = [registry.halt('d'), registry.haltAll()]
  t.equal(instrument.info().fault?.error_type, 'Stopped')
  await clock.advance(1900)
  t.notOk(written.includes('enable = 0'))
  opens()
  t.match(await clock.run(one), { success: true })
  t.match(await clock.run(all), { success: true })
  t.ok(written.includes('enable = 0'))
  t.equal(instrument.state, 'stopped')
})

test('after two seconds its answer is that it is not sent yet; it is sent all the same', async (t) => {
  const { clock, link, registry, written } = await oneDevice(t, gpioShaker)
  const { opens } = held(link)
  registry.start()
  const began = clock.now()
  const words = { code: 'stop_not_sent', message: /red button\. The stop is not sent yet: its connection is only being opened/ }
  await t.rejects(clock.run(registry.halt('d')), words)
  t.equal(clock.now() - began, 2000)
  opens()
  await clock.advance(10)
  t.ok(written.includes('enable = 0'))
})

test('where nothing can be opened a stop could not be sent, and the next one neither', async (t) => {
  const { clock, instrument, link, registry } = await oneDevice(t, gpioShaker)
  const { fails } = held(link)
  registry.start()
  const stopping = registry.halt('d')
  fails()
  const words = { code: 'stop_not_sent', message: /red button; the stop could not be sent: (?!the stop)/ }
  await t.rejects(clock.run(stopping), words)
  await t.rejects(clock.run(registry.halt('d')), words)
  t.equal(instrument.info().fault?.error_type, 'Stopped')
})
