// Every driver of the catalogue behind a box on the network, with its simulator at the far end of a TCP connection, and in a bench whose box fails.

import { type Test, t, test } from 'tap'
import * as v from 'valibot'
import { halted, undisturbed, unplugged } from '../src/conformance/conformance.ts'
import { knows, type Subject } from '../src/conformance/subject.ts'
import { goesOn, namesOn, paramsOf, preparing } from '../src/conformance/trials.ts'
import { Ledger } from '../src/devices/ledger.ts'
import { noStores } from '../src/devices/no_stores.ts'
import { Registry } from '../src/devices/registry.ts'
import { WireLog } from '../src/devices/wire_log.ts'
import { scaled, sleep } from '../src/kit/clock.ts'
import { silent } from '../src/kit/log.ts'
import { type Box, type BoxFault, openBox } from '../src/testing/drivers/box.ts'
import { operationOf, paceOf } from '../src/testing/drivers/real_lines.ts'
import { calm, stallFreeClock } from '../src/testing/drivers.ts'
import { networkLine } from './attach.ts'
import { isOnPins, type LineDriver, serialOf } from './driver.ts'
import { type DriverName, driverNames, drivers } from './index.ts'
import { isLineFault, passThrough } from './transports/faults.ts'
import type { Fault } from './transports/simulated_line.ts'
import { putPlates } from './transports/simulator.ts'

/** The service's own time goes so fast, so that its looks come soon. */
const serviceScale = 10
const realClock = stallFreeClock()
/** All at once: they mostly wait. */
t.jobs = 16
/** Without `tap run`, a test has 30 s, which a busy machine uses up. */
const buffered = { buffered: true, timeout: 1_200_000 }
t.setTimeout(buffered.timeout)

for (const name of driverNames) {
  const driver = await drivers[name]()
  if (isOnPins(driver) || driver.changes_speed) continue
  const names = [operationOf(driver)]
  const behind = (t: Test) => () => behindBox(t, driver, paceOf(driver))
  test(`${name} works behind a box on the network`, buffered, (t) => undisturbed(t, behind(t)))
  test(`${name} is halted behind a box`, buffered, (t) => halted(t, behind(t), { names, watch_ms: 5000 }))
  test(`${name} fails when its box is switched off, and works again after it`, buffered, (t) => unplugged(t, behind(t), { names }))
  test(`${name} works behind a box that takes its time`, buffered, (t) => worksSlowly(t, behind(t)))
  // What an arm moves, and what only reads, ends by itself.
  if (!goesOn(operationOf(driver))) continue
  for (const fault of ['half_open', 'refuse'] as const)
    test(`${name} hears the halt that it did not hear when its box is there again after ${fault}`, buffered, (t) =>
      hearsHalt(t, { name, driver, fault }),
    )
}

/** Returns 1 for a serial box, which passes all bytes on to all clients, else the connections of the instrument. */
function connectionsOf({ tcp }: LineDriver): number {
  return 1 + (tcp?.further?.length ?? 0)
}

async function worksSlowly(t: Test, make: () => Promise<Behind>): Promise<void> {
  const { device, box, simulator } = await make()
  await box.setFault('slow')
  const { identity } = await device.initialize({}, calm)
  for (let times = 0; times < 3; times++) {
    t.same(await device.identify(), identity)
    await t.resolves(device.check())
    await t.resolves(device.halt())
  }
  simulator.powerOff()
}

type Behind = Subject & { box: Box }

