// Keyence BL barcode readers: a command begins a scan, another ends it, and the motor of the laser can be asked for.

import type { Device, Identity, Profile } from '../../src/devices/device.ts'
import { LabError } from '../../src/errors.ts'
import type { Driver, SerialMount } from '../driver.ts'
import { until } from '../host_timed.ts'
import { OperationRunner } from '../operation_runner.ts'
import { chosenPort } from '../port_choice.ts'
import { refused } from '../reported.ts'
import { nextLine } from '../text_lines.ts'
import { Exchange, isNoReply } from '../transports/exchange.ts'
import { WithMount } from '../with_mount.ts'
import { errorTable } from './errors.ts'
import { askMotor, isMotor, isOutcome, parse, type Said, signature, triggerOff, triggerOn } from './protocol.ts'
import { type Settings, settings } from './settings.ts'
import { simulate } from './simulator.ts'

export const driver: Driver<Settings> = {
  type: 'scanner',
  about: { instrument: 'Keyence BL barcode readers' },
  typical: { initialize_s: 0.1 },
  settings,
  serial: { baud: 9600, data_bits: 7, parity: 'even' },
  serialOf: chosenPort,
  signature,
  errors: () => errorTable,
  profile,
  open: (at) => new KeyenceReader(at),
  simulate,
}

const reply_ms = 1000
/** How long the motor may take to run after the reader was switched on. */
const motor_s = 3

function profile(): Profile {
  return { model: 'BL', limits: {}, features: { motionless: true } }
}

class KeyenceReader extends WithMount<SerialMount<Settings>> implements Device {
  readonly #runner = new OperationRunner(this.at.line)
  readonly #exchange = new Exchange<string, string>(this.at.line, {
    framer: nextLine,
    encode: (words) => Buffer.from(`${words}\r`, 'latin1'),
    gap_ms: 50,
    resync: { question: askMotor, recognises: isMotor, deadline_ms: reply_ms },
    unsolicited: (line) => this.#notice(line),
  })
  #last: string | null = null
  #isScanning = false

  async identify(): Promise<Identity> {
    await this.#motorRuns()
    return { model: 'BL', serial_number: null, firmware_version: null }
  }

  readonly initialize = this.#runner.operation(async (_params: object, signal) => {
    const late = () => 'its motor does not run; see that it is switched on and that its lamp is on, then initialize'
    const looking = { clock: this.at.clock, going: signal, within_s: motor_s, every_ms: 300 }
    await until(looking, () => this.#motorRuns(), Boolean, late)
    return { identity: await this.identify() }
  })

  /** Resolves with the first code that the reader sends after its begin. */
  readonly scan = this.#runner.operation(async (_params: object, signal) => {
    signal.throwIfAborted()
    this.#isScanning = true
    try {
      const said = parse(await this.#outcome())!
      if (said.kind === 'code') return { barcode: said.barcode }
      throw failureOf(said)
    } finally {
      this.#isScanning = false
      // A halt has ended it already.
      if (!signal.aborted) await this.#exchange.tell(triggerOff).catch(() => undefined)
    }
  })

  /** Asks once for a code. Without one, the answer to a question tells a reader that sees no code from one that is not there. */
  async #outcome(): Promise<string> {
    const { timeout_s } = this.at.settings
    try {
      return await this.#exchange.command(triggerOn, { deadline_ms: timeout_s * 1000, accepts: isOutcome, isLikelySilent: true })
    } catch (cause) {
      if (!isNoReply(cause)) throw cause
      await this.#exchange.tell(triggerOff)
      await this.#motorRuns()
      throw nothingRead(`it read no code within ${timeout_s} s`)
    }
  }

  async barcode(): Promise<{ barcode: string | null }> {
    return { barcode: this.#last }
  }

  async check(): Promise<void> {
    await this.#motorRuns()
  }

  async halt(): Promise<void> {
    this.#runner.stop()
    try {
      this.#exchange.interrupt(triggerOff)
    } catch {
      // Nothing moves or heats, and the next question says that the port is gone.
    }
  }

  async #motorRuns(): Promise<boolean> {
    const said = parse(await this.#exchange.query(askMotor, { deadline_ms: reply_ms, accepts: isMotor }))
    return said?.kind === 'motor' && said.isOn
  }

  /** Keeps each code. One that comes without a scan, as after a trigger at its input, is expected. */
  #notice(line: string): boolean {
    const said = parse(line)
    if (said?.kind === 'code') this.#last = said.barcode
    return said !== undefined && said.kind !== 'motor' && !this.#isScanning
  }
}

function failureOf(said: Exclude<Said, { kind: 'code' }>): LabError {
  if (said.kind === 'error') return refused(errorTable, triggerOn, [said.number])
  if (said.kind === 'nothing') return nothingRead('it read no code')
  return new LabError(
    'device_failed',
    'it cannot read now (NG); see that its lamp is on and that nobody has switched its laser off, then initialize',
  )
}

function nothingRead(what: string): LabError {
  return new LabError('interlock', `${what}; see that the code faces the reader, is clean and not covered, then scan again`)
}
