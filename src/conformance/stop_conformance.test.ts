// Drivers that confirm a stop without evidence do not pass the conformance tests.

import { type Test, test } from 'tap'
import * as v from 'valibot'
import { driver as bioshake } from '../../drivers/bioshake/driver.ts'
import type { Driver } from '../../drivers/driver.ts'
import type { Device } from '../devices/device.ts'
import { onSimulator } from './on_simulator.ts'
import { conformanceOfStops } from './stop_conformance.ts'
import { tampered } from './tampered.ts'
import type { VirtualSubject } from './wire_conformance.ts'

type Bioshake = typeof bioshake
type Mount = Parameters<Bioshake['open']>[0]
type Halt = (at: Mount, device: Device) => Promise<void>

const stop = Buffer.from('shakeEmergencyOff\rtempOff\r')

/** How a wrong driver halts, and what the tests say of it. */
const wrong: Record<string, { halt: Halt; says: RegExp }> = {
  'takes any byte for an answer': {
    says: /shake: the first halt is not confirmed/,
    halt: (at) =>
      new Promise((resolve) => {
        at.line.onBytes(() => resolve())
        at.line.write(stop)
      }),
  },
  'takes silence for consent': {
    says: /set_temperature, whose answers come 700 ms late: the halt is not confirmed/,
    async halt(at) {
      at.line.write(stop)
      await new Promise<void>((resolve) => at.line.clock.after(300, resolve))
    },
  },
  'confirms what it could not send': {
    says: /shake: it says that the halt was not sent/,
    async halt(at) {
      if (at.line.state === 'open') at.line.write(stop)
    },
  },
  'forgets the heater': {
    says: /set_temperature, without frame 1 of the halt: nothing heats/,
    async halt(at) {
      at.line.write(Buffer.from('shakeEmergencyOff\r'))
    },
  },
}

for (const [what, { halt, says }] of Object.entries(wrong))
  test(`a driver that ${what} does not pass`, async (t) => {
    const driver = { ...bioshake, open: (at: Mount) => haltedBy(bioshake.open(at), (device) => halt(at, device)) }
    t.match((await failuresOf(driver)).join('\n'), says)
  })

test('the driver itself passes', async (t) => {
  t.same(await failuresOf(bioshake), [])
})

/** The same device with another halt. */
function haltedBy(device: Device, halt: (device: Device) => Promise<void>): Device {
  return new Proxy(device, {
    get(target, name) {
      if (name === 'halt') return () => halt(target)
      const value: unknown = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

async function failuresOf(driver: Bioshake): Promise<string[]> {
  const failures: string[] = []
  const note = (passes: boolean, what: string) => passes || failures.push(what)
  const recorder = {
    test: (_name: string, body: (t: unknown) => Promise<void>) => body(recorder),
    ok: (value: unknown, what: string) => note(Boolean(value), what),
    notOk: (value: unknown, what: string) => note(!value, what),
  }
  await conformanceOfStops(recorder as unknown as Test, () => subject(driver))
  return failures
}

async function subject<Settings>(original: Driver<Settings>): Promise<VirtualSubject> {
  const { driver, hand } = tampered(original)
  const { device, clock, written, run, line } = await onSimulator(driver, {})
  return {
    ...{ device, hand, written, run, hangsOn: 'line', link: line, simulator: line.simulator, showsRestart: true },
    profile: driver.profile(v.parse(driver.settings, {})),
    onWire: (watch) => line.onWire(watch),
    setFault: (fault) => line.setFault(fault),
    clearFaults: () => line.clearFaults(),
    pass: (ms) => clock.advance(ms),
    now: () => clock.now(),
  }
}
