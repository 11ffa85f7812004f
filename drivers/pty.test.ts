// Every driver of the catalogue on a real serial port, with its simulator at the other end of a pseudo-terminal.

import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { promisify } from 'node:util'
import { type Test, t, test } from 'tap'
import * as v from 'valibot'
import { halted, undisturbed, unplugged } from '../src/conformance/conformance.ts'
import type { Subject } from '../src/conformance/subject.ts'
import { type Hand, tampered } from '../src/conformance/tampered.ts'
import type { Identity } from '../src/devices/device.ts'
import { LabError } from '../src/errors.ts'
import { scaled, sleep } from '../src/kit/clock.ts'
import { operationOf, paceOf } from '../src/testing/drivers/real_lines.ts'
import { calm, stallFreeClock } from '../src/testing/drivers.ts'
import { type Driver, isOnPins, serialOf } from './driver.ts'
import { type DriverName, driverNames, drivers } from './index.ts'
import { serveOnPty } from './serve.ts'
import { serialPort } from './transports/serial_port.ts'

type Trial = { name: DriverName; driver: Driver; time_scale: number }

/** Every driver on a serial line; those whose tests take longest begin. A pseudo-terminal takes eight bits and no parity, whatever is asked of it: that `ika_shaker` speaks 7E1 is not tried here. */
const trials: Trial[] = []
for (const name of driverNames) {
  const driver = await drivers[name]()
  if (!isOnPins(driver) && driver.serial) trials.push({ name, driver, time_scale: paceOf(driver) })
}
const takes_s = ({ driver, time_scale }: Trial) => driver.typical.initialize_s / time_scale
trials.sort((one, other) => takes_s(other) - takes_s(one))
/** The clock of drivers, ports and simulators. A busy machine makes a test longer and does not change what the test sees. */
const realClock = stallFreeClock()
/** All at once: they mostly wait. */
t.jobs = 16
/** Without `tap run`, a test has 30 s. A VSpin needs as long on a quiet machine, because its pauses between frames are in real time. */
const patience = { timeout: 1_200_000 }
t.setTimeout(patience.timeout)

for (const trial of trials) {
  const names = [operationOf(trial.driver)]
  onPort(trial, 'works on a real serial port', undisturbed)
  onPort(trial, 'is halted on a real serial port', (t, make) => halted(t, make, { names, watch_ms: 5000 }))
  onPort(trial, 'is unplugged from a real serial port', (t, make) => unplugged(t, make, { names }))
  onPort(trial, 'gets over garbage on a real serial port', getsOverGarbage)
  onPort(trial, 'takes no late reply for another on a real serial port', takesNoLateReply)
  onPort(trial, 'is unplugged from a real serial port while nothing runs', isUnpluggedIdle)
}

test('at a shell somebody can type a command at the simulator and read its answer', async (t) => {
  const served = await serveOnPty(await drivers.bioshake(), {}, { time_scale: 20 })
  t.teardown(() => served.close())
  const script = `exec 3<>"$0"
    for key in g e t S h a k e S t a t e '\\r'; do printf "$key" >&3; done
    head -n 1 <&3`
  const { stdout } = await promisify(execFile)('sh', ['-c', script, served.path])
  t.equal(stdout, '3\r\n')
})

test('an answer that came while the machine did not let this process run is taken, however long that was', async (t) => {
  const echo = spawn('cat')
  const answer = once(echo.stdout, 'data').then(() => 'the answer')
  await once(echo, 'spawn')
  const late = sleep(realClock, 250).then(() => 'too late')
  echo.stdin.end('?')
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 500)
  t.equal(await Promise.race([answer, late]), 'the answer')
})

test('inheco_incubator_shaker is halted on a real serial port whose answers take their time, as on a busy machine', {
  buffered: true,
}, async (t) => {
  const driver = await drivers.inheco_incubator_shaker()
  const link = `${t.testdir()}/port`
  await halted(
    t,
    async () => {
      const subject = await plugged(t, driver, { link, time_scale: 20 })
      subject.hand.change((bytes, send) => setTimeout(send, 200, bytes))
      return subject
    },
    { names: ['shake'], watch_ms: 5000 },
  )
})

function onPort({ name, driver, time_scale }: Trial, does: string, tried: (t: Test, make: () => Promise<OnPort>) => Promise<void>): void {
  test(`${name} ${does}`, { buffered: true, ...patience }, async (t) => {
    const folder = t.testdir()
    let ports = 0
    await tried(t, () => plugged(t, driver, { link: `${folder}/port-${++ports}`, time_scale }))
  })
}

