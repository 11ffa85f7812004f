// Sartorius balances with the Sartorius Balance Interface. They acknowledge no command, so that only the value shows what was done.

import type { Device, Identity, Profile } from '../../src/devices/device.ts'
import { LabError } from '../../src/errors.ts'
import type { Driver, SerialMount } from '../driver.ts'
import { OperationRunner } from '../operation_runner.ts'
import { chosenPort } from '../port_choice.ts'
import { reports } from '../reported.ts'
import { nextLine } from '../text_lines.ts'
import { Exchange } from '../transports/exchange.ts'
import { inGrams, overloaded, underloaded, untilStable, type Weight } from '../weighing.ts'
import { WithMount } from '../with_mount.ts'
import { errorTable } from './errors.ts'
import {
  answersPrint,
  askFirmware,
  askModel,
  askSerialNumber,
  encode,
  failures,
  isFirmware,
  isModel,
  isSerialNumber,
  parse,
  print,
  type Status,
  signature,
  tare,
  type Value,
  zero,
} from './protocol.ts'
import { type Settings, settings } from './settings.ts'
import { simulate } from './simulator.ts'

export const driver: Driver<Settings> = {
  type: 'balance',
  about: { instrument: 'Sartorius balances with SBI' },
  typical: { initialize_s: 0.6 },
  trial: { variants: [{ line: '16' }] },
  settings,
  serial: { baud: 9600, parity: 'odd' },
  serialOf: chosenPort,
  signature,
  errors: () => errorTable,
  profile,
  open: (at) => new SartoriusBalance(at),
  simulate,
}

const reply_ms = 2000
/** A value that was tared, or set to zero, may be off by so many of its last digits. */
const nearZero = 10

function profile(): Profile {
  return { model: 'SBI balance', limits: {}, features: { motionless: true } }
}

class SartoriusBalance extends WithMount<SerialMount<Settings>> implements Device {
  readonly #runner = new OperationRunner(this.at.line)
  readonly #exchange = new Exchange<string, string>(this.at.line, {
    framer: nextLine,
    encode,
    gap_ms: 50,
    resync: {
      question: askModel,
      recognises: isModel,
      deadline_ms: reply_ms,
      second: { question: askSerialNumber, recognises: isSerialNumber, deadline_ms: reply_ms },
    },
  })
  /** The unit of the last stable value: a value that is not stable comes without one. */
  #unit = ''
  readonly tare = this.#runner.operation((_params: object, signal) => this.#toZero(tare, 'tare', signal))
  readonly zero = this.#runner.operation((_params: object, signal) => this.#toZero(zero, 'set itself to zero', signal))

  readonly initialize = this.#runner.operation(async (_params: object, _signal) => ({ identity: await this.identify() }))

  readonly weigh = this.#runner.operation(async (_params: object, signal) => {
    const { weight } = await untilStable(this.#waiting(signal), () => this.#look())
    return { weight }
  })

  async weight(): Promise<Weight> {
    const shown = await this.#look()
    if (!shown) throw new LabError('interlock', 'it is busy, as while it is adjusted; wait until it is ready, then ask again')
    const unit = shown.unit || this.#unit
    if (unit === '') throw new LabError('interlock', 'it tells its unit only when it is stable; wait until it is, then ask again')
    return inGrams({ ...shown, unit })
  }

  /** Asks for the value first: no other known instrument answers so. */
  async identify(): Promise<Identity> {
    await this.#said()
    return {
      model: await this.#query(askModel, isModel),
      serial_number: await this.#query(askSerialNumber, isSerialNumber),
      firmware_version: await this.#query(askFirmware, isFirmware),
    }
  }

  async check(): Promise<void> {
    const said = await this.#said()
    if (said.kind === 'error' || said.kind === 'failed' || said.kind === 'off') throw failureOf(said)
  }

  /** Nothing moves or heats. A question is written in place of a stop, which such a balance does not know. */
  async halt(): Promise<void> {
    this.#runner.stop()
    try {
      this.#exchange.interrupt(print)
    } catch {
      // The next question says that the port is gone.
    }
  }

  #waiting(going: AbortSignal) {
    return { clock: this.at.clock, going, within_s: this.at.settings.stable_s }
  }

  #query(question: string, accepts: (line: string) => boolean): Promise<string> {
    return this.#exchange.query(question, { deadline_ms: reply_ms, accepts })
  }

  async #said(): Promise<Value | Status> {
    return parse(await this.#query(print, answersPrint))!
  }

  /** Returns the present value; undefined while the balance is busy. */
  async #look(): Promise<Value | undefined> {
    const said = await this.#said()
    if (said.kind === 'busy') return undefined
    if (said.kind !== 'value') throw failureOf(said)
    if (said.stable) this.#unit = said.unit
    return said
  }

  /** Sends a command once, and waits until the balance shows a stable zero. */
  async #toZero(command: string, what: string, signal: AbortSignal): Promise<void> {
    await this.#look()
    signal.throwIfAborted()
    await this.#exchange.tell(command)
    await untilStable(this.#waiting(signal), () => this.#look(), {
      passes: ({ value, step }) => Math.abs(value) <= nearZero * step,
      late: ({ value, unit }) =>
        new LabError(
          'interlock',
          `it was told to ${what}, and still shows ${value} ${unit}; see its display, clear the pan, then try again`,
        ),
    })
  }
}

function failureOf(said: Exclude<Status, { kind: 'busy' }>): LabError
function failureOf(said: Status): LabError {
  if (said.kind === 'overload' || (said.kind === 'error' && said.number === 55)) return overloaded()
  if (said.kind === 'underload' || (said.kind === 'error' && said.number === 54)) return underloaded()
  if (said.kind === 'error') return reports(errorTable, [said.number])
  if (said.kind === 'failed') {
    const [meaning, action] = failures[said.word]
    return new LabError('device_failed', `it reports ${said.word} (${meaning}); ${action}, then initialize`)
  }
  return new LabError('device_failed', 'it is in standby; switch it on, then initialize')
}
