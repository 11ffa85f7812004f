import { test } from 'tap'
import * as v from 'valibot'
import { tampered } from '../../src/conformance/tampered.ts'
import { VirtualClock } from '../../src/kit/clock.ts'
import { type Bench, calm, onSimulator } from '../../src/testing/drivers.ts'
import { simulatedLine } from '../transports/simulated_line.ts'
import { driver } from './driver.ts'
import { settings } from './models.ts'

/** What somebody else does to the instrument, at its other port or by hand. */
function byHand({ line }: Pick<Bench, 'line'>, command: string): void {
  line.simulator.receive(Buffer.from(`${command}\r`))
}

async function readyToShake(settings: object = {}): Promise<Bench> {
  const bench = await onSimulator(driver, settings)
  await bench.run(bench.device.initialize({}, calm))
  if (bench.device.lock_plate) await bench.run(bench.device.lock_plate({}, calm))
  bench.written.length = 0
  return bench
}

/** Begins and lets go on; the outcome is looked at later. */
function begin<T>(operation: Promise<T>): Promise<T> {
  operation.catch(() => {})
  return operation
}

test('a BioShake out of the box is a 3000-T elm', async (t) => {
  const model = v.parse(settings, {})
  t.same(model, { model: '3000-T elm', acceleration: null })
  t.same(driver.profile(model), {
    model: 'BioShake 3000-T elm',
    limits: {
      speed: { min: 200, max: 3000, unit: 'rpm', step: 1 },
      duration: { min: 1, max: 99_999, unit: 's', step: 1 },
      temperature: { min: 0, max: 99, unit: '°C', step: 0.1 },
    },
    features: { locking: true, heating: true, cooling: false, autonomous_timer: true },
    ends_early: ['shake'],
  })
})

test('a model or a setting that there is not is refused', async (t) => {
  t.throws(() => v.parse(settings, { model: '9000' }))
  t.throws(() => v.parse(settings, { speed: 5 }))
  t.throws(() => v.parse(settings, { acceleration: 1.5 }))
})

test('what a device can do depends on its model', async (t) => {
  const can = async (model: string) => {
    const { device } = await onSimulator(driver, { model })
    return (['shake', 'lock_plate', 'unlock_plate', 'set_temperature', 'get_temperature'] as const).filter((name) => device[name])
  }
  t.same(await can('3000'), ['shake'])
  t.same(await can('5000 elm'), ['shake', 'lock_plate', 'unlock_plate'])
  t.same(await can('3000-T'), ['shake', 'set_temperature', 'get_temperature'])
  t.same(await can('Q1'), ['shake', 'lock_plate', 'unlock_plate', 'set_temperature', 'get_temperature'])
  t.same(await can('Heatplate'), ['set_temperature', 'get_temperature'])
})

test('initialize goes home and learns who it is and what it can do', async (t) => {
  const { device, run, line, written } = await onSimulator(driver, { model: '5000 elm' })
  const learned = await run(device.initialize({}, calm))
  t.same(learned, {
    identity: { model: 'BIOSHAKE 5000 elm (simulated)', serial_number: 'SIM-0001', firmware_version: 'v0.0.0-simulated' },
    limits: { speed: { min: 200, max: 5000, unit: 'rpm', step: 1 }, duration: { min: 1, max: 99_999, unit: 's', step: 1 } },
  })
  t.ok(written.includes('shakeGoHome\r'))
  t.equal(line.simulator.world.shaker, 'home')
})

test('lines of another instrument are not taken for the identity of a shaker', async (t) => {
  const { device, run } = await onSimulator({
    ...driver,
    simulate(at) {
      const simulator = driver.simulate(at)
      const { receive } = simulator
      simulator.receive = (bytes) =>
        receive.call(simulator, Buffer.from(Buffer.from(bytes).toString().replace('getDescription', 'getSerial')))
      return simulator
    },
  })
  await t.rejects(run(device.identify()), {
    code: 'device_failed',
    message: /says of itself "SIM-0001", which is no BioShake; see the cables/,
  })
})

