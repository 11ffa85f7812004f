// Plate sealers of the ALPS family (Thermo ALPS, KBiosystems Ultraseal): one letter a command, at 9600 baud.

import type { Device, Identity, Learned } from '../../src/devices/device.ts'
import { LabError, messageOf } from '../../src/errors.ts'
import { type Clock, sleep } from '../../src/kit/clock.ts'
import type { About, Driver } from '../driver.ts'
import { Going } from '../going.ts'
import { HeatWatch } from '../heat_watch.ts'
import type { Line } from '../transports/line.ts'
import { errorTableOf } from './errors.ts'
import { alpsModels, type Flag, type Model, profileOf, type Settings, settingsOf, ultrasealModels } from './models.ts'
import { heatTo, sealFor, startSeal } from './protocol.ts'
import { simulate } from './simulator.ts'
import { deaf_s, Talk } from './talk.ts'

export const alps = driverOf('ALPS', alpsModels, '3000', { instrument: 'Thermo ALPS', operations: '`open close` by model' })
export const ultraseal = driverOf('Ultraseal', ultrasealModels, 'PRO', {
  instrument: 'KBiosystems Ultraseal',
  operations: '`open close` by model',
  folder: 'alps',
})

const look_ms = 500
/** A new temperature takes so long until the status knows of it. */
const heed_ms = 3000
const heating_s = 300
const busy_s = 60
/** A stop and the shuttle say `ok`, and whether before or after they have moved is not known. */
const motion_ms = 12_000

/** What stands in the way of a seal, and what to do about it. */
const obstacles: Partial<Record<Flag, string>> = {
  busy: 'it is busy; wait until it has finished',
  no_foil: 'it has no foil; put some in',
  plate_absent: 'there is no plate in it; put one in',
  low_air: 'its air pressure is low; see to its supply',
  foil_load: 'it is set to load foil; end that at the instrument',
  door_open: 'its door is open; close it',
  not_ready: 'it says that it is not initialized; initialize it',
}

function driverOf(make: string, models: Readonly<Record<string, Model>>, usual: string, about: About): Driver<Settings> {
  const modelOf = ({ model }: Settings) => models[model]!
  return {
    type: 'sealer',
    about,
    settings: settingsOf(models, usual),
    serial: { baud: 9600 },
    deaf_s,
    profile: (settings) => profileOf(make, modelOf(settings), settings),
    errors: (settings) => errorTableOf(modelOf(settings)),
    open: ({ line, clock, settings }) => open({ line, clock, model: modelOf(settings) }),
    simulate: (at) => simulate({ ...at, settings: { model: modelOf(at.settings) } }),
  }
}

type At = { line: Line; clock: Clock; model: Model }

function open(at: At): Device {
  return new Alps(at).device()
}

/** Turns the operations of an ALPS or Ultraseal into its commands. */
class Alps {
  readonly #clock: Clock
  readonly #model: Model
  readonly #going: Going
  readonly #talk: Talk
  readonly #watch: HeatWatch
  /** There is no switching it off: this is as cold as it can be set. */
  readonly #coldest: number

  constructor({ line, clock, model }: At) {
    this.#clock = clock
    this.#model = model
    this.#going = new Going(line)
    this.#talk = new Talk(line, model)
    this.#watch = new HeatWatch(clock, { hottest: 215, overshoot: 15, gain: 2, within_s: 60, below: 5 })
    this.#coldest = model.temperature.min
  }

