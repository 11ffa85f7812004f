// Devices that only read pass the conformance suite: a balance that answers questions, and a scanner that is never asked anything.

import { type Test, test } from 'tap'
import * as v from 'valibot'
import type { Driver, SerialMount } from '../../drivers/driver.ts'
import { OperationRunner, unlessAborted } from '../../drivers/operation_runner.ts'
import { TextPort } from '../../drivers/simulated_port.ts'
import { nextLine } from '../../drivers/text_lines.ts'
import { Exchange } from '../../drivers/transports/exchange.ts'
import type { InstrumentEnd, Simulator } from '../../drivers/transports/simulator.ts'
import { WithMount } from '../../drivers/with_mount.ts'
import type { Device } from '../devices/device.ts'
import { notOpen } from '../devices/failure.ts'
import { LabError } from '../errors.ts'
import { deferred } from '../kit/deferred.ts'
import { operationOf } from '../testing/drivers/real_lines.ts'
import { conformance, conformanceInVirtualTime } from './conformance.ts'
import { conformanceOfHalts } from './halt_conformance.ts'
import { conformanceOfIdling } from './idle_conformance.ts'
import { conformanceOfStops } from './stop_conformance.ts'
import { virtualSubject } from './virtual_subject.ts'
import { conformanceOnTheWire } from './wire_conformance.ts'

type Mount = SerialMount<unknown>
type End = InstrumentEnd<unknown>

const common = {
  settings: v.strictObject({}),
  serial: { baud: 9600 },
  typical: { initialize_s: 0.1 },
  profile: () => ({ model: 'test', limits: {}, features: { motionless: true } }),
}

const balance: Driver = {
  ...{ ...common, type: 'balance', about: { instrument: 'a balance' } },
  open: (at) => new Balance(at),
  simulate: (at) => new Instrument(at, (line, say) => say(line === 'I4' ? 'I4 A "1"' : 'S S 1.25 g')),
}
const scanner: Driver = {
  ...{ ...common, type: 'scanner', about: { instrument: 'a scanner' } },
  open: (at) => new Scanner(at),
  simulate: (at) => new Instrument(at, undefined, 'ABC-1'),
}

class Balance extends WithMount<Mount> implements Device {
  readonly #runner = new OperationRunner(this.at.line)
  readonly #exchange = new Exchange<string, string>(this.at.line, {
    framer: nextLine,
    encode: (question) => Buffer.from(`${question}\r\n`),
    gap_ms: 10,
    resync: { question: 'I4', recognises: (text) => text.startsWith('I4 A') },
  })

  async identify() {
    const text = await this.#exchange.query('I4', { deadline_ms: 1000, accepts: (frame) => /^I4 A "\d+"$/.test(frame) })
    return { model: null, serial_number: text.slice(6, -1), firmware_version: null }
  }

  readonly initialize = this.#runner.operation(async () => ({ identity: await this.identify() }))
  readonly weight = async () => ({ weight: await this.#weight(), stable: true })
  readonly weigh = this.#runner.operation(async (_params: object, going) => ({ weight: await unlessAborted(this.#weight(), going) }))

  async #weight(): Promise<number> {
    return Number((await this.#exchange.query('S', { deadline_ms: 1000, accepts: (frame) => /^S S [\d.]+ g$/.test(frame) })).slice(4, -2))
  }

  async check() {
    await this.identify()
  }

  async halt() {
    this.#runner.stop()
  }
}

class Scanner extends WithMount<Mount> implements Device {
  readonly #runner = new OperationRunner(this.at.line)
  #next = deferred<string>()
  #text = ''

  constructor(at: Mount) {
    super(at)
    at.line.onBytes((bytes) => {
      const lines = (this.#text + Buffer.from(bytes).toString('latin1')).split('\r')
      this.#text = lines.pop()!.slice(0, 100)
      for (const line of lines.map((line) => line.trim())) {
        if (/^ABC-\d$/.test(line)) this.#next.resolve(line)
        else this.#next.reject(new LabError('device_failed', 'it speaks, but sends no barcode; see that the baud rate is right'))
      }
    })
  }

  async identify() {
    return null
  }

  readonly initialize = this.#runner.operation(async () => ({ identity: null }))
  readonly scan = this.#runner.operation(async (_params: object, going) => {
    this.#text = ''
    this.#next = deferred()
    this.#next.promise.catch(() => undefined)
    return { barcode: await unlessAborted(this.#next.promise, going) }
  })

  async check() {
    if (this.at.line.state !== 'open') throw notOpen('the line')
  }

  async halt() {
    this.#runner.stop()
  }
}

/** An instrument that speaks by itself does it this often. An answer without end of the suite has gone over the line by then. */
const every_ms = 10_000

/** Answers questions, or says something by itself. */
class Instrument extends WithMount<End> implements Simulator {
  readonly #port: TextPort
  readonly world = { moving: false, heating: false }
  #cancel = () => {}

  constructor(at: End, answer: (line: string, say: (text: string) => void) => void = () => {}, by_itself?: string) {
    super(at)
    const say = (text: string) => this.#port.say(text)
    this.#port = new TextPort({ ...at, answer_ms: 20, longest: 40, ending: '\r\n', hear: (line) => answer(line, say) })
    const tick = () => {
      say(by_itself!)
      this.#cancel = at.clock.after(every_ms, tick)
    }
    if (by_itself !== undefined) this.#cancel = at.clock.after(every_ms, tick)
  }

  receive(bytes: Uint8Array): void {
    this.#port.receive(bytes)
  }

  setFault(): boolean {
    return false
  }

  powerOff(): void {
    this.#cancel()
    this.#port.powerOff()
  }
}

for (const driver of [balance, scanner]) {
  test(`${driver.about.instrument} passes the conformance tests`, async (t: Test) => {
    const make = () => virtualSubject(driver)
    await conformance(t, make)
    await conformanceInVirtualTime(t, make)
    await conformanceOnTheWire(t, make)
    await conformanceOfStops(t, make)
    await conformanceOfHalts(t, driver, {})
    await conformanceOfIdling(t, driver, {})
  })
}

test('the operation that is tried on a real line follows from the device', (t) => {
  t.equal(operationOf(balance), 'weigh')
  t.equal(operationOf(scanner), 'scan')
  t.equal(operationOf({ ...scanner, trial: { operation: 'initialize' } }), 'initialize')
  t.end()
})
