// Plate sealers of the ALPS family (Thermo ALPS, KBiosystems Ultraseal): one letter a command, at 9600 baud.

import type { Device, Identity } from '../../src/devices/device.ts'
import type { Params } from '../../src/devices/operations.ts'
import { LabError, messageOf } from '../../src/errors.ts'
import { type Clock, sleep } from '../../src/kit/clock.ts'
import type { About, Driver } from '../driver.ts'
import { HeatWatch } from '../heat_watch.ts'
import { OperationRunner } from '../operation_runner.ts'
import type { Line } from '../transports/line.ts'
import { WithMount } from '../with_mount.ts'
import { errorTableOf } from './errors.ts'
import { alpsModels, type Flag, type Model, profileOf, type Settings, settingsOf, ultrasealModels } from './models.ts'
import { heatTo, sealFor, signature, startSeal } from './protocol.ts'
import { simulate } from './simulator.ts'
import { deaf_s, Talk } from './talk.ts'

export const alps = driverOf({
  ...{ make: 'ALPS', models: alpsModels, usual: '3000', variant: '5000' },
  about: { instrument: 'Thermo ALPS', operations: '`open close` by model' },
})
export const ultraseal = driverOf({
  ...{ make: 'Ultraseal', models: ultrasealModels, usual: 'PRO', variant: 'XT Pro' },
  about: { instrument: 'KBiosystems Ultraseal', operations: '`open close` by model', folder: 'alps' },
})

const look_ms = 500
/** The time until a new set point shows in the status. */
const heed_ms = 3000
const heating_s = 300
const busy_s = 60
/** The longest wait for the `ok` of a stop or the shuttle, which may come before or after the motion. */
const motion_ms = 12_000

/** The flags that prevent a seal, each with a sentence that says what to do. */
const obstacles: Partial<Record<Flag, string>> = {
  busy: 'it is busy; wait until it has finished',
  no_foil: 'it has no foil; put some in',
  plate_absent: 'there is no plate in it; put one in',
  low_air: 'its air pressure is low; see to its supply',
  foil_load: 'it is set to load foil; end that at the instrument',
  door_open: 'its door is open; close it',
  not_ready: 'it says that it is not initialized; initialize it',
}

type Family = { make: string; models: Readonly<Record<string, Model>>; usual: string; variant: string; about: About }

function driverOf({ make, models, usual, variant, about }: Family): Driver<Settings> {
  const modelOf = ({ model }: Settings) => models[model]!
  return {
    type: 'sealer',
    about,
    typical: { initialize_s: 4.6, heating_s: 1.28 },
    settings: settingsOf(models, usual),
    serial: { baud: 9600 },
    trial: { variants: [{ model: variant }] },
    signature,
    deaf_s,
    profile: (settings) => profileOf(make, modelOf(settings), settings),
    errors: (settings) => errorTableOf(modelOf(settings)),
    open: ({ line, clock, settings }) => new Alps({ line, clock, model: modelOf(settings) }),
    simulate: (at) => simulate({ ...at, settings: { model: modelOf(at.settings) } }),
  }
}

