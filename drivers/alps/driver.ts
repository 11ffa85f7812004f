// Plate sealers of the ALPS family (Thermo ALPS, KBiosystems Ultraseal): one letter a command, at 9600 baud.

import type { Device, Identity, Learned } from '../../src/devices/device.ts'
import { LabError, messageOf } from '../../src/errors.ts'
import { type Clock, sleep } from '../../src/kit/clock.ts'
import type { Driver } from '../driver.ts'
import { Going } from '../going.ts'
import { HeatWatch } from '../heat_watch.ts'
import type { Line } from '../transports/line.ts'
import { errorTableOf } from './errors.ts'
import { alpsModels, type Flag, type Model, profileOf, type Settings, settingsOf, ultrasealModels } from './models.ts'
import { heatTo, sealFor, startSeal } from './protocol.ts'
import { simulate } from './simulator.ts'
import { deaf_s, Talk } from './talk.ts'

export const alps = driverOf('ALPS', alpsModels, '3000')
export const ultraseal = driverOf('Ultraseal', ultrasealModels, 'PRO')

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

function driverOf(make: string, models: Readonly<Record<string, Model>>, usual: string): Driver<Settings> {
  const modelOf = ({ model }: Settings) => models[model]!
  return {
    type: 'sealer',
    settings: settingsOf(models, usual),
    serial: { baud: 9600 },
    deaf_s,
    profile: (settings) => profileOf(make, modelOf(settings), settings),
    errors: (settings) => errorTableOf(modelOf(settings)),
    open: ({ line, clock, settings }) => open({ line, clock, model: modelOf(settings) }),
    simulate: (at) => simulate({ ...at, settings: { model: modelOf(at.settings) } }),
  }
}