test('initialize tells the acceleration in its settings, and none unless it is set', async (t) => {
  const set = await onSimulator(driver, { acceleration: 7 })
  await set.run(set.device.initialize({}, calm))
  t.ok(set.written.includes('setShakeAcceleration7\r'))
  const unset = await onSimulator(driver)
  await unset.run(unset.device.initialize({}, calm))
  t.notOk(unset.written.some((frame) => frame.includes('setShakeAcceleration')))
})

test('initialize is refused while the instrument shakes', async (t) => {
  const bench = await readyToShake()
  byHand(bench, 'setShakeTargetSpeed500')
  byHand(bench, 'shakeOn')
  await bench.clock.advance(1000)
  await t.rejects(bench.run(bench.device.initialize({}, calm)), { code: 'interlock', message: /speeding up/ })
  t.notOk(bench.written.includes('shakeGoHome\r'))
})

test('initialize waits for an instrument that is starting', async (t) => {
  const bench = await onSimulator(driver)
  byHand(bench, 'resetDevice')
  await bench.clock.advance(1000)
  await bench.run(bench.device.initialize({}, calm))
  t.ok(bench.clock.now() > 12_000)
  await bench.run(bench.device.check())
})

test('initialize wakes an instrument from ECO mode', async (t) => {
  const bench = await onSimulator(driver)
  byHand(bench, 'setEcoMode')
  await bench.clock.advance(100)
  await t.rejects(bench.run(bench.device.check()), { code: 'device_failed' })
  await bench.run(bench.device.initialize({}, calm))
  t.equal(bench.line.simulator.world.shaker, 'home')
})

test('initialize fails while the instrument reports an error', async (t) => {
  const bench = await onSimulator(driver)
  bench.line.setFault('overtemperature')
  await t.rejects(bench.run(bench.device.initialize({}, calm)), { code: 'device_failed', message: /error 210 \(too hot\)/ })
})

test('it shakes as fast and as long as asked, and the instrument keeps the time', async (t) => {
  const bench = await readyToShake()
  const began = bench.clock.now()
  const shaking = begin(bench.device.shake!({ speed: 800, duration: 60 }, calm))
  await bench.clock.advance(30_000)
  t.equal(bench.line.simulator.world.speed, 800)
  await bench.run(shaking)
  t.ok(bench.clock.now() - began > 60_000)
  t.notOk(bench.line.simulator.world.moving)
  t.same(bench.written.slice(0, 4), ['getShakeState\r', 'getElmState\r', 'setShakeTargetSpeed800\r', 'shakeOnWithRuntime60\r'])
})

test('it does not shake an unlocked plate, and nothing goes out that would', async (t) => {
  const bench = await readyToShake()
  await bench.run(bench.device.unlock_plate!({}, calm))
  await t.rejects(bench.run(bench.device.shake!({ speed: 500, duration: 5 }, calm)), { code: 'interlock', message: /lock the plate first/ })
  t.notOk(bench.written.some((frame) => frame.startsWith('setShakeTargetSpeed') || frame.startsWith('shakeOn')))
})

test('it does not shake from anywhere but home', async (t) => {
  const bench = await readyToShake()
  byHand(bench, 'shakeEmergencyOff')
  await bench.clock.advance(1000)
  await t.rejects(bench.run(bench.device.shake!({ speed: 500, duration: 5 }, calm)), { code: 'interlock', message: /not at home/ })
})

test('a shake that somebody ends early is not done', async (t) => {
  const bench = await readyToShake()
  const shaking = begin(bench.device.shake!({ speed: 500, duration: 60 }, calm))
  await bench.clock.advance(20_000)
  byHand(bench, 'shakeOff')
  await t.rejects(bench.run(shaking), { code: 'device_failed', message: /of 60 s/ })
})

