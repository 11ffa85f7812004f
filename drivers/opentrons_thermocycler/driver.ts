// Opentrons Thermocycler, GEN1 and GEN2: a block that heats and cools, under a heated lid with a motor.

import * as v from 'valibot'
import type { Device, Identity, Profile } from '../../src/devices/device.ts'
import { isRefusal } from '../../src/devices/failure.ts'
import type { Params } from '../../src/devices/operations.ts'
import { LabError } from '../../src/errors.ts'
import { sleep } from '../../src/kit/clock.ts'
import { described } from '../../src/kit/described.ts'
import type { Driver, SerialMount } from '../driver.ts'
import { believed, HeatWatch, heaterStillOn, isBlind } from '../heat_watch.ts'
import { onceStarted, repeatUntil } from '../host_timed.ts'
import { answers, wordOf } from '../opentrons_lines.ts'
import { ModuleTalk } from '../opentrons_talk.ts'
import { OperationRunner, unlessAborted } from '../operation_runner.ts'
import { isNoReply } from '../transports/exchange.ts'
import { WithMount } from '../with_mount.ts'
import { errorTable } from './errors.ts'
import { runProfile } from './profile_run.ts'
import { type Block, blockIn, dialect, heaterIn, type LidStatus, lidIn, signature } from './protocol.ts'
import { simulate } from './simulator.ts'

const settings = v.strictObject({
  model: v.optional(
    described(v.picklist(['GEN1', 'GEN2']), 'Generation that is simulated; the driver recognizes that of a real thermocycler by itself'),
    'GEN2',
  ),
})
type Settings = v.InferOutput<typeof settings>

export const driver: Driver<Settings> = {
  type: 'thermocycler',
  about: { instrument: 'Opentrons Thermocycler GEN1, GEN2' },
  typical: { initialize_s: 0.2 },
  trial: { variants: [{ model: 'GEN1' }] },
  settings,
  serial: { baud: 115_200 },
  signature,
  profile,
  errors: () => errorTable,
  open: (at) => new Thermocycler(at),
  simulate,
}

/** The limit of a motion of the lid, during which GEN1 hears nothing. */
const lid_ms = 60_000
const look_ms = 250
/** Both generations trip by themselves, at 105 or 115 °C. */
const blockWarming = {
  ...{ hottest: 112, overshoot: 10, gain: 2, within_s: 90, below: 3 },
  cooling: { loss: 1, within_s: 300, above: 5 },
}
const lidWarming = { hottest: 118, overshoot: 10, gain: 2, within_s: 180, below: 5 }
/** The difference between a target and its echo that rounding explains. */
const rounding = 0.06

function profile({ model }: Settings): Profile {
  return {
    model: `Thermocycler ${model}`,
    limits: {
      temperature: { min: 4, max: 99, unit: '°C', step: 0.1 },
      lid_temperature: { min: 37, max: 110, unit: '°C', step: 0.1 },
      seconds: { min: 1, max: 86_400, unit: 's', step: 1 },
      repetitions: { min: 1, max: 999, unit: '', step: 1 },
    },
    features: { heating: true, cooling: true, door: true, uninterruptible: true },
    ends_early: ['run_profile'],
    margin_seconds: { open: lid_ms / 1000 + 10, close: lid_ms / 1000 + 10 },
  }
}

/** The commands that move the lid, and where they move it. */
const lidCodes: Readonly<Record<string, LidStatus>> = { M126: 'open', M127: 'closed' }

type Heater = { code: string; watch: HeatWatch; read(): Promise<{ temperature: number; target: number | null }> }