async function behindBox(t: Test, driver: LineDriver, time_scale: number): Promise<Behind> {
  const settings = v.parse(driver.settings, {})
  const clock = scaled(realClock, time_scale)
  const faults = new Set<Fault>()
  const box = await openBox((bytes, connection) => simulator.receive(bytes, connection), connectionsOf(driver))
  const simulator = driver.simulate({
    clock,
    settings,
    send: (bytes, connection) => passThrough(faults, bytes, realClock, (its) => box.send(its, connection)),
  })
  const line = networkLine({ ...driver, serial: serialOf(driver, settings) }, { host: '127.0.0.1', port: box.port, clock: realClock })
  const written: string[] = []
  line.onWire((direction, bytes) => {
    if (direction === 'to_device') written.push(Buffer.from(bytes).toString('latin1'))
  })
  let changed: Promise<unknown> = Promise.resolve()
  const putAway = async () => {
    simulator.powerOff()
    await changed
    await line.close()
    await box.close()
  }
  t.teardown(putAway)
  await line.open()
  return {
    box,
    device: driver.open({ line, clock, settings }),
    profile: driver.profile(settings),
    simulator: {
      get world() {
        return simulator.world
      },
      setFault: (fault, present) => simulator.setFault(fault, present),
      powerOff: () => void putAway(),
      get places() {
        return simulator.places
      },
    },
    hangsOn: 'line',
    link: {
      get state() {
        return line.state
      },
      async open() {
        await changed
        await line.open()
      },
    },
    written,
    setFault(fault) {
      faults.add(fault)
      if (fault === 'unplug') changed = changed.then(() => box.setFault('refuse'))
      else if (!isLineFault(fault)) return simulator.setFault(fault, true)
      return true
    },
    clearFaults() {
      faults.clear()
      changed = changed.then(() => box.mend())
    },
    run: (promise) => promise,
    pass: (ms) => sleep(clock, ms),
    now: () => clock.now(),
    realTime: true,
  }
}

type Case = { name: DriverName; driver: LineDriver; fault: BoxFault }

/** Someone presses stop while the box is away; the operation is one that goes on until it is stopped. */
async function hearsHalt(t: Test, { name, driver, fault }: Case): Promise<void> {
  const settings = v.parse(driver.settings, {})
  const clock = scaled(realClock, serviceScale)
  const box = await openBox((bytes, connection) => simulator.receive(bytes, connection), connectionsOf(driver))
  const simulator = driver.simulate({ clock, settings, send: (bytes, connection) => box.send(bytes, connection) })
  const link = networkLine({ ...driver, serial: serialOf(driver, settings) }, { host: '127.0.0.1', port: box.port, clock })
  const device = driver.open({ line: link, clock, settings })
  const profile = driver.profile(settings)
  const names = namesOn(device).filter((name) => goesOn(name))
  // A run that only the stop ends, or heat that a stop ends; else the longest that there is.
  const going = names.find((one) => one === 'shake' || (one === 'set_temperature' && !profile.features.climate)) ?? operationOf(driver)
  const driven = { device, link, profile, wire: new WireLog() }
  const about = { device_id: 'd', type: driver.type, name, driver: name, simulated: false, time_scale: 1, bounds: {}, identity: {} }
  const around = { clock, hub: { emit() {} }, ledger: new Ledger(), log: silent, ...noStores }
  const registry = new Registry([{ ...about, on_restart: 'halt' as const, driven }], around)
  t.teardown(async () => {
    simulator.powerOff()
    await registry.close()
    await box.close()
  })
  const instrument = registry.find('d')
  const until = async (what: string, isSo: () => boolean) => {
    while (!isSo()) await sleep(clock, 100)
    t.pass(what)
  }
  registry.start()
  await until('it is connected', () => link.state === 'open' && instrument.state === 'not_initialized')
  // On a machine that has much else to do, an answer may come later than the driver waits for it.
  while (instrument.state !== 'ready') await instrument.perform('initialize', {}).catch(() => sleep(clock, 1000))
  for (const first of preparing(going, (one) => knows(device, one))) await instrument.perform(first, paramsOf(first, profile))
  const { duration } = profile.limits
  const asked = paramsOf(going, profile)
  putPlates(simulator.places, going, asked)
  const params = { ...asked, ...('duration' in asked && { duration: Math.min(3600, duration!.max) }) }
  const done = instrument.perform(going, params).catch((error) => error)
  await until('it moves or heats', () => simulator.world.moving || simulator.world.heating)
  if (going === 'set_temperature') await done
  await box.setFault(fault)
  const sent = instrument.halt()
  const { success } = await instrument.halted(sent).catch(() => ({ success: false }))
  t.notOk(success, 'the stop is not confirmed')
  if (!profile.features.uninterruptible) t.ok(simulator.world.moving || simulator.world.heating, 'it goes on')
  await box.mend()
  await until('it stands and is cold', () => !simulator.world.moving && !simulator.world.heating)
  await until('the service knows', () => instrument.state === 'stopped')
}