function open({ line, clock, model }: { line: Line; clock: Clock; model: Model }): Device {
  const going = new Going(line)
  const talk = new Talk(line, model)
  const watch = new HeatWatch(clock, { hottest: 215, overshoot: 15, gain: 2, within_s: 60, below: 5 })
  /** There is no switching it off: this is as cold as it can be set. */
  const coldest = model.temperature.min

  async function initialize(_params: object, signal: AbortSignal): Promise<Learned> {
    await talk.awake()
    const status = await talk.status()
    if (status.has('busy')) throw new LabError('interlock', 'it is busy; wait until it has finished, then initialize')
    if (model.reset && (status.has('error') || status.has('not_ready'))) await move(model.reset, signal)
    if ((await talk.mustBeWell()).has('not_ready'))
      throw new LabError('device_failed', 'it was initialized and says that it is not; switch it off and on, then initialize')
    await watchWhatIsSet(signal)
    return { identity: await identify() }
  }

  /** It keeps its set point when it is switched off, and heats when it is switched on. */
  async function watchWhatIsSet(signal: AbortSignal): Promise<void> {
    const setPoint = await talk.setPoint()
    const reading = await talk.temperature()
    signal.throwIfAborted()
    if (setPoint > coldest) watch.begin(setPoint, reading)
    else watch.end()
  }

  async function setTemperature({ temperature }: { temperature: number }, signal: AbortSignal): Promise<void> {
    const reading = await talk.temperature()
    signal.throwIfAborted()
    // Before the answer: from the moment it is told, it may heat.
    watch.begin(temperature, reading)
    await talk.order(heatTo(temperature), signal)
  }

  async function seal({ temperature, duration }: { temperature: number; duration: number }, signal: AbortSignal): Promise<void> {
    refuseObstacles(await talk.mustBeWell())
    signal.throwIfAborted()
    await setTemperature({ temperature }, signal)
    await talk.order(sealFor(duration), signal)
    await sleep(clock, heed_ms, signal)
    await until(`at ${temperature} °C`, heating_s, signal, (status) => !status.has('cold'))
    mustStillBeFree(await talk.mustBeWell())
    signal.throwIfAborted()
    await mustStillBeSet(temperature)
    await talk.order(startSeal, signal)
    const began = clock.now()
    // A status of before it began would say that it has ended.
    const pressed = () => clock.now() - began >= duration * 1000
    await until('finished', duration + busy_s, signal, (status) => !status.has('busy') && pressed())
  }

  /** It says that it is at its temperature, whichever that is: somebody may have set another at the instrument. */
  async function mustStillBeSet(temperature: number): Promise<void> {
    const setPoint = await talk.setPoint()
    if (setPoint === temperature) return
    throw new LabError('device_failed', `it is set to ${setPoint} °C, not to ${temperature} °C; see who set it, then initialize`)
  }

  async function moveShuttle(where: 'out' | 'in', signal: AbortSignal): Promise<void> {
    refuseObstacles(await talk.mustBeWell(), ['busy', 'not_ready'])
    await move(model.shuttle![where], signal)
    if (model.bits.parked === undefined) return
    const parked = (await talk.mustBeWell()).has('parked')
    if (parked !== (where === 'in')) throw new LabError('device_failed', `its shuttle did not go ${where}; see to it, then initialize`)
  }

  async function move(command: string, signal: AbortSignal): Promise<void> {
    await talk.order(command, signal, motion_ms)
    await sleep(clock, look_ms, signal)
    await until('done', busy_s, signal, (status) => !status.has('busy'))
  }

  async function until(what: string, within_s: number, signal: AbortSignal, passes: (status: ReadonlySet<Flag>) => boolean): Promise<void> {
    const latest = clock.now() + within_s * 1000
    for (;;) {
      const status = await look()
      signal.throwIfAborted()
      if (passes(status)) return
      if (clock.now() > latest) {
        throw new LabError('device_failed', `not ${what} within ${within_s} s: it says ${inWords(status)}; see to it, then initialize`)
      }
      await sleep(clock, look_ms, signal)
    }
  }

  /** Its status, if it is well; while it heats, the heat is looked at too. */
  async function look(): Promise<ReadonlySet<Flag>> {
    const status = await talk.mustBeWell()
    if (watch.target === null) return status
    const wrong = watch.wrongWith(await talk.temperature())
    if (!wrong) return status
    watch.end()
    await talk.order(heatTo(coldest))
    throw new LabError('device_failed', `${wrong}; it was set to ${coldest} °C, see to it, then initialize`)
  }

  /** Only the XT Pro has a command that may end a motion; any other goes on to the end of what it has begun. */
  async function halt(): Promise<void> {
    going.end(new LabError('stopped', 'interrupted by a stop'))
    watch.end()
    try {
      if (model.reset && model.stops) talk.interrupt(model.reset)
    } finally {
      talk.interrupt(heatTo(coldest))
    }
    await talk.awake()
    // Once more, for it may have been deaf, or busy with the first.
    await talk.order(heatTo(coldest))
    await untilItStands()
  }

  async function untilItStands(): Promise<void> {
    const latest = clock.now() + busy_s * 1000
    while ((await talk.status()).has('busy')) {
      if (clock.now() > latest)
        throw new LabError('device_failed', `it was told to stop and is still busy after ${busy_s} s; use its power switch`)
      await sleep(clock, look_ms)
    }
  }

  /** Most models cannot be asked; they take commands, and that is all that is known of them. */
  async function identify(): Promise<Identity | null> {
    if (!model.tells) return null
    return { model: null, serial_number: null, firmware_version: await talk.version() }
  }

  return {
    initialize: going.operation(initialize),
    seal: going.operation(seal),
    ...(model.shuttle && {
      open: going.operation((_params: object, signal) => moveShuttle('out', signal)),
      close: going.operation((_params: object, signal) => moveShuttle('in', signal)),
    }),
    set_temperature: going.operation(setTemperature),
    get_temperature: async () => ({ temperature: await talk.temperature(), target: watch.target }),
    identify,
    check: async () => void (await look()),
    halt,
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
