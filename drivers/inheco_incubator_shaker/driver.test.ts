import { test } from 'tap'
import * as v from 'valibot'
import { tampered } from '../../src/conformance/tampered.ts'
import { type Bench, calm, onSimulator } from '../../src/testing/drivers.ts'
import type { Simulator } from '../transports/simulator.ts'
import { driver } from './driver.ts'
import { settings } from './models.ts'
import { request } from './protocol.ts'

const address = { dip: 2, unit: 0 }

async function bench(chosen: object = {}): Promise<Bench> {
  const bench = await onSimulator(driver, chosen)
  await bench.run(bench.device.initialize({}, calm))
  bench.written.length = 0
  return bench
}

/** The commands in what was written. */
function commands({ written }: Bench): string[] {
  return written.map((frame) => frame.slice(6, -1))
}

/** Sends the instrument a line, as another program would. */
function byHand({ line }: Bench, command: string): void {
  line.simulator.receive(request(command, address))
}

function begin<T>(operation: Promise<T>): Promise<T> {
  operation.catch(() => {})
  return operation
}

test('what a unit can do depends on its model, and speeds go in steps of a tenth of a hertz', async (t) => {
  t.match(driver.profile(v.parse(settings, {})), {
    limits: { speed: { min: 396, max: 1800, step: 6 }, temperature: { min: 4, max: 85, step: 0.1 } },
    features: { heating: true, door: true, autonomous_timer: false },
  })
  t.notOk('speed' in driver.profile(v.parse(settings, { model: 'MP' })).limits)
  const { device } = await onSimulator(driver, { model: 'DWP' })
  t.notOk(device.shake)
  t.throws(() => v.parse(settings, { amplitude: 31 }))
  t.throws(() => v.parse(settings, { unit: 6 }))
})

test('initialize closes the drawer, and learns who it is', async (t) => {
  const { device, run, line } = await onSimulator(driver)
  const identity = { model: 'Inheco incubator MP shaker', serial_number: 'SIM-0001', firmware_version: 'V0.0 simulated' }
  t.same(await run(device.initialize({}, calm)), { identity })
  await run(device.open!({}, calm))
  await run(device.initialize({}, calm))
  t.match(line.simulator.world, { drawer: 'closed', moving: false })
})

test('a unit of another type than configured is not initialized', async (t) => {
  const bench = await onSimulator({
    ...driver,
    simulate: (at) => driver.simulate({ ...at, settings: { ...at.settings, model: 'DWP shaker' } }),
  })
  await t.rejects(bench.run(bench.device.initialize({}, calm)), { code: 'device_failed', message: /type 3 and not 1/ })
  t.notOk(commands(bench).includes('AID'))
})

test('it sets amplitude and frequency, starts, and stops when the host says so', async (t) => {
  const b = await bench({ amplitude: 15 })
  const began = b.clock.now()
  await b.run(b.device.shake!({ speed: 600, duration: 20 }, calm))
  t.same(commands(b).slice(0, 4), ['RSE', 'RDS', 'SSP15,15,100,100,90', 'ASEND'])
  t.ok(commands(b).includes('ASE0'))
  t.ok(b.clock.now() - began >= 20_000)
  t.notOk(b.line.simulator.world.moving)
})

test('with an open drawer it does not shake, and nothing goes out that would', async (t) => {
  const b = await bench()
  await b.run(b.device.open!({}, calm))
  b.written.length = 0
  await t.rejects(b.run(b.device.shake!({ speed: 600, duration: 5 }, calm)), { code: 'interlock', message: /close it first/ })
  t.notOk(commands(b).some((command) => /^(SSP|ASE)/.test(command)))
})

test('while it shakes it is neither opened nor initialized', async (t) => {
  const b = await bench()
  byHand(b, 'ASEND')
  await b.clock.advance(1000)
  await t.rejects(b.run(b.device.open!({}, calm)), { code: 'interlock' })
  await t.rejects(b.run(b.device.initialize({}, calm)), { code: 'interlock' })
  t.notOk(commands(b).some((command) => command === 'AOD' || command === 'AID'))
})

test('a shake that ends early, or whose drawer is opened, fails', async (t) => {
  const stopped = await bench()
  const shaking = begin(stopped.device.shake!({ speed: 600, duration: 60 }, calm))
  await stopped.clock.advance(10_000)
  byHand(stopped, 'ASE0')
  await t.rejects(stopped.run(shaking), { code: 'device_failed', message: /does not shake any more/ })
  const opened = await bench()
  const open = begin(opened.device.shake!({ speed: 600, duration: 60 }, calm))
  await opened.clock.advance(10_000)
  opened.line.setFault('interlock_open')
  await t.rejects(opened.run(open), { code: 'device_failed' })
})

test('a drawer that is blocked says so', async (t) => {
  const b = await bench()
  const opening = begin(b.device.open!({}, calm))
  await b.clock.advance(2000)
  b.line.setFault('jam')
  await t.rejects(b.run(opening), { code: 'device_failed', message: /error 9 \(the drawer did not come to its end\)/ })
})

test('a temperature goes out in tenths, and the target is null until one is set', async (t) => {
  const b = await bench()
  t.same(await b.run(b.device.get_temperature!()), { temperature: 22, target: null })
  await b.run(b.device.set_temperature!({ temperature: 37.5 }, calm))
  t.same(commands(b).slice(-3), ['STT375', 'SHE1', 'RHE'])
  await b.clock.advance(7_200_000)
  t.same(await b.run(b.device.get_temperature!()), { temperature: 37.5, target: 37.5 })
})

