// The a4S roll heat sealer: a status about every second without being asked, and short commands at 19200 baud.

import * as v from 'valibot'
import type { Device, Identity, Learned, Profile } from '../../src/devices/device.ts'
import { connectionLost } from '../../src/devices/failure.ts'
import { LabError } from '../../src/errors.ts'
import type { Clock } from '../../src/kit/clock.ts'
import type { Driver } from '../driver.ts'
import { reports } from '../reported.ts'
import { Exchange } from '../transports/exchange.ts'
import type { Line } from '../transports/line.ts'
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
} from './protocol.ts'
import { simulate } from './simulator.ts'
import { StatusFeed } from './status.ts'

/** There is nothing to set. */
export const settings = v.strictObject({})
export type Settings = v.InferOutput<typeof settings>

export const driver: Driver<Settings> = {
  type: 'sealer',
  about: { instrument: 'Azenta (4titude) a4S' },
  settings,
  serial: { baud: 19200 },
  profile,
  errors: () => errorTable,
  open,
  simulate,
}

/** An answer may come with the status that follows, so up to a second later. */
const answer_ms = 3000
const stateChange_s = 20
const shuttle_s = 30
const heating_s = 300
/** Shuttle in, down, up and out, besides the time of pressing. */
const cycle_s = 60
const tolerance = 0.5

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

type At = { line: Line; clock: Clock }

function open(at: At): Device {
  return new A4s(at).device()
}

/** Turns the operations of an a4S into its frames. */
class A4s {
  readonly #clock: Clock
  #tag: string | null = null
  /** What tripped while nobody was waiting for anything. */
  #tripped: LabError | undefined
  readonly #running = new Set<AbortController>()
  readonly #feed: StatusFeed
  readonly #guard: HeatGuard
  readonly #exchange: Exchange<string, string>

