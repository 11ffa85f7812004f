// The a4S roll heat sealer: it sends a status about every second without being asked, and takes short commands at 19200 baud.

import * as v from 'valibot'
import type { Device, Identity, Profile } from '../../src/devices/device.ts'
import type { Params } from '../../src/devices/operations.ts'
import { LabError } from '../../src/errors.ts'
import type { Driver, SerialMount } from '../driver.ts'
import { heaterStillOn } from '../heat_watch.ts'
import { OperationRunner } from '../operation_runner.ts'
import { reports } from '../reported.ts'
import { Exchange } from '../transports/exchange.ts'
import { WithMount } from '../with_mount.ts'
import { errorTable, errorTableWithOpenDoor } from './errors.ts'
import { HeatGuard } from './heat_guard.ts'
import {
  closeShuttle,
  go,
  heaterOff,
  heatTo,
  isAnswer,
  nextFrame,
  openShuttle,
  readStatus,
  readTag,
  reset,
  type Status,
  sealFor,
  signature,
} from './protocol.ts'
import { simulate } from './simulator.ts'
import { StatusFeed } from './status.ts'

/** The sealer has no settings. */
const settings = v.strictObject({})
type Settings = v.InferOutput<typeof settings>

export const driver: Driver<Settings> = {
  type: 'sealer',
  about: { instrument: 'Azenta (4titude) a4S' },
  typical: { initialize_s: 3, heating_s: 1.54 },
  settings,
  serial: { baud: 19200 },
  signature,
  profile,
  errors: () => errorTable,
  open: (at) => new A4s(at),
  simulate,
}

/** The answer to a command may come with the next status, so up to a second later. */
const answer_ms = 3000
const stateChange_s = 20
/** A status within this time after a stop may be older than the stop, as the sealer sends about one a second. */
const settled_ms = 800
const shuttle_s = 30
const heating_s = 300
/** The time of a cycle without the pressing: shuttle in, down, up and out. */
const cycle_s = 60
const tolerance = 0.5
/** Attempts to switch the heater off before it counts as a fault. */
const heatOffTries = 3

function profile(): Profile {
  return {
    model: 'a4S',
    limits: {
      temperature: { min: 50, max: 200, unit: '°C', step: 1 },
      duration: { min: 0.5, max: 10, unit: 's', step: 0.1 },
    },
    features: { heating: true, door: true },
  }
}

