// METTLER TOLEDO balances and weigh modules with the command set MT-SICS.

import type { Device, Identity, Profile } from '../../src/devices/device.ts'
import { LabError } from '../../src/errors.ts'
import type { Driver, SerialMount } from '../driver.ts'
import { OperationRunner } from '../operation_runner.ts'
import { chosenPort } from '../port_choice.ts'
import { reports } from '../reported.ts'
import { nextLine } from '../text_lines.ts'
import { Exchange } from '../transports/exchange.ts'
import { inGrams, overloaded, type Shown, underloaded, untilStable, type Weight } from '../weighing.ts'
import { WithMount } from '../with_mount.ts'
import { errorTable } from './errors.ts'
import {
  answers,
  askFirmware,
  askModel,
  askSerialNumber,
  askWeight,
  cancel,
  faultIn,
  modelIn,
  parseWeight,
  signature,
  statusOf,
  textOf,
} from './protocol.ts'
import { type Settings, settings } from './settings.ts'
import { simulate } from './simulator.ts'

export const driver: Driver<Settings> = {
  type: 'balance',
  about: { instrument: 'METTLER TOLEDO balances with MT-SICS' },
  typical: { initialize_s: 0.7 },
  settings,
  serial: { baud: 9600 },
  serialOf: chosenPort,
  signature,
  errors: () => errorTable,
  profile,
  open: (at) => new MettlerBalance(at),
  simulate,
}

const reply_ms = 1500
/** The balance itself gives up a tare that never gets stable; after this time it does not answer any more. */
const wait_ms = 55_000

function profile(): Profile {
  return { model: 'MT-SICS balance', limits: {}, features: { motionless: true } }
}

class MettlerBalance extends WithMount<SerialMount<Settings>> implements Device {
  readonly #runner = new OperationRunner(this.at.line)
  readonly #exchange = new Exchange<string, string>(this.at.line, {
    framer: nextLine,
    encode: (words) => Buffer.from(`${words}\r\n`, 'latin1'),
    gap_ms: 50,
    resync: {
      question: askSerialNumber,
      recognises: (line) => signature.test(line),
      deadline_ms: reply_ms,
      second: { question: askFirmware, recognises: answers(askFirmware), deadline_ms: reply_ms },
    },
  })
  readonly tare = this.#runner.operation((_params: object, signal) => this.#command('T', signal, 'tared'))
  readonly zero = this.#runner.operation((_params: object, signal) => this.#command('Z', signal, 'set to zero'))

  /** Cancels all commands that the balance still carries out, such as to send its weight repeatedly, and wakes the balance from standby. */
  readonly initialize = this.#runner.operation(async (_params: object, signal) => {
    await this.#mustAnswer()
    signal.throwIfAborted()
    await this.#exchange.command(cancel, { deadline_ms: reply_ms, accepts: (line) => signature.test(line) })
    return { identity: await this.identify() }
  })

  readonly weigh = this.#runner.operation(async (_params: object, signal) => {
    const { stable_s } = this.at.settings
    const { weight } = await untilStable({ clock: this.at.clock, going: signal, within_s: stable_s }, () => this.#look())
    return { weight }
  })

  async weight(): Promise<Weight> {
    const shown = await this.#look()
    if (!shown) throw new LabError('interlock', 'it is busy; wait until it is ready, then ask again')
    return inGrams(shown)
  }

  async identify(): Promise<Identity> {
    const serial_number = await this.#mustAnswer()
    const model = modelIn(await this.#query(askModel)) ?? null
    const firmware_version = textOf(await this.#query(askFirmware)) ?? null
    return { model, serial_number, firmware_version }
  }

  async check(): Promise<void> {
    await this.#mustAnswer()
  }

  /** Nothing moves or heats. A tare that waits for a stable value is cancelled. */
  async halt(): Promise<void> {
    this.#runner.stop()
    try {
      this.#exchange.interrupt(cancel)
    } catch {
      // The next question says that the port is gone.
    }
  }

  /** Returns the serial number. Only such a balance answers so. */
  async #mustAnswer(): Promise<string | null> {
    const line = await this.#query(askSerialNumber)
    const number = textOf(line)
    if (number === undefined) throw failureOf(line, askSerialNumber)
    return number
  }

  #query(question: string, answered = question): Promise<string> {
    return this.#exchange.query(question, { deadline_ms: reply_ms, accepts: answers(answered) })
  }

  /** Returns the present value; undefined while the balance is busy. */
  async #look(): Promise<Shown | undefined> {
    const line = await this.#query(askWeight, 'S')
    const shown = parseWeight(line)
    if (shown) return shown
    if (statusOf(line) === 'I') return undefined
    throw failureOf(line, askWeight)
  }

  /** Sends a command that the balance carries out at the next stable value. It is never sent twice. */
  async #command(command: string, signal: AbortSignal, what: string): Promise<void> {
    signal.throwIfAborted()
    const line = await this.#exchange.command(command, { deadline_ms: wait_ms, accepts: answers(command), isLikelySilent: true })
    const status = statusOf(line)
    if (status === 'A' || status === 'S') return
    throw status === '+' || status === '-' ? outOfRange(what, status) : failureOf(line, command)
  }
}

function outOfRange(what: string, status: '+' | '-'): LabError {
  const why = status === '+' ? 'there is too much on it' : 'its value is below zero'
  return new LabError('interlock', `it cannot be ${what}: ${why}; see that its pan is in place, clear it, then try again`)
}

/** The balance was busy, or gave up because its value was not stable in time. */
function notNow(command: string): LabError {
  return new LabError(
    'interlock',
    `it could not carry out the command ${command} now, because it is busy or was not stable in time; close its draft shield, and see that nothing touches the pan, then try again`,
  )
}

/** Makes the error for an answer that is not the wanted one. */
function failureOf(line: string, command: string): LabError {
  const fault = faultIn(line)
  if (fault !== undefined) return reports(errorTable, [fault])
  const status = statusOf(line)
  if (status === '+') return overloaded()
  if (status === '-') return underloaded()
  if (status === 'I') return notNow(command)
  return new LabError('device_failed', `${why(status, command, line)}, then initialize`)
}

function why(status: string, command: string, line: string): string {
  if (status === 'ES') return `it does not know the command ${command} (ES); see that its interface is set to MT-SICS`
  if (status === 'ET') return `it received the command ${command} with errors (ET); see that baud and framing are those of its menu`
  if (status === 'EL') return `it cannot carry out the command ${command} (EL); see its display`
  if (status === 'L') return `it refused the command ${command} as not allowed (L); see its display`
  return `it answered ${JSON.stringify(line.slice(0, 40))} to ${command}; see its display`
}