  /** Has a method for each operation that this model knows. */
  device(): Device {
    return {
      initialize: this.#going.operation((params, signal) => this.#initialize(params, signal)),
      seal: this.#going.operation((params, signal) => this.#seal(params, signal)),
      ...(this.#model.shuttle && {
        open: this.#going.operation((_params: object, signal) => this.#moveShuttle('out', signal)),
        close: this.#going.operation((_params: object, signal) => this.#moveShuttle('in', signal)),
      }),
      set_temperature: this.#going.operation((params, signal) => this.#setTemperature(params, signal)),
      get_temperature: async () => ({ temperature: await this.#talk.temperature(), target: this.#watch.target }),
      identify: () => this.#identify(),
      check: async () => void (await this.#look()),
      halt: () => this.#halt(),
    }
  }

  async #initialize(_params: object, signal: AbortSignal): Promise<Learned> {
    await this.#talk.awake()
    const status = await this.#talk.status()
    if (status.has('busy')) throw new LabError('interlock', 'it is busy; wait until it has finished, then initialize')
    if (this.#model.reset && (status.has('error') || status.has('not_ready'))) await this.#move(this.#model.reset, signal)
    if ((await this.#talk.mustBeWell()).has('not_ready'))
      throw new LabError('device_failed', 'it was initialized and says that it is not; switch it off and on, then initialize')
    await this.#watchWhatIsSet(signal)
    return { identity: await this.#identify() }
  }

  /** It keeps its set point when it is switched off, and heats when it is switched on. */
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
    // Before the answer: from the moment it is told, it may heat.
    this.#watch.begin(temperature, reading)
    await this.#talk.order(heatTo(temperature), signal)
  }

  async #seal({ temperature, duration }: { temperature: number; duration: number }, signal: AbortSignal): Promise<void> {
    refuseObstacles(await this.#talk.mustBeWell())
    signal.throwIfAborted()
    await this.#setTemperature({ temperature }, signal)
    await this.#talk.order(sealFor(duration), signal)
    await sleep(this.#clock, heed_ms, signal)
    await this.#until(`at ${temperature} °C`, heating_s, signal, (status) => !status.has('cold'))
    mustStillBeFree(await this.#talk.mustBeWell())
    signal.throwIfAborted()
    await this.#mustStillBeSet(temperature)
    await this.#talk.order(startSeal, signal)
    const began = this.#clock.now()
    // A status of before it began would say that it has ended.
    const pressed = () => this.#clock.now() - began >= duration * 1000
    await this.#until('finished', duration + busy_s, signal, (status) => !status.has('busy') && pressed())
  }

  /** It says that it is at its temperature, whichever that is: somebody may have set another at the instrument. */
  async #mustStillBeSet(temperature: number): Promise<void> {
    const setPoint = await this.#talk.setPoint()
    if (setPoint === temperature) return
    throw new LabError('device_failed', `it is set to ${setPoint} °C, not to ${temperature} °C; see who set it, then initialize`)
  }

  async #moveShuttle(where: 'out' | 'in', signal: AbortSignal): Promise<void> {
    refuseObstacles(await this.#talk.mustBeWell(), ['busy', 'not_ready'])
    await this.#move(this.#model.shuttle![where], signal)
    if (this.#model.bits.parked === undefined) return
    const parked = (await this.#talk.mustBeWell()).has('parked')
    if (parked !== (where === 'in')) throw new LabError('device_failed', `its shuttle did not go ${where}; see to it, then initialize`)
  }

  async #move(command: string, signal: AbortSignal): Promise<void> {
    await this.#talk.order(command, signal, motion_ms)
    await sleep(this.#clock, look_ms, signal)
    await this.#until('done', busy_s, signal, (status) => !status.has('busy'))
  }

  async #until(what: string, within_s: number, signal: AbortSignal, passes: (status: ReadonlySet<Flag>) => boolean): Promise<void> {
    const latest = this.#clock.now() + within_s * 1000
    for (;;) {
      const status = await this.#look()
      signal.throwIfAborted()
      if (passes(status)) return
      if (this.#clock.now() > latest) {
        throw new LabError('device_failed', `not ${what} within ${within_s} s: it says ${inWords(status)}; see to it, then initialize`)
      }
      await sleep(this.#clock, look_ms, signal)
    }
  }

  /** Its status, if it is well; while it heats, the heat is looked at too. */
  async #look(): Promise<ReadonlySet<Flag>> {
    const status = await this.#talk.mustBeWell()
    if (this.#watch.target === null) return status
    const wrong = this.#watch.wrongWith(await this.#talk.temperature())
    if (!wrong) return status
    this.#watch.end()
    await this.#talk.order(heatTo(this.#coldest))
    throw new LabError('device_failed', `${wrong}; it was set to ${this.#coldest} °C, see to it, then initialize`)
  }

  /** Only the XT Pro has a command that may end a motion; any other goes on to the end of what it has begun. */
  async #halt(): Promise<void> {
    this.#going.end(new LabError('stopped', 'interrupted by a stop'))
    this.#watch.end()
    try {
      if (this.#model.reset && this.#model.stops) this.#talk.interrupt(this.#model.reset)
    } finally {
      this.#talk.interrupt(heatTo(this.#coldest))
    }
    await this.#talk.awake()
    // Once more, for it may have been deaf, or busy with the first.
    await this.#talk.order(heatTo(this.#coldest))
    await this.#untilItStands()
  }

  async #untilItStands(): Promise<void> {
    const latest = this.#clock.now() + busy_s * 1000
    while ((await this.#talk.status()).has('busy')) {
      if (this.#clock.now() > latest)
        throw new LabError('device_failed', `it was told to stop and is still busy after ${busy_s} s; use its power switch`)
      await sleep(this.#clock, look_ms)
    }
  }

  /** Most models cannot be asked; they take commands, and that is all that is known of them. */
  async #identify(): Promise<Identity | null> {
    if (!this.#model.tells) return null
    return { model: null, serial_number: null, firmware_version: await this.#talk.version() }
  }
}

function refuseObstacles(status: ReadonlySet<Flag>, flags = Object.keys(obstacles) as Flag[]): void {
  const found = flags.find((flag) => status.has(flag))
  if (found) throw new LabError('interlock', obstacles[found]!)
}

/** It heats already: to stand in its way now is not to refuse it. */
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
