// Every driver of the catalogue on a real serial port, with its simulator at the other end of a pseudo-terminal.

import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { type Test, t, test } from 'tap'
import * as v from 'valibot'
import type { OperationName } from '../src/devices/operations.ts'
import { LabError } from '../src/errors.ts'
import { scaled, sleep, systemClock } from '../src/kit/clock.ts'
import { conformance, type Subject } from './conformance.ts'
import type { Driver } from './driver.ts'
import { type DriverName, driverNames, drivers } from './index.ts'
import { serveOnPty } from './serve.ts'
import { calm } from './testing.ts'
import { serialPort } from './transports/serial_port.ts'

/** The instruments' time, and the drivers' deadlines for an answer: as fast as is stable on a busy machine. */
const time_scale = 50
const wire_scale = 3
/** They mostly wait. */
t.jobs = driverNames.length
t.setTimeout(120_000)

/** Of each, the operation that is halted and unplugged here; all are in virtual time. */
const interrupted: Record<DriverName, OperationName> = { bioshake: 'shake', a4s: 'seal', vspin: 'centrifuge', arm: 'initialize' }

for (const name of driverNames) {
  test(`${name} owes nothing on a real serial port`, { buffered: true, timeout: 120_000 }, async (t) => {
    const make = bench(t, await drivers[name]())
    await conformance(t, make, { watch_ms: 5000, interrupted: [interrupted[name]] })
    await getsOverGarbage(t, make)
  })
}

test('at a shell somebody can type a command at the simulator and read its answer', async (t) => {
  const served = await serveOnPty(await drivers.bioshake(), {}, { time_scale })
  t.teardown(() => served.close())
  const script = `exec 3<>"$0"
    for key in g e t S h a k e S t a t e '\\r'; do printf "$key" >&3; done
    head -n 1 <&3`
  const { stdout } = await promisify(execFile)('sh', ['-c', script, served.path])
  t.equal(stdout, '3\r\n')
})

async function getsOverGarbage(t: Test, make: () => Promise<Subject>): Promise<void> {
  await t.test('garbage makes initialize fail; without it, it works', async (t) => {
    const { device, setFault, clearFaults, simulator } = await make()
    setFault('garbage')
    await t.rejects(device.initialize({}, calm), LabError)
    clearFaults()
    await t.resolves(device.initialize({}, calm))
    simulator.powerOff()
  })
}

/** Makes one driver after the other on its own port. */
function bench(t: Test, driver: Driver): () => Promise<Subject> {
  const folder = t.testdir()
  let ports = 0
  return () => plugged(t, driver, `${folder}/port-${++ports}`)
}

async function plugged(t: Test, driver: Driver, link: string): Promise<Subject> {
  const settings = v.parse(driver.settings, {})
  const served = await serveOnPty(driver, {}, { time_scale, link })
  const line = serialPort({ path: link, serial: driver.serial, clock: scaled(systemClock, wire_scale) })
  const written: string[] = []
  const write = line.write.bind(line)
  line.write = (bytes) => {
    written.push(Buffer.from(bytes).toString('latin1'))
    write(bytes)
  }
  const clock = scaled(systemClock, time_scale)
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
    profile: driver.profile(settings),
    simulator: {
      get world() {
        return served.simulator.world
      },
      receive: (bytes) => served.simulator.receive(bytes),
      setFault: (fault, present) => served.simulator.setFault(fault, present),
      powerOff: () => void putAway(),
    },
    link: {
      get state() {
        return lost ? 'lost' : line.state
      },
      /** After it was unplugged the line has to notice that by itself first. */
      async open() {
        await Promise.all([mended, lost])
        lost = undefined
        await line.open()
      },
    },
    written,
    write,
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
  }
}