/** Turns the operations of an ALPS or Ultraseal into its commands. */
class Alps extends WithMount<{ line: Line; clock: Clock; model: Model }> implements Device {
  readonly #runner = new OperationRunner(this.at.line)
  readonly #talk = new Talk(this.at)
  readonly #watch = new HeatWatch(this.at.clock, { hottest: 215, overshoot: 15, gain: 2, within_s: 60, below: 5 })
  /** The lowest set point, in °C. The sealer has no command that switches its heater off. */
  readonly #coldest = this.at.model.temperature.min
  readonly open = this.at.model.shuttle && this.#runner.operation((_params: object, signal) => this.#moveShuttle('out', signal))
  readonly close = this.at.model.shuttle && this.#runner.operation((_params: object, signal) => this.#moveShuttle('in', signal))
  readonly set_temperature = this.#runner.operation(({ temperature }: Params<'set_temperature'>, signal) =>
    this.#setTemperature({ temperature: temperature ?? this.#coldest }, signal),
  )

  async check(): Promise<void> {
    await this.#look()
  }

  async get_temperature(): Promise<{ temperature: number; target: number | null }> {
    return { temperature: await this.#talk.temperature(), target: this.#watch.target }
  }

  readonly initialize = this.#runner.operation(async (_params: object, signal) => {
    await this.#talk.awake()
    const status = await this.#talk.status()
    if (status.has('busy')) throw new LabError('interlock', 'it is busy; wait until it has finished, then initialize')
    if (this.at.model.reset && (status.has('error') || status.has('not_ready'))) await this.#move(this.at.model.reset, signal)
    if ((await this.#talk.mustBeWell()).has('not_ready'))
      throw new LabError('device_failed', 'it was initialized and says that it is not; switch it off and on, then initialize')
    await this.#watchWhatIsSet(signal)
    return { identity: await this.identify() }
  })

  /** Begins to watch the heater: the sealer keeps its set point while it is off, and heats as soon as it is switched on. */
  async #watchWhatIsSet(signal: AbortSignal): Promise<void> {
    const setPoint = await this.#talk.setPoint()
    const reading = await this.#talk.temperature()
    signal.throwIfAborted()
    if (setPoint > this.#coldest) this.#watch.begin(setPoint, reading)
    else this.#watch.end()
  }

  async #setTemperature({ temperature }: { temperature: number }, signal: AbortSignal): Promise<void> {
    const reading = await this.#talk.temperature()
    signal.throwIfAborted()
    // Before the answer, because the heater may be on as soon as the command arrives.
    this.#watch.begin(temperature, reading)
    await this.#talk.order(heatTo(temperature), signal)
  }

  readonly seal = this.#runner.operation(async ({ temperature, duration }: { temperature: number; duration: number }, signal) => {
    refuseObstacles(await this.#talk.mustBeWell())
    signal.throwIfAborted()
    await this.#setTemperature({ temperature }, signal)
    await this.#talk.order(sealFor(duration), signal)
    await sleep(this.at.clock, heed_ms, signal)
    await this.#until(`at ${temperature} °C`, heating_s, signal, (status) => !status.has('cold'))
    mustStillBeFree(await this.#talk.mustBeWell())
    signal.throwIfAborted()
    await this.#mustStillBeSet(temperature)
    await this.#talk.order(startSeal, signal)
    const began = this.at.clock.now()
    // Until the pressing time is over, a status may be from before the seal began, and would look like its end.
    const pressed = () => this.at.clock.now() - began >= duration * 1000
    await this.#until('finished', duration + busy_s, signal, (status) => !status.has('busy') && pressed())
  })

  /** Throws if the set point was changed at the instrument during the seal. */
  async #mustStillBeSet(temperature: number): Promise<void> {
    const setPoint = await this.#talk.setPoint()
    if (setPoint === temperature) return
    throw new LabError('device_failed', `it is set to ${setPoint} °C, not to ${temperature} °C; see who set it, then initialize`)
  }

  async #moveShuttle(where: 'out' | 'in', signal: AbortSignal): Promise<void> {
    refuseObstacles(await this.#talk.mustBeWell(), ['busy', 'not_ready'])
    await this.#move(this.at.model.shuttle![where], signal)
    if (this.at.model.bits.parked === undefined) return
    const parked = (await this.#talk.mustBeWell()).has('parked')
    if (parked !== (where === 'in')) throw new LabError('device_failed', `its shuttle did not go ${where}; see to it, then initialize`)
  }

  async #move(command: string, signal: AbortSignal): Promise<void> {
    await this.#talk.order(command, signal, motion_ms)
    await sleep(this.at.clock, look_ms, signal)
    await this.#until('done', busy_s, signal, (status) => !status.has('busy'))
  }

  async #until(what: string, within_s: number, signal: AbortSignal, passes: (status: ReadonlySet<Flag>) => boolean): Promise<void> {
    const latest = this.at.clock.now() + within_s * 1000
    for (;;) {
      const status = await this.#look()
      signal.throwIfAborted()
      if (passes(status)) return
      if (this.at.clock.now() > latest) {
        throw new LabError('device_failed', `not ${what} within ${within_s} s: it says ${inWords(status)}; see to it, then initialize`)
      }
      await sleep(this.at.clock, look_ms, signal)
    }
  }

  /** Returns the status. Throws if the sealer reports an error, or its temperature is wrong while it heats. */
  async #look(): Promise<ReadonlySet<Flag>> {
    const status = await this.#talk.mustBeWell()
    if (this.#watch.target === null) return status
    const wrong = this.#watch.wrongWith(await this.#talk.temperature())
    if (!wrong) return status
    this.#watch.end()
    await this.#talk.order(heatTo(this.#coldest))
    throw new LabError('device_failed', `${wrong}; it was set to ${this.#coldest} °C, see to it, then initialize`)
  }

  /** Halts the sealer. Only the XT Pro has a command that may end a motion; the other models finish the motion. */
  async halt(): Promise<void> {
    this.#runner.stop()
    this.#watch.end()
    try {
      if (this.at.model.reset && this.at.model.stops) this.#talk.interrupt(this.at.model.reset)
    } finally {
      this.#talk.interrupt(heatTo(this.#coldest))
    }
    await this.#talk.awake()
    // Once more, because it may have missed the first or been busy with it.
    await this.#talk.order(heatTo(this.#coldest))
    await this.#untilItStands()
  }

  async #untilItStands(): Promise<void> {
    const latest = this.at.clock.now() + busy_s * 1000
    while ((await this.#talk.status()).has('busy')) {
      if (this.at.clock.now() > latest)
        throw new LabError('device_failed', `it is still busy ${busy_s} s after a stop; use its power switch`)
      await sleep(this.at.clock, look_ms)
    }
  }

  /** Returns null for most models, which have no identity query. The form of the set point shows that the status is one: other instruments answer two characters too. */
  async identify(): Promise<Identity | null> {
    await this.#talk.status()
    await this.#talk.setPoint()
    if (!this.at.model.tells) return null
    return { model: null, serial_number: null, firmware_version: await this.#talk.version() }
  }
}

function refuseObstacles(status: ReadonlySet<Flag>, flags = Object.keys(obstacles) as Flag[]): void {
  const found = flags.find((flag) => status.has(flag))
  if (found) throw new LabError('interlock', obstacles[found]!)
}

/** Throws `device_failed` for an obstacle, not `interlock`, because the sealer already heats. */
function mustStillBeFree(status: ReadonlySet<Flag>): void {
  try {
    refuseObstacles(status)
  } catch (cause) {
    throw new LabError('device_failed', `it was to seal, and ${messageOf(cause)}; then initialize`, { cause })
  }
}

function inWords(status: ReadonlySet<Flag>): string {
  return status.size ? [...status].join(', ').replaceAll('_', ' ') : 'nothing'
}