/** Turns the operations of a Thermocycler into its G-code. */
class Thermocycler extends WithMount<SerialMount<Settings>> implements Device {
  readonly #talk = new ModuleTalk(this.at.line, dialect, (code) => this.#noteMotion(code))
  readonly #runner = new OperationRunner(this.at.line)
  readonly #block: Heater = {
    code: 'M104',
    watch: new HeatWatch(this.at.clock, blockWarming),
    read: () => this.get_temperature(),
  }
  readonly #lid: Heater = {
    code: 'M140',
    watch: new HeatWatch(this.at.clock, lidWarming),
    read: () => this.#lidHeater(),
  }
  /** The last motion of the lid that this driver began, until it is seen at its end. No stop ends it. */
  #lidGoes: { to: LidStatus; until: number } | undefined

  /** Takes note of the command that moves the lid, when it is written: one that a stop has overtaken moves nothing. */
  #noteMotion(code: string): void {
    const to = lidCodes[code]
    if (to) this.#lidGoes = { to, until: this.at.clock.now() + lid_ms }
  }

  async #blockNow(): Promise<Block> {
    const block = blockIn(await this.#talk.ask('M105'))
    return { ...block, temperature: believed(block.temperature) }
  }

  async #lidHeater() {
    const { temperature, target } = heaterIn('M141', await this.#talk.ask('M141'))
    return { temperature: believed(temperature), target }
  }

  async #lidNow() {
    return lidIn(await this.#talk.ask('M119'))
  }

  async get_temperature(): Promise<{ temperature: number; target: number | null }> {
    const { temperature, target } = await this.#blockNow()
    return { temperature, target }
  }

  async get_lid_temperature(): Promise<{ lid_temperature: number; target: number | null }> {
    const { temperature, target } = await this.#lidHeater()
    return { lid_temperature: temperature, target }
  }

  /** Asks for the lid first: no other module answers that. GEN2 repeats the code in its answer to M115, and GEN1 does not. */
  async identify(): Promise<Identity> {
    await this.#lidNow()
    const text = await this.#talk.ask('M115')
    const words = answers(text, 'M115') ? (['GEN2', 'HW', 'SerialNo', 'FW'] as const) : (['GEN1', 'model', 'serial', 'version'] as const)
    const [generation, model, serial, version] = words
    const hardware = wordOf(text, model)
    return {
      model: `Thermocycler ${generation}${hardware ? ` (${hardware})` : ''}`,
      serial_number: wordOf(text, serial) || null,
      firmware_version: wordOf(text, version) || null,
    }
  }

  /** Moves nothing. Heaters that are on stay on, and are watched from then on. */
  readonly initialize = this.#runner.operation(async (_params: object, _signal) => {
    this.#talk.forgetErrors()
    const identity = await this.identify()
    for (const { watch, read } of [this.#block, this.#lid]) {
      const { temperature, target } = await read()
      if (target === null) watch.end()
      else watch.begin(target, temperature)
    }
    await this.check()
    return { identity }
  })

  readonly open = this.#runner.operation((_params: object, signal) => this.#moveLid('M126', signal))

  readonly close = this.#runner.operation((_params: object, signal) => this.#moveLid('M127', signal))

  /** Waits for the end of the motion: the thermocycler acknowledges no sooner. */
  async #moveLid(code: string, signal: AbortSignal): Promise<void> {
    const to = lidCodes[code]
    try {
      await unlessAborted(this.#talk.order(code, signal, lid_ms), signal)
    } catch (error) {
      // A failure that the thermocycler reports ends the motion.
      if (error instanceof LabError && error.code === 'device_failed') this.#lidGoes = undefined
      throw error
    }
    const { status } = await this.#lidNow()
    this.#lidGoes = undefined
    if (status !== to)
      throw new LabError('device_failed', `its lid should be ${to} and is ${worded(status)}; see what is in its way, then initialize`)
  }

  readonly set_temperature = this.#runner.operation(({ temperature }: Params<'set_temperature'>, signal) =>
    temperature === null ? this.#switchOff(this.#block, 'M14', signal) : this.#aim(this.#block, temperature, '', signal),
  )

  readonly set_lid_temperature = this.#runner.operation(({ lid_temperature }: Params<'set_lid_temperature'>, signal) =>
    lid_temperature === null ? this.#switchOff(this.#lid, 'M108', signal) : this.#aim(this.#lid, lid_temperature, '', signal),
  )

  /** Sets a target, and sees that the thermocycler took it: in GEN1 `ok` acknowledges any command. */
  async #aim({ code, watch, read }: Heater, target: number, hold: string, signal: AbortSignal): Promise<void> {
    const { temperature: now } = await read()
    // Before the answer, because the heater may be on as soon as the command arrives.
    const takeBack = watch.begin(target, now)
    await this.#talk.order(`${code} S${target}${hold}`, signal).catch((error) => {
      if (isRefusal(error)) takeBack()
      throw error
    })
    const { target: taken } = await read()
    this.#talk.mustHaveNoErrors()
    if (taken === null || Math.abs(taken - target) > rounding)
      throw new LabError('device_failed', `it was set to ${target} °C and says ${taken ?? 'that it is off'}; see to it, then initialize`)
  }

  #switchOff({ watch, read }: Heater, code: string, signal: AbortSignal): Promise<void> {
    return watch.endBy(async () => {
      await this.#talk.order(code, signal)
      if ((await read()).target !== null) throw heaterStillOn()
    })
  }

  readonly run_profile = this.#runner.operation(async ({ steps, repetitions }: Params<'run_profile'>, signal) => {
    const { status } = await this.#lidNow()
    if (status !== 'closed') throw new LabError('interlock', `its lid is ${worded(status)}; close the lid first (close)`)
    await onceStarted(() =>
      runProfile(
        { steps, repetitions },
        {
          ...{ clock: this.at.clock, going: signal, early: this.#runner.early },
          set: ({ temperature, seconds }) => this.#aim(this.#block, temperature, seconds === undefined ? '' : ` H${seconds}`, signal),
          look: () => this.#blockInProfile(),
        },
      ),
    )
  })

  readonly end = () => this.#runner.early.ask()

  /** Returns the state of the block while a profile runs. Throws if anything is wrong, also with the lid. */
  async #blockInProfile(): Promise<Block> {
    const seen = await this.#mustBeWell()
    const { status } = await this.#lidNow()
    if (status === 'closed') return seen
    throw new LabError('device_failed', `its lid is ${worded(status)} while a profile runs; see that the plate is well, then initialize`)
  }

  async check(): Promise<void> {
    await this.#mustBeWell()
  }

  /** Checks block and lid, and returns the state of the block. Switches both off if a heater is not seen any more. */
  async #mustBeWell(): Promise<Block> {
    try {
      let block: Block | undefined
      await this.#heaterMustBeWell('block', this.#block.watch, async () => {
        block = await this.#blockNow()
        return block
      })
      await this.#heaterMustBeWell('lid', this.#lid.watch, this.#lid.read)
      return block!
    } catch (error) {
      if (isBlind(error) && (this.#block.watch.target !== null || this.#lid.watch.target !== null)) this.#allOff()
      throw error
    }
  }

  async #heaterMustBeWell(part: string, watch: HeatWatch, read: Heater['read']): Promise<void> {
    const reading = async () => {
      this.#talk.mustHaveNoErrors()
      const { temperature, target } = await read()
      this.#talk.mustHaveNoErrors()
      if (watch.target !== null && target === null) {
        const sentence = `its ${part} was set to ${watch.target} °C and is off: it restarted, or was set otherwise; see its power supply, then initialize`
        throw new LabError('device_failed', sentence)
      }
      return temperature
    }
    await watch.check(reading, () => this.#allOff())
  }

  #allOff(): void {
    this.#block.watch.end()
    this.#lid.watch.end()
    if (this.at.line.state === 'open') this.#talk.interrupt('M18')
  }

  /** Ends the heat of block and lid, and counts when neither has a target and the lid stands, because no stop ends a motion of the lid. */
  async halt(): Promise<void> {
    this.#runner.stop()
    this.#block.watch.end()
    this.#lid.watch.end()
    this.#talk.interrupt('M18')
    for (;;) {
      try {
        await repeatUntil(
          async () => (await this.#block.read()).target === null && (await this.#lid.read()).target === null,
          () => this.#talk.orderAnyway('M18'),
          'it was stopped and is still on',
        )
        if (await this.#lidStands()) return
      } catch (error) {
        // GEN1 hears nothing while its lid moves.
        if (!isNoReply(error) || !this.#mayLidMove()) throw error
      }
      await sleep(this.at.clock, look_ms)
    }
  }

  #mayLidMove(): boolean {
    return this.#lidGoes !== undefined && this.at.clock.now() < this.#lidGoes.until
  }

  /** Whether the lid has come to the end of its last motion, or has had the time for it. */
  async #lidStands(): Promise<boolean> {
    if (!this.#mayLidMove()) return true
    const { status, isSealMoving } = await this.#lidNow()
    if (status !== this.#lidGoes?.to || isSealMoving) return false
    this.#lidGoes = undefined
    return true
  }
}

function worded(status: LidStatus): string {
  return status === 'in_between' ? 'neither open nor closed' : status
}