  constructor({ line, clock }: At) {
    this.#clock = clock
    this.#feed = new StatusFeed(line, () => this.#exchange.dropped)
    this.#guard = new HeatGuard({ clock, wire: line.clock }, (error) => this.#trip(error))
    this.#exchange = new Exchange<string, string>(line, {
      framer: nextFrame,
      encode: (frame) => Buffer.from(frame, 'latin1'),
      gap_ms: 100,
      resync: { recognises: (frame) => readStatus(frame) !== undefined, deadline_ms: 1500 },
      unsolicited: (frame) => this.#notice(frame),
    })
    line.onLost((reason) => {
      this.#guard.pause()
      this.#interrupt(connectionLost(reason))
    })
  }

  /** Has a method for each operation that this model knows. */
  device(): Device {
    return {
      initialize: this.#operation((params, going) => this.#initialize(params, going)),
      seal: this.#operation((params, going) => this.#seal(params, going)),
      open: this.#operation((_params: object, going) => this.#move(openShuttle, 'open', going)),
      close: this.#operation((_params: object, going) => this.#move(closeShuttle, 'closed', going)),
      set_temperature: this.#operation((params, going) => this.#setTemperature(params, going)),
      get_temperature: async () => {
        const { temperature } = await this.#feed.current()
        return { temperature, target: this.#guard.target }
      },
      /** The sealer has no identity query: its unsolicited status lines identify it. */
      identify: async () => {
        await this.#feed.next()
        return this.#identity()
      },
      check: () => this.#check(),
      halt: () => this.#halt(),
    }
  }

  #notice(frame: string): boolean {
    this.#tag = readTag(frame) ?? this.#tag
    const status = readStatus(frame)
    if (status) {
      this.#guard.see(status)
      this.#feed.take(status)
    }
    return status !== undefined || readTag(frame) !== undefined
  }

  /** Whatever goes on ends with this error, and puts nothing more on the wire. */
  #interrupt(error: LabError): void {
    for (const controller of this.#running) controller.abort(error)
  }

  /** An operation, ended by its own signal, and by a stop, a trip or a loss. */
  #operation<P, R>(work: (params: P, going: AbortSignal) => Promise<R>) {
    return async (params: P, signal: AbortSignal): Promise<R> => {
      signal.throwIfAborted()
      const controller = new AbortController()
      const onAbort = () => controller.abort(signal.reason)
      signal.addEventListener('abort', onAbort, { once: true })
      this.#running.add(controller)
      try {
        return await work(params, controller.signal)
      } finally {
        this.#running.delete(controller)
        signal.removeEventListener('abort', onAbort)
      }
    }
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
    this.#interrupt(error)
    try {
      this.#stopAndCool()
    } catch (cause) {
      this.#tripped = new LabError(
        error.code,
        `${error.message}; and it could not be told to switch its heater off: use its power switch`,
        {
          cause,
        },
      )
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

  /** Waits for a status that passes; an error of the instrument ends it. */
  async #until(what: string, within_s: number, going: AbortSignal, passes: (status: Status) => boolean): Promise<void> {
    const end = this.#clock.now() + within_s * 1000
    for (;;) {
      const status = await this.#feed.next(going)
      going.throwIfAborted()
      mustBeWell(status)
      if (passes(status)) return
      if (this.#clock.now() > end) {
        throw new LabError('device_failed', `not ${what} within ${within_s} s: it is ${inWords(status)}; see to it, then initialize`)
      }
    }
  }

  async #initialize(_params: object, going: AbortSignal): Promise<Learned> {
    this.#tripped = undefined
    const { system } = await this.#feed.next(going)
    if (isSealing(system)) throw new LabError('interlock', 'it is sealing; wait until it has finished, or stop it, then initialize')
    await this.#command(reset, going)
    // One word may have been under way already.
    await this.#feed.next(going)
    await this.#until('idle', stateChange_s, going, (status) => status.system === 'idle')
    return { identity: this.#identity() }
  }

  async #setTemperature({ temperature }: { temperature: number }, going: AbortSignal): Promise<void> {
    const status = this.#ready()
    going.throwIfAborted()
    // Before the answer: from the moment it is told, it may heat.
    this.#guard.begin(temperature, status.temperature)
    await this.#command(heatTo(temperature), going)
  }

  async #seal({ temperature, duration }: { temperature: number; duration: number }, going: AbortSignal): Promise<void> {
    if (!this.#ready().sensors.roll) throw new LabError('interlock', 'there is no seal roll in it; put one in')
    await this.#setTemperature({ temperature }, going)
    await this.#until(`at ${temperature} °C`, heating_s, going, (status) => {
      if (this.#guard.target === null)
        throw new LabError('device_failed', 'its heater was switched off at the instrument; see why, then initialize')
      return Math.abs(status.temperature - temperature) < tolerance
    })
    await this.#command(sealFor(duration), going)
    if (!this.#feed.fresh().sensors.door_closed) throw new LabError('device_failed', 'its clean door was opened; close it, then initialize')
    const began = this.#clock.now()
    await this.#command(go, going)
    await this.#until('sealing', stateChange_s, going, ({ system }) => isSealing(system))
    await this.#until('finished', duration + cycle_s, going, ({ system }) => system === 'idle' || system === 'finish')
    const seconds = (this.#clock.now() - began) / 1000
    if (seconds < duration) {
      const sentence = `its cycle ended after at most ${seconds.toFixed(1)} s and should have pressed for ${duration} s; see its display, then initialize`
      throw new LabError('device_failed', sentence)
    }
  }

  async #move(frame: string, place: 'open' | 'closed', going: AbortSignal): Promise<void> {
    this.#ready()
    await this.#command(frame, going)
    await this.#until(place, shuttle_s, going, ({ sensors }) => sensors[place])
  }

  /** A reading that may be acted upon. Refuses what cannot begin now. */
  #ready(): Status {
    const status = this.#feed.fresh()
    if (isSealing(status.system)) throw new LabError('interlock', 'it is sealing; wait until it has finished')
    if (!status.sensors.door_closed) throw new LabError('interlock', 'its clean door is open; close it')
    mustBeWell(status)
    return status
  }

  async #check(): Promise<void> {
    const error = this.#tripped
    this.#tripped = undefined
    if (error) throw error
    mustBeWell(await this.#feed.current())
  }

  /** Reset and heater off go out together; what it says next tells whether it took them. */
  async #halt(): Promise<void> {
    this.#guard.end()
    this.#interrupt(new LabError('stopped', 'interrupted by a stop'))
    this.#stopAndCool()
    for (let left = stateChange_s; this.#guard.target === null; left--) {
      const { system, heater } = await this.#feed.next()
      if (heater === 'off' && (system === 'idle' || system === 'error')) return
      if (left === 0) throw new LabError('device_failed', `it was told to stop and is ${system}, heater ${heater}; use its power switch`)
      // The first word may have been under way already.
      const heard = left < stateChange_s
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