test('a blocked shaker fails the shake, with the error in words', async (t) => {
  const bench = await readyToShake()
  const shaking = begin(bench.device.shake!({ speed: 500, duration: 60 }, calm))
  await bench.clock.advance(20_000)
  const broke = bench.clock.now()
  bench.line.setFault('jam')
  await t.rejects(bench.run(shaking), { code: 'device_failed', message: /error 102 \(wrong speed: something blocks the motion\)/ })
  t.ok(bench.clock.now() - broke < 5000, 'it is noticed soon')
})

test('a motion that is refused says why', async (t) => {
  const bench = await readyToShake()
  bench.line.setFault('jam')
  await t.rejects(bench.run(bench.device.unlock_plate!({}, calm)), {
    code: 'device_failed',
    message: /refused setElmUnlockPos and reports error 102/,
  })
})

test('a shake ends as soon as its signal is aborted', async (t) => {
  const bench = await readyToShake()
  const abort = new AbortController()
  const shaking = begin(bench.device.shake!({ speed: 500, duration: 60 }, abort.signal))
  await bench.clock.advance(10_000)
  abort.abort(new Error('enough'))
  await t.rejects(shaking, { message: 'enough' })
})

test('lock and unlock are done when the lock has arrived', async (t) => {
  const bench = await readyToShake()
  const unlocking = bench.device.unlock_plate!({}, calm)
  await bench.clock.advance(1000)
  t.equal(bench.line.simulator.world.lock, 'moving')
  await bench.run(unlocking)
  t.equal(bench.line.simulator.world.lock, 'unlocked')
  await bench.run(bench.device.lock_plate!({}, calm))
  t.equal(bench.line.simulator.world.lock, 'locked')
})

test('a plate is not unlocked away from home', async (t) => {
  const bench = await readyToShake()
  byHand(bench, 'shakeEmergencyOff')
  await bench.clock.advance(1000)
  await t.rejects(bench.run(bench.device.unlock_plate!({}, calm)), { code: 'interlock', message: /initialize it first/ })
  t.notOk(bench.written.includes('setElmUnlockPos\r'))
})

test('a plate lock that is forced open fails the shake', async (t) => {
  const bench = await readyToShake()
  const shaking = begin(bench.device.shake!({ speed: 500, duration: 60 }, calm))
  await bench.clock.advance(20_000)
  bench.line.setFault('interlock_open')
  await t.rejects(bench.run(shaking), { code: 'device_failed', message: /error 303/ })
})

test('a temperature goes out in whole tenths', async (t) => {
  const bench = await readyToShake()
  await bench.run(bench.device.set_temperature!({ temperature: 37.5 }, calm))
  await bench.run(bench.device.set_temperature!({ temperature: 64.1 }, calm))
  const orders = bench.written.filter((frame) => frame !== 'getTempActual\r')
  t.same(orders, ['setTempTarget375\r', 'tempOn\r', 'setTempTarget641\r', 'tempOn\r'])
})

test('the target is null until one is set', async (t) => {
  const bench = await readyToShake()
  t.same(await bench.run(bench.device.get_temperature!()), { temperature: 22, target: null })
  await bench.run(bench.device.set_temperature!({ temperature: 50 }, calm))
  await bench.clock.advance(600_000)
  t.same(await bench.run(bench.device.get_temperature!()), { temperature: 50, target: 50 })
})

test('a halt is on the wire at once, heater and all, and is acknowledged before the registry gives up', async (t) => {
  const bench = await readyToShake()
  await bench.run(bench.device.set_temperature!({ temperature: 50 }, calm))
  const shaking = begin(bench.device.shake!({ speed: 500, duration: 60 }, calm))
  await bench.clock.advance(10_000)
  bench.written.length = 0
  const began = bench.clock.now()
  const halting = bench.device.halt()
  t.same(bench.written, ['shakeEmergencyOff\rtempOff\r'])
  await bench.run(halting)
  t.ok(bench.clock.now() - began < 200, 'by its two ok')
  await bench.clock.advance(1000)
  t.match(bench.line.simulator.world, { moving: false, heating: false, shaker: 'loose' })
  await t.rejects(bench.run(shaking), { code: 'stopped' })
})