test('a heater that is too hot, or silent, is switched off by the check that sees it', async (t) => {
  for (const fault of ['overtemperature', 'no_reply'] as const) {
    const b = await bench()
    await b.run(b.device.set_temperature!({ temperature: 60 }, calm))
    b.line.setFault(fault)
    await t.rejects(b.run(b.device.check()), { code: fault === 'no_reply' ? 'no_reply' : 'device_failed' })
    await b.clock.advance(100)
    t.notOk(b.line.simulator.world.heating, fault)
  }
})

test('a heater that somebody else switched on is switched off when it is too hot for anything', async (t) => {
  const b = await bench()
  byHand(b, 'SHE1')
  b.line.setFault('overtemperature')
  await t.rejects(b.run(b.device.check()), { code: 'device_failed', message: /hotter than it may ever be/ })
  await b.clock.advance(100)
  t.notOk(b.line.simulator.world.heating)
})

test('a unit that restarts by itself is not used until it is initialized', async (t) => {
  let restart = () => {}
  const b = await onSimulator({
    ...driver,
    simulate: (at) => {
      let inside = driver.simulate(at)
      restart = () => {
        inside.powerOff()
        inside = driver.simulate(at)
      }
      return {
        receive: (bytes) => inside.receive(bytes),
        setFault: (fault, present) => inside.setFault(fault, present),
        powerOff: () => inside.powerOff(),
        get world(): Simulator['world'] {
          return inside.world
        },
      }
    },
  })
  await b.run(b.device.check())
  await b.run(b.device.initialize({}, calm))
  restart()
  await t.rejects(b.run(b.device.check()), { code: 'device_failed', message: /restarted by itself/ })
  await b.run(b.device.initialize({}, calm))
  await b.run(b.device.check())
})

test('DTR and RTS are let go when it is first spoken to, as far as the port has them', async (t) => {
  const b = await onSimulator(driver)
  const set: object[] = []
  b.line.setModem = async (lines) => {
    set.push(lines)
    return false
  }
  await b.run(b.device.identify())
  t.same(set, [{ dtr: false, rts: false }])
})

test('a halt is on the wire at once, and is acknowledged before the service gives up waiting', async (t) => {
  const b = await bench()
  await b.run(b.device.set_temperature!({ temperature: 60 }, calm))
  const shaking = begin(b.device.shake!({ speed: 1800, duration: 60 }, calm))
  await b.clock.advance(10_000)
  b.written.length = 0
  const began = b.clock.now()
  const halting = b.device.halt()
  t.same(commands(b), ['ASE0', 'SHE0'])
  await b.run(halting)
  t.ok(b.clock.now() - began < 400, `${b.clock.now() - began} ms`)
  await t.rejects(shaking, { code: 'stopped' })
  await b.clock.advance(10_000)
  t.match(b.line.simulator.world, { moving: false, heating: false })
})

/** A whole reply: its data, and its error. */
function reply(data: string, error = 0): Buffer {
  return Buffer.from([0xb2, ...Buffer.from(data), 0xb2, 0x20 + error, 0x60])
}

test('a unit that shakes, and refuses to stop because its drawer is open, has failed', async (t) => {
  const { driver: same, hand } = tampered(driver)
  const b = await onSimulator(same)
  await b.run(b.device.initialize({}, calm))
  hand.change((bytes, send) => send(commands(b).at(-1) === 'ASE0' ? reply('', 13) : bytes))
  await t.rejects(b.run(b.device.shake!({ speed: 600, duration: 5 }, calm)), { code: 'device_failed' })
})

test('a sensor that says -999 °C has failed, and the heater is switched off', async (t) => {
  const { driver: same, hand } = tampered(driver)
  const b = await onSimulator(same)
  await b.run(b.device.initialize({}, calm))
  await b.run(b.device.set_temperature!({ temperature: 37 }, calm))
  hand.change((bytes, send) => send(commands(b).at(-1) === 'RAT1' ? reply('-9990') : bytes))
  await t.rejects(b.run(b.device.check()), { code: 'device_failed', message: /which cannot be/ })
  t.equal(commands(b).at(-1), 'SHE0')
})

test('a heater that does not start because the drawer is open is not watched', async (t) => {
  const { driver: same, hand } = tampered(driver)
  const b = await onSimulator(same)
  await b.run(b.device.initialize({}, calm))
  hand.change((bytes, send) => send(commands(b).at(-1) === 'SHE1' ? reply('', 13) : bytes))
  await t.rejects(b.run(b.device.set_temperature!({ temperature: 60 }, calm)), { code: 'interlock' })
  hand.leave()
  byHand(b, 'SHE0')
  await b.clock.advance(20 * 60_000)
  await b.run(b.device.check())
})

test('a unit whose version was damaged on its way when it was learned is found again all the same', async (t) => {
  const { driver: same, hand } = tampered(driver)
  const b = await onSimulator(same)
  hand.change((bytes, send) => send(commands(b).at(-1) === 'RFV0' ? reply('v0.0 simulated') : bytes))
  await b.run(b.device.initialize({}, calm))
  hand.cut()
  await t.rejects(b.run(b.device.check()), { code: 'no_reply' })
  hand.leave()
  await b.run(b.device.check())
  t.match(await b.run(b.device.initialize({}, calm)), { identity: { firmware_version: 'V0.0 simulated' } })
})
