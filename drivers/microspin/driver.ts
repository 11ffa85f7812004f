// HighRes MicroSpin: a centrifuge for two plates, on Ethernet. It is stopped over a second connection, because the first one waits for the end of a motion.

import type { Device, Identity } from '../../src/devices/device.ts'
import { LabError } from '../../src/errors.ts'
import type { SerialMount, TcpDriver } from '../driver.ts'
import { OperationRunner } from '../operation_runner.ts'
import { furtherOf } from '../transports/joined_lines.ts'
import { WithMount } from '../with_mount.ts'
import { errors, failed } from './errors.ts'
import { clearAbort, home, homedStatus, signature, status, valueIn, version } from './protocol.ts'
import { profile, type Settings, settings } from './settings.ts'
import { simulate } from './simulator.ts'
import { Talk } from './talk.ts'

export const driver: TcpDriver<Settings> = {
  type: 'centrifuge',
  about: { instrument: 'HighRes MicroSpin' },
  typical: { initialize_s: 8.1 },
  settings,
  tcp: { port: 1000, further: ['abort'] },
  trial: { variants: [{ deceleration: 20, bucket: 2 }] },
  signature,
  profile,
  errors: () => errors,
  open: (at) => new MicroSpin(at),
  simulate,
}

/** Turns the operations of a MicroSpin into its commands: motions on the first connection, questions and the stop on the second. */
class MicroSpin extends WithMount<SerialMount<Settings>> implements Device {
  readonly #runner = new OperationRunner(this.at.line)
  readonly #motions = new Talk(this.at.line)
  readonly #questions = new Talk(furtherOf(this.at.line, 'abort'))
  /** Whether the service has initialized it, and not stopped it since. */
  #isReady = false

  async identify(): Promise<Identity> {
    const lines = await this.#questions.ask(version)
    return {
      model: 'MicroSpin',
      serial_number: valueIn(lines, 'Serial Number'),
      firmware_version: valueIn(lines, 'Version'),
    }
  }

  readonly initialize = this.#runner.operation(async (_params: object, signal) => {
    this.#isReady = false
    const identity = await this.identify()
    await this.#mustStand('initialize')
    signal.throwIfAborted()
    await this.#questions.command(clearAbort)
    await this.#move(home, signal, () => this.#questions.ask(homedStatus))
    await this.#mustBeHomed()
    this.#isReady = true
    return { identity }
  })

  readonly centrifuge = this.#runner.operation(async ({ g, duration }: { g: number; duration: number }, signal) => {
    const { acceleration, deceleration } = this.at.settings
    const began = this.at.clock.now()
    await this.#homed(`spin ${g} ${acceleration} ${deceleration} ${duration}`, signal)
    const seconds = (this.at.clock.now() - began) / 1000
    if (seconds < duration - 1)
      throw new LabError(
        'device_failed',
        `it ended a run of ${duration} s after ${Math.round(seconds)} s; see what stopped it, then initialize`,
      )
  })

  readonly open = this.#runner.operation((_params: object, signal) => this.#homed(`open ${this.at.settings.bucket}`, signal))

  /** Finds home, because no command for users closes the door alone. */
  readonly close = this.#runner.operation((_params: object, signal) => this.#homed(home, signal, false))

  /** Moves an instrument that has a home position, and sees that it stands afterwards. */
  async #homed(command: string, signal: AbortSignal, keepsHome = true): Promise<void> {
    await this.#mustStand('try again')
    await this.#mustBeHomed()
    await this.#move(command, signal, () => (keepsHome ? this.#mustBeHomed() : this.#questions.ask(homedStatus)))
    await this.#mustBeHomed()
    if (await this.#motions.isAnswered(status)) return
    throw new LabError('device_failed', `it reports that ${command} has ended, and goes on moving; use its button, then initialize`)
  }

  #move(command: string, going: AbortSignal, look: () => Promise<unknown>): Promise<void> {
    return this.#motions.move(command, { clock: this.at.clock, going, look })
  }

  /** Rejects with `interlock` while it moves: its status is not answered then, and other questions are. */
  async #mustStand(what: string): Promise<void> {
    if (await this.#motions.isAnswered(status)) return
    await this.#questions.ask(homedStatus)
    throw new LabError('interlock', `it moves: it does not answer for its rotor; wait until it is at rest, or stop it, then ${what}`)
  }

  async #mustBeHomed(): Promise<void> {
    const [line = ''] = await this.#questions.ask(homedStatus)
    if (line.trim().toLowerCase() === 'homed') return
    throw new LabError(
      'device_failed',
      'it has no home position, so it was restarted or did not find it; see what happened, then initialize',
    )
  }

  async check(): Promise<void> {
    if (this.#isReady) await this.#mustBeHomed()
    else await this.#questions.ask(homedStatus)
  }

  /** Writes the abort on both connections: which of them the instrument hears first during a motion is not its driver's guess. */
  async halt(): Promise<void> {
    this.#isReady = false
    this.#runner.stop()
    const acknowledged = this.#questions.halt()
    // The connection of the motions answers when the motion has ended.
    this.#motions.halt().catch(() => undefined)
    const end = await acknowledged
    if (end.outcome === 'OK' || (await this.#questions.isAnswered(status))) return
    throw failed(end)
  }
}