test('a halt during a motion of the lock cuts it short', async (t) => {
  const bench = await readyToShake()
  const unlocking = begin(bench.device.unlock_plate!({}, calm))
  await bench.clock.advance(1000)
  await bench.run(bench.device.halt())
  await t.rejects(unlocking, { code: 'stopped' })
  t.match(bench.line.simulator.world, { moving: false, lock: 'nowhere' })
})

for (const refused of ['shakeEmergencyOff', 'tempOff']) {
  test(`a halt whose ${refused} the instrument refuses is not acknowledged while it goes on`, async (t) => {
    const bench = await onSimulator({ ...driver, simulate: (at) => refusing(refused, at) })
    await bench.run(bench.device.initialize({}, calm))
    await bench.run(bench.device.lock_plate!({}, calm))
    await bench.run(bench.device.set_temperature!({ temperature: 50 }, calm))
    begin(bench.device.shake!({ speed: 500, duration: 60 }, calm))
    await bench.clock.advance(10_000)
    await t.rejects(bench.run(bench.device.halt()), { code: 'device_failed' })
  })
}

/** `before` is done between the command and the halt that counts. */
const lateOks: Record<string, (bench: { halt(): Promise<void>; late(): Promise<unknown> }) => Promise<unknown> | undefined> = {
  'a halt cuts off': () => undefined,
  'a halt before the halt cuts off': ({ halt }) => {
    halt().catch(() => undefined)
    return undefined
  },
  'came too late': ({ late }) => late(),
}
for (const [what, before] of Object.entries(lateOks)) {
  for (const settings of [{}, { model: '3000' }]) {
    test(`an ok to the command that ${what} does not stand in for the stop that the instrument refuses ${JSON.stringify(settings)}`, async (t) => {
      const { driver: same, hand } = tampered({ ...driver, simulate: (at) => refusing('shakeEmergencyOff', at) })
      const bench = await onSimulator(same, settings)
      await bench.run(bench.device.initialize({}, calm))
      if (bench.device.lock_plate) await bench.run(bench.device.lock_plate({}, calm))
      const shaking = begin(bench.device.shake!({ speed: 500, duration: 60 }, calm))
      let held: (() => void) | undefined
      // The `ok` to the start of the shake is on its way when the halt is written.
      hand.change((bytes, send) => {
        if (!held && bench.written.at(-1)?.startsWith('shakeOn')) held = () => send(bytes)
        else send(bytes)
      })
      while (!held) await bench.clock.advance(10)
      await before({ halt: () => bench.device.halt(), late: () => t.rejects(bench.run(shaking), { code: 'no_reply' }) })
      const halting = begin(bench.device.halt())
      held()
      await t.rejects(bench.run(halting), { code: 'device_failed' })
      await shaking.catch(() => undefined)
    })
  }
}

/** A simulator that answers one command with `e` and does not obey it. */
function refusing(refused: string, at: Parameters<typeof driver.simulate>[0]): ReturnType<typeof driver.simulate> {
  const its = driver.simulate(at)
  const receive = (bytes: Uint8Array) => {
    for (const command of Buffer.from(bytes).toString().split('\r').filter(Boolean)) {
      if (command === refused) at.send(Buffer.from('e\r\n'))
      else its.receive(Buffer.from(`${command}\r`))
    }
  }
  return {
    receive,
    setFault: (fault, present) => its.setFault(fault, present),
    powerOff: () => its.powerOff(),
    get world() {
      return its.world
    },
  }
}

test('a plate lock that says that it is open while it shakes fails the shake', async (t) => {
  const { driver: same, hand } = tampered(driver)
  const bench = await onSimulator(same)
  await bench.run(bench.device.initialize({}, calm))
  await bench.run(bench.device.lock_plate!({}, calm))
  const shaking = begin(bench.device.shake!({ speed: 500, duration: 60 }, calm))
  await bench.clock.advance(10_000)
  hand.change((bytes, send) => send(bench.written.at(-1) === 'getElmState\r' ? Buffer.from('3\r\n') : bytes))
  await t.rejects(bench.run(shaking), { code: 'device_failed', message: /plate lock is unlocked while it shakes/ })
})