async function getsOverGarbage(t: Test, make: () => Promise<Subject>): Promise<void> {
  const { device, setFault, clearFaults, simulator, written } = await make()
  setFault('garbage')
  const initialized = await device.initialize({}, calm).catch(asError)
  // A device that has nothing to ask its instrument cannot notice it then.
  if (written.length > 0) t.ok(initialized instanceof LabError)
  clearFaults()
  await t.resolves(device.initialize({}, calm))
  simulator.powerOff()
}

/** Whoever asks has given up by then, for the first time at least. */
const lateFor_ms = 2500

/** What is late comes when the next question has been asked, and before its answer: the first that is said to `identify`, or all but that. */
async function takesNoLateReply(t: Test, make: () => Promise<OnPort>): Promise<void> {
  const { device, hand, simulator } = await make()
  await device.initialize({}, calm)
  const [identity, reading] = [await device.identify(), await device.get_temperature?.()]
  for (const inTime of [0, 1]) {
    const held: Uint8Array[] = []
    let said = 0
    hand.change((bytes, send) => (said++ < inTime ? send(bytes) : held.push(bytes)))
    const missed = device.identify().catch(asError)
    await Promise.race([sleep(realClock, lateFor_ms), missed])
    hand.change((bytes, send) => {
      for (const late of held.splice(0)) send(late)
      send(bytes)
    })
    for (let times = 0; times < 4; times++) {
      const [who, how] = [await device.identify().catch(asError), await device.get_temperature?.().catch(asError)]
      isOwn(t, who, identity)
      if (how && !(how instanceof Error))
        t.ok(Math.abs(how.temperature - reading!.temperature) < 3 && how.target === reading!.target, 'a reading', how)
    }
    const first = await missed
    isOwn(t, first, identity)
  }
  hand.leave()
  t.same(await device.identify(), identity, 'in the end it is answered again')
  simulator.powerOff()
}

/** Its own answers or none: what need not be answered is null when it was not. */
function isOwn(t: Test, who: Identity | null | Error, identity: Identity | null): void {
  if (who === null || who instanceof Error) return
  for (const [member, value] of Object.entries(who))
    t.ok(value === null || value === identity?.[member as keyof Identity], `${member} ${value}`)
}

async function isUnpluggedIdle(t: Test, make: () => Promise<OnPort>): Promise<void> {
  const { device, link, setFault, clearFaults, simulator, written } = await make()
  await device.initialize({}, calm)
  const identity = await device.identify()
  setFault('unplug')
  await link.noticed()
  await t.rejects(device.check(), { code: 'disconnected' })
  clearFaults()
  written.length = 0
  await link.open()
  t.same(written, [], 'nothing is said unasked')
  t.same(await device.identify(), identity)
  t.notOk(simulator.world.moving, 'and nothing moves')
  await t.resolves(device.initialize({}, calm))
  simulator.powerOff()
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error))
}

type OnPort = Subject & { hand: Hand; link: { noticed(): Promise<unknown> } }

async function plugged(t: Test, real: Driver, options: { link: string; time_scale: number }): Promise<OnPort> {
  const { link, time_scale } = options
  const { driver, hand } = tampered(real)
  const settings = v.parse(driver.settings, {})
  const served = await serveOnPty(driver, {}, { ...options, clock: realClock })
  const line = serialPort({ path: link, serial: serialOf(driver, settings), clock: realClock })
  const written: string[] = []
  line.onWire((direction, bytes) => {
    if (direction === 'to_device') written.push(Buffer.from(bytes).toString('latin1'))
  })
  const clock = scaled(realClock, time_scale)
  const device = driver.open({ line, clock, settings })
  let mended = Promise.resolve()
  let lost: Promise<string> | undefined
  const putAway = async () => {
    await mended
    await line.close()
    await served.close()
  }
  t.teardown(putAway)
  await line.open()
  return {
    device,
    hand,
    profile: driver.profile(settings),
    simulator: {
      get world() {
        return served.simulator.world
      },
      setFault: (fault, present) => served.simulator.setFault(fault, present),
      powerOff: () => void putAway(),
      get places() {
        return served.simulator.places
      },
    },
    hangsOn: 'line',
    link: {
      get state() {
        return lost ? 'lost' : line.state
      },
      noticed: async () => lost,
      /** After it was unplugged the line has to notice that by itself first. */
      async open() {
        await Promise.all([mended, lost])
        lost = undefined
        await line.open()
      },
    },
    written,
    write: (bytes) => line.write(bytes),
    setFault(fault) {
      if (fault === 'unplug') lost = new Promise((resolve) => line.onLost(resolve))
      return served.setFault(fault)
    },
    clearFaults() {
      mended = served.clearFaults()
    },
    run: (promise) => promise,
    pass: (ms) => sleep(clock, ms),
    now: () => clock.now(),
    realTime: true,
  }
}
