// Every driver on a line against the instrument of every other one, in virtual time: which instruments it takes for its own, and how it refuses others.

import { type Test, test } from 'tap'
import * as v from 'valibot'
import { isOnPins, type LineDriver } from '../../drivers/driver.ts'
import { type DriverName, driverNames, drivers } from '../../drivers/index.ts'
import { type Fault, simulatedLine } from '../../drivers/transports/simulated_line.ts'
import type { InstrumentEnd, Simulator } from '../../drivers/transports/simulator.ts'
import type { Identity } from '../devices/device.ts'
import { LabError } from '../errors.ts'
import { VirtualClock } from '../kit/clock.ts'
import { askOnce, WrongInstrument } from './identity.ts'

type Named = { name: DriverName; driver: LineDriver }

const onLines: Named[] = []
for (const name of driverNames) {
  const driver = await drivers[name]()
  if (!isOnPins(driver)) onLines.push({ name, driver })
}

type Outcome = { identity?: Identity | null; error?: LabError; heard: string; written: string; stirred: boolean }

/** Makes the instrument, or another program, at the far end of the line. */
type FarEnd = (at: Pick<InstrumentEnd<unknown>, 'send' | 'clock'>) => Simulator

const instrumentOf =
  ({ driver }: Named): FarEnd =>
  (at) =>
    driver.simulate({ ...at, settings: v.parse(driver.settings, {}) })

/** Asks over a line that has the speed of the driver, also where the instrument would want another one. */
async function ask(driver: LineDriver, farEnd: FarEnd, fault?: Fault): Promise<Outcome> {
  const clock = new VirtualClock()
  const settings = v.parse(driver.settings, {})
  const link = simulatedLine({ ...driver, simulate: farEnd, settings, clock, wire: clock })
  if (fault) link.setFault(fault)
  const said = { to_host: '', to_device: '' }
  link.onWire((direction, bytes) => {
    said[direction] += Buffer.from(bytes).toString('latin1')
  })
  const outcome = await clock.run(
    askOnce({ device: driver.open({ line: link, clock, settings }), link }, driver, clock).then(
      (identity) => ({ identity }),
      (error: LabError) => ({ error }),
    ),
  )
  const { moving, heating } = link.simulator.world
  link.simulator.powerOff()
  return { ...outcome, heard: said.to_host, written: said.to_device, stirred: moving || heating }
}

/** The drivers whose signature is in what was heard. */
function fitting(heard: string): DriverName[] {
  return onLines.filter(({ driver }) => driver.signature?.test(heard)).map(({ name }) => name)
}

/** Drivers of one family share the signature: how their instruments answer does not tell them apart. */
function family({ driver: { signature } }: Named): DriverName[] {
  return onLines.filter(({ driver }) => signature !== undefined && driver.signature === signature).map(({ name }) => name)
}

function isRefused(t: Test, { error, heard, written, identity, stirred }: Outcome, what: string): void {
  t.notOk(stirred, `${what}: nothing moves and nothing heats`)
  if (written === '' && identity === null) return
  t.ok(error instanceof LabError, `${what} is refused`)
  t.equal(error instanceof WrongInstrument, heard !== '', `${what}: silence is no wrong answer`)
  if (heard === '') t.equal(error?.code, 'no_reply')
}

for (const asker of onLines) {
  const { name, driver } = asker
  test(`${name} takes its own instrument, which no other signature matches`, async (t) => {
    const { error, identity, heard } = await ask(driver, instrumentOf(asker))
    t.equal(error, undefined)
    t.equal(driver.signature === undefined, heard === '', 'a driver whose instrument says something has a signature')
    t.same(fitting(heard), family(asker), heard)
    if (identity) t.notMatch(JSON.stringify(identity), /u -> |ERR|syntax/)
  })

  test(`${name} refuses the instruments of other drivers, and the driver that fits is named`, async (t) => {
    for (const other of onLines.filter((other) => other !== asker && !family(asker).includes(other.name))) {
      const outcome = await ask(driver, instrumentOf(other))
      const { error, heard } = outcome
      isRefused(t, outcome, other.name)
      if (!other.driver.signature?.test(heard)) continue
      t.match(error?.message, `as an instrument of the driver ${family(other).join(' or ')} does`)
    }
  })

  test(`${name} refuses garbage, an echo and silence`, async (t) => {
    isRefused(t, await ask(driver, instrumentOf(asker), 'garbage'), 'garbage')
    isRefused(t, await ask(driver, instrumentOf(asker), 'no_reply'), 'silence')
    const stands = { moving: false, heating: false }
    const echo: FarEnd = ({ send }) => ({ receive: send, setFault: () => false, powerOff() {}, world: stands })
    const outcome = await ask(driver, echo)
    isRefused(t, outcome, 'an echo')
    t.notMatch(outcome.error?.message ?? '', /instrument of the driver/, 'an echo is the instrument of no driver')
  })
}

test('an error message of a BioShake is no name of an IKA shaker, and shows the driver that fits', async (t) => {
  const bioshake = onLines.find(({ name }) => name === 'bioshake')!
  const { error } = await ask((await drivers.ika_shaker()) as LineDriver, instrumentOf(bioshake))
  const sentence =
    'it answers "u -> IN_PV_4", as an instrument of the driver bioshake does; see that the driver and the port are the right ones'
  t.match(error, { code: 'device_failed', message: sentence })
})