test('an instrument widens no limit of its model', async (t) => {
  const { driver: same, hand } = tampered(driver)
  const bench = await onSimulator(same)
  const absurd: Record<string, string> = { 'getShakeMaxRpm\r': '99999', 'getShakeMinRpm\r': '0', 'getTempMax\r': '500.0' }
  hand.change((bytes, send) => {
    const answer = absurd[bench.written.at(-1)!]
    send(answer === undefined ? bytes : Buffer.from(`${answer}\r\n`))
  })
  const { limits } = await bench.run(bench.device.initialize({}, calm))
  t.match(limits, { speed: { min: 200, max: 3000 }, temperature: { min: 0, max: 99 } })
})

test('a halt that cannot be written says so', async (t) => {
  const bench = await readyToShake()
  bench.line.setFault('unplug')
  await t.rejects(bench.device.halt(), { code: 'stop_not_sent' })
})

test('a shaker without heating is not told to stop heating, and a plate not to stop shaking', async (t) => {
  const shaker = await readyToShake({ model: '3000' })
  await shaker.run(shaker.device.halt())
  t.notOk(shaker.written.includes('tempOff\r'))
  const plate = await readyToShake({ model: 'Heatplate' })
  await plate.run(plate.device.halt())
  t.notOk(plate.written.includes('shakeEmergencyOff\r'))
})

test('the restart of a real Q1 is noticed, by the words that were recorded of one', async (t) => {
  const { driver: same, hand } = tampered(driver)
  const { device, run, clock } = await onSimulator(same, { model: 'Q1' })
  await run(device.initialize({}, calm))
  await run(device.set_temperature!({ temperature: 60 }, calm))
  hand.restart()
  const words = ['Device:  Q.MTP-BioShake Q1', 'Start device self test:', 'Check ELM ............................. OK']
  for (const line of [...words, 'Initialization successfully completed.', '']) hand.say(Buffer.from(`${line}\r\n`))
  await clock.advance(1000)
  await t.rejects(run(device.check()), { code: 'device_failed', message: /restarted by itself/ })
  await run(device.halt())
  await run(device.initialize({}, calm))
  await run(device.check())
})

test('a restart without a word is noticed by the heater that is off', async (t) => {
  const { driver: same, hand } = tampered(driver)
  const { device, run } = await onSimulator(same)
  await run(device.initialize({}, calm))
  await run(device.set_temperature!({ temperature: 60 }, calm))
  await run(device.check())
  hand.restart()
  await t.rejects(run(device.check()), { code: 'device_failed', message: /set to 60 °C and its heater is off: it restarted/ })
})

test('an instrument that restarts by itself is not used until it is initialized', async (t) => {
  const bench = await readyToShake()
  byHand(bench, 'resetDevice')
  await bench.clock.advance(31_000)
  await t.rejects(bench.run(bench.device.check()), { code: 'device_failed', message: /restarted by itself/ })
  await t.rejects(bench.run(bench.device.lock_plate!({}, calm)), { code: 'device_failed', message: /restarted by itself/ })
  await bench.run(bench.device.initialize({}, calm))
  await bench.run(bench.device.check())
})

test('a check of an instrument that is too hot fails, with the error in words', async (t) => {
  const bench = await readyToShake()
  await bench.run(bench.device.check())
  bench.line.setFault('overtemperature')
  await t.rejects(bench.run(bench.device.check()), { code: 'device_failed', message: /error 210 \(too hot\)/ })
})

test('an instrument that is another model than configured is told so', async (t) => {
  const clock = new VirtualClock()
  const line = simulatedLine({
    simulate: driver.simulate,
    settings: v.parse(settings, { model: '3000' }),
    serial: driver.serial,
    clock,
    wire: clock,
  })
  await line.open()
  const device = driver.open({ line, clock, settings: v.parse(settings, { model: '3000 elm' }) })
  await clock.run(device.initialize({}, calm))
  await t.rejects(clock.run(device.lock_plate!({}, calm)), { code: 'device_failed', message: /does not know setElmLockPos/ })
})