/** Turns the operations of an a4S into its frames. */
class A4s extends WithMount<SerialMount<Settings>> implements Device {
  #tag: string | null = null
  /** Called with each acknowledgement. Each stop waits for two; an acknowledgement counts for all waiting stops, since they are equal. */
  readonly #acknowledged = new Set<() => void>()
  /** The error of a trip that happened while no operation ran. */
  #tripped: LabError | undefined
  readonly #runner = new OperationRunner(this.at.line)
  readonly #feed: StatusFeed = new StatusFeed(this.at.line, () => this.#exchange.dropped)
  readonly #guard = new HeatGuard({ clock: this.at.clock, wire: this.at.line.clock, trip: (error) => this.#trip(error) })
  readonly #exchange = new Exchange<string, string>(this.at.line, {
    framer: nextFrame,
    encode: (frame) => Buffer.from(frame, 'latin1'),
    gap_ms: 100,
    resync: { recognises: (frame) => readStatus(frame) !== undefined, deadline_ms: 1500 },
    unsolicited: (frame) => this.#notice(frame),
  })
  readonly open = this.#runner.operation((_params: object, going) => this.#move(openShuttle, 'open', going))
  readonly close = this.#runner.operation((_params: object, going) => this.#move(closeShuttle, 'closed', going))
  readonly set_temperature = this.#runner.operation(({ temperature }: Params<'set_temperature'>, going) =>
    temperature === null ? this.#heatOff(going) : this.#setTemperature({ temperature }, going),
  )

  constructor(at: SerialMount<Settings>) {
    super(at)
    at.line.onLost(() => this.#guard.pause())
  }

  #notice(frame: string): boolean {
    this.#tag = readTag(frame) ?? this.#tag
    if (isAnswer(frame) && frame.startsWith('Y')) for (const hear of this.#acknowledged) hear()
    const status = readStatus(frame)
    if (status) {
      this.#guard.see(status)
      this.#feed.take(status)
    }
    return status !== undefined || readTag(frame) !== undefined
  }

  #stopAndCool(): void {
    try {
      this.#exchange.interrupt(reset)
    } finally {
      this.#exchange.interrupt(heaterOff)
    }
  }

  #trip(error: LabError): void {
    this.#tripped = error
    this.#runner.end(error)
    try {
      this.#stopAndCool()
    } catch (cause) {
      this.#tripped = new LabError(error.code, `${error.message}; and its heater could not be switched off: use its power switch`, {
        cause,
      })
    }
  }

  async #command(frame: string, going: AbortSignal): Promise<void> {
    going.throwIfAborted()
    const answer = await this.#exchange.command(frame, { deadline_ms: answer_ms, accepts: isAnswer }).catch((error) => {
      going.throwIfAborted()
      throw error
    })
    going.throwIfAborted()
    if (answer.startsWith('Y')) return
    if (answer.startsWith('X')) throw new LabError('device_failed', `it is busy: it answered ${answer} to ${frame}; see what it is doing`)
    throw new LabError('device_failed', `it refused ${frame}: it answered ${answer}; see its display, then initialize`)
  }

  /** Waits for a status that passes; throws when the instrument reports an error, or after `within_s`. */
  async #until(what: string, within_s: number, going: AbortSignal, passes: (status: Status) => boolean): Promise<void> {
    const end = this.at.clock.now() + within_s * 1000
    for (;;) {
      const status = await this.#feed.next(going)
      going.throwIfAborted()
      mustBeWell(status)
      if (passes(status)) return
      if (this.at.clock.now() > end) {
        throw new LabError('device_failed', `not ${what} within ${within_s} s: it is ${inWords(status)}; see to it, then initialize`)
      }
    }
  }

  readonly initialize = this.#runner.operation(async (_params: object, going) => {
    this.#tripped = undefined
    const { system } = await this.#feed.next(going)
    if (isSealing(system)) throw new LabError('interlock', 'it is sealing; wait until it has finished, or stop it, then initialize')
    await this.#command(reset, going)
    // Skips a status that may have been under way already.
    await this.#feed.next(going)
    await this.#until('idle', stateChange_s, going, (status) => status.system === 'idle')
    return { identity: this.#identity() }
  })

  async #setTemperature({ temperature }: { temperature: number }, going: AbortSignal): Promise<void> {
    const status = this.#ready()
    going.throwIfAborted()
    // Before the answer, because the heater may be on as soon as the command arrives.
    this.#guard.begin(temperature, status.temperature)
    await this.#command(heatTo(temperature), going)
  }

  /** Switches the heater off, also while the clean door is open. The sealer does not acknowledge it; a status shows the effect. */
  async #heatOff(going: AbortSignal): Promise<void> {
    this.#mustNotHaveTripped()
    this.#guard.end()
    for (let tries = 0; tries < heatOffTries; tries++) {
      going.throwIfAborted()
      await this.#exchange.tell(heaterOff)
      // Skips a status that may have been under way already.
      await this.#feed.next(going)
      if ((await this.#feed.next(going)).heater === 'off') return
    }
    throw heaterStillOn()
  }

  readonly seal = this.#runner.operation(async ({ temperature, duration }: { temperature: number; duration: number }, going) => {
    if (!this.#ready().sensors.roll) throw new LabError('interlock', 'there is no seal roll in it; put one in')
    await this.#setTemperature({ temperature }, going)
    await this.#until(`at ${temperature} °C`, heating_s, going, (status) => Math.abs(status.temperature - temperature) < tolerance)
    await this.#command(sealFor(duration), going)
    if (!this.#feed.fresh().sensors.door_closed) throw new LabError('device_failed', 'its clean door was opened; close it, then initialize')
    const began = this.at.clock.now()
    await this.#command(go, going)
    await this.#until('sealing', stateChange_s, going, ({ system }) => isSealing(system))
    await this.#until('finished', duration + cycle_s, going, ({ system }) => system === 'idle' || system === 'finish')
    const seconds = (this.at.clock.now() - began) / 1000
    if (seconds < duration) {
      const sentence = `its cycle ended after at most ${seconds.toFixed(1)} s and should have pressed for ${duration} s; see its display, then initialize`
      throw new LabError('device_failed', sentence)
    }
  })

  async #move(frame: string, place: 'open' | 'closed', going: AbortSignal): Promise<void> {
    this.#ready()
    await this.#command(frame, going)
    await this.#until(place, shuttle_s, going, ({ sensors }) => sensors[place])
  }

  /** Returns the newest status. Throws `interlock` if no operation can begin now. */
  #ready(): Status {
    this.#mustNotHaveTripped()
    const status = this.#feed.fresh()
    if (isSealing(status.system)) throw new LabError('interlock', 'it is sealing; wait until it has finished')
    if (!status.sensors.door_closed) throw new LabError('interlock', 'its clean door is open; close it')
    mustBeWell(status)
    return status
  }

  async get_temperature(): Promise<{ temperature: number; target: number | null }> {
    const { temperature } = await this.#feed.current()
    return { temperature, target: this.#guard.target }
  }

  /** The sealer has no identity query: its unsolicited status lines identify it. */
  async identify(): Promise<Identity> {
    await this.#feed.next()
    return this.#identity()
  }

  #mustNotHaveTripped(): void {
    const error = this.#tripped
    this.#tripped = undefined
    if (error) throw error
  }

  async check(): Promise<void> {
    this.#mustNotHaveTripped()
    mustBeWell(await this.#feed.current())
  }

  /**
   * Sends reset and heater off together. A status shows whether the sealer obeyed: the newest one after both acknowledgements, or the
   * second one that is certainly not older, as those are that a serial box on the network may have buffered.
   */
  async halt(): Promise<void> {
    this.#guard.end()
    this.#runner.stop()
    this.#stopAndCool()
    const sent = this.at.clock.now()
    let unacknowledged = 2
    let hear = () => {}
    const both = new Promise<void>((resolve) => {
      hear = () => --unacknowledged === 0 && resolve()
    })
    this.#acknowledged.add(hear)
    try {
      await this.#untilOff({ both, areBoth: () => unacknowledged <= 0, sent })
    } finally {
      this.#acknowledged.delete(hear)
    }
  }

  async #untilOff({ both, areBoth, sent }: { both: Promise<void>; areBoth(): boolean; sent: number }): Promise<void> {
    let isAcknowledged = false
    for (let left = stateChange_s; this.#guard.target === null; left--) {
      let seen = await (isAcknowledged ? this.#feed.next() : Promise.race([this.#feed.next(), both.then(() => this.#feed.fresh())]))
      // Both acknowledgements may have come right after that status.
      if (!isAcknowledged && areBoth()) seen = this.#feed.fresh()
      isAcknowledged = areBoth()
      const { system, heater } = seen
      const heard = isAcknowledged || (left < stateChange_s && this.at.clock.now() - sent >= settled_ms)
      if (heard && heater === 'off' && (system === 'idle' || system === 'error')) return
      if (left === 0) throw new LabError('device_failed', `after a stop it is ${system}, heater ${heater}; use its power switch`)
      if (heard && heater !== 'off' && this.#guard.target === null) await this.#exchange.tell(heaterOff)
    }
  }

  #identity(): Identity {
    return { model: 'a4S', serial_number: null, firmware_version: this.#tag }
  }
}

function isSealing(system: Status['system']): boolean {
  return system === 'single cycle' || system === 'repeat'
}

function mustBeWell({ system, error, sensors }: Status): void {
  if (system !== 'error' && Number(error) === 0) return
  throw reports(sensors.door_closed ? errorTable : errorTableWithOpenDoor, [Number(error)])
}

function inWords({ system, temperature }: Status): string {
  return `${system}, at ${temperature} °C`
}