/** The same, whose thermometer says what the test says. */
async function withThermometer() {
  const { driver: same, hand } = tampered(driver)
  const bench = await onSimulator(same)
  await bench.run(bench.device.initialize({}, calm))
  const says = (celsius: number) => {
    hand.change((bytes, send) =>
      send(/^\d+\.\d+\r\n$/.test(Buffer.from(bytes).toString()) ? Buffer.from(`${celsius.toFixed(1)}\r\n`) : bytes),
    )
  }
  return { ...bench, says }
}

test('a plate that does not get warm, or gets too hot, is switched off by the check that sees it', async (t) => {
  for (const [celsius, sentence] of [
    [22, /does not get warm/],
    [80, /it has 80 °C and was set to 60 °C/],
    [120, /hotter than it may ever be/],
    [200, /cannot be; see to its sensor/],
  ] as const) {
    const { device, run, clock, line, says } = await withThermometer()
    await run(device.set_temperature!({ temperature: 60 }, calm))
    await run(device.check())
    t.ok(line.simulator.world.heating)
    says(celsius)
    if (celsius === 22) {
      await clock.advance(590_000)
      await run(device.check())
      await clock.advance(20_000)
    }
    await t.rejects(run(device.check()), { code: 'device_failed', message: sentence })
    await clock.advance(100)
    t.notOk(line.simulator.world.heating, String(celsius))
  }
})

test('a plate that gets too hot while it shakes ends the shake', async (t) => {
  const { device, run, clock, line, says } = await withThermometer()
  await run(device.lock_plate!({}, calm))
  await run(device.set_temperature!({ temperature: 60 }, calm))
  const shaking = begin(device.shake!({ speed: 500, duration: 60 }, calm))
  await clock.advance(10_000)
  says(80)
  await t.rejects(run(shaking), { code: 'device_failed', message: /was set to 60/ })
  await clock.advance(100)
  t.notOk(line.simulator.world.heating)
})

test('a plate that cannot be asked any more is told to switch its heater off', async (t) => {
  const bench = await readyToShake()
  const { device, run, clock, line, written } = bench
  await run(device.set_temperature!({ temperature: 60 }, calm))
  line.setFault('no_reply')
  await t.rejects(run(device.check()), { code: 'no_reply' })
  t.equal(written.at(-1), 'tempOff\r')
  await clock.advance(100)
  t.notOk(line.simulator.world.heating)
})

test('a heater that is found on is watched', async (t) => {
  const { device, run, clock, line, says } = await withThermometer()
  for (const command of ['setTempTarget600', 'tempOn']) {
    byHand({ line }, command)
    await clock.advance(100)
  }
  await run(device.initialize({}, calm))
  await run(device.check())
  says(80)
  await t.rejects(run(device.check()), { code: 'device_failed', message: /was set to 60/ })
})

test('a plate that cools down to a lower target is not too hot, and is when it gets warmer again', async (t) => {
  const { device, run, clock, says } = await withThermometer()
  await run(device.set_temperature!({ temperature: 80 }, calm))
  await clock.advance(600_000)
  await run(device.set_temperature!({ temperature: 30 }, calm))
  for (let seconds = 0; seconds < 300; seconds += 2) {
    await clock.advance(2000)
    await run(device.check())
  }
  says(60)
  await t.rejects(run(device.check()), { code: 'device_failed', message: /was set to 30/ })
})

test('a run that breaks off in its last seconds is not done', async (t) => {
  for (const seconds of [0.5, 1.5, 2.5, 3.5]) {
    const { device, run, clock, line } = await readyToShake()
    const shaking = begin(device.shake!({ speed: 500, duration: 5 }, calm))
    await clock.advance(seconds * 1000)
    byHand({ line }, 'shakeOff')
    await t.rejects(run(shaking), { code: 'device_failed' }, `after ${seconds} s`)
  }
})
