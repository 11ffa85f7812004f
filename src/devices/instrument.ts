// One device of the bench: what it is, what it is doing, and what is latched on it.

import { LabError, messageOf } from '../errors.ts'
import type { Hub } from '../events/hub.ts'
import { type Clock, sleep } from '../kit/clock.ts'
import type { Log } from '../kit/log.ts'
import { capabilities } from './capabilities.ts'
import type { Device, DeviceType, Identity, Limits, Link, Profile, UnderWay } from './device.ts'
import { faultOf, isHarmless, worded } from './failure.ts'
import { answerToStop, inTime } from './halting.ts'
import { DeviceLatch } from './latch.ts'
import type { Latches } from './latches.ts'
import type { Ledger } from './ledger.ts'
import { LeftOn } from './left_on.ts'
import { type Bounds, checkLimits, narrowed } from './limits.ts'
import { type OperationName, operations, type Performable, type ReadingName } from './operations.ts'
import type { Capabilities, DeviceInfo, DeviceState, DeviceSummary, OperationRecord, OperationResult } from './records.ts'
import { Run } from './run.ts'
import type { RunJournal } from './run_journal.ts'
import type { Wire, WireLog } from './wire_log.ts'

/** A device as it is configured. `time_scale` is how many seconds of the instrument go by in one of ours. */
export type Configured = {
  device_id: string
  type: DeviceType
  name: string
  driver: string
  simulated: boolean
  time_scale: number
  bounds: Bounds
  /** Whether it is halted at start when it was left on. */
  on_restart: 'halt' | 'leave'
  /** What it must say it is; a member left out may be anything. */
  identity: Partial<Identity>
  /** What the driver made, and what that hangs on; absent for a device that somebody else drives. */
  driven?: { device: Device; link: Link; profile: Profile; wire: WireLog }
}

export type Surroundings = { clock: Clock; hub: Pick<Hub, 'emit'>; ledger: Ledger; latches: Latches; journal: RunJournal; log: Log }

const watch_ms = 2000

export class Instrument {
  readonly #configured: Configured
  readonly #around: Surroundings
  readonly #latch: DeviceLatch
  readonly #leftOn: LeftOn
  /** The operations and readings that the device knows. */
  readonly #can: readonly (OperationName | ReadingName)[]
  /** The model's, replaced by what the instrument told, narrowed by the configuration. */
  #limits: Limits
  #learned = false
  #initialized = false
  #identity: Identity | null = null
  #run: Run | undefined
  #last: OperationRecord | null = null
  /** Why it cannot be reached, as it was last told. */
  #unreachable = ''
  #closing = false
  #cancelWatch = () => {}

  constructor(configured: Configured, around: Surroundings) {
    this.#configured = configured
    this.#around = around
    this.#latch = new DeviceLatch(configured.device_id, { ...around, wire: configured.driven?.wire })
    const { device_id, simulated, driven } = configured
    this.#leftOn = new LeftOn({ device_id, simulated, timesItself: driven?.profile.features.autonomous_timer ?? false }, around)
    this.#can = driven ? namesOf(driven.device) : ['initialized']
    this.#limits = this.#limitsWith(undefined)
    driven?.link.onLost((reason) => this.#onLost(reason))
  }

  get device_id(): string {
    return this.#configured.device_id
  }

  /** Whether there is a driver behind it that can be asked and stopped. */
  get driven(): boolean {
    return this.#configured.driven !== undefined
  }

  get simulated(): boolean {
    return this.#configured.simulated
  }

  /** Derived from what is so, never set. */
  get state(): DeviceState {
    const { driven } = this.#configured
    if (!driven) return 'external'
    if (driven.link.state !== 'open') return 'disconnected'
    if (this.#run && this.#run.cut !== 'stopped') return 'busy'
    if (this.#latch.fault) return this.#latch.stopped ? 'stopped' : 'faulted'
    return this.#initialized ? 'ready' : 'not_initialized'
  }

  summary(): DeviceSummary {
    const { device_id, type, name } = this.#configured
    return { device_id, type, name, is_initialized: this.#initialized }
  }

  info(): DeviceInfo {
    const { driver, simulated } = this.#configured
    const run = this.#run
    return {
      ...this.summary(),
      driver,
      simulated,
      state: this.state,
      operation: run
        ? { operation_id: run.record.operation_id, name: run.name, started: run.record.started, seconds_left: run.secondsLeft }
        : null,
      last_operation: this.#last,
      fault: this.#latch.fault,
      identity: this.#identity,
      lock: null,
    }
  }

  capabilities(): Capabilities {
    const { device_id, type, driver, simulated, driven } = this.#configured
    const { model, features } = driven?.profile ?? { model: 'external', features: {} }
    const source = this.#learned ? 'instrument' : 'model'
    return capabilities({ device_id, type, driver, model, simulated, source, limits: this.#limits, features }, this.#can)
  }

  /** The last words between it and us. */
  wire(): Wire {
    const { wire } = this.#mustBeDriven('initialized')
    return { device_id: this.device_id, frames: wire.frames(), fault_frames: wire.faultFrames }
  }

  #limitsWith(learned: Limits | undefined): Limits {
    return narrowed({ ...this.#configured.driven?.profile.limits, ...learned }, this.#configured.bounds)
  }

  /** Throws `invalid`, naming what it can do, unless the device knows the operation. */
  mustKnow(name: OperationName | ReadingName): void {
    const can = this.#can
    if (can.includes(name)) return
    const known = this.driven ? `it knows ${can.join(', ')}` : 'it is driven elsewhere'
    throw new LabError('invalid', `${this.device_id} cannot ${name}: ${known}`)
  }

  /**
   * Does an operation, and answers what it came to. `begun` is called with its record before anything is on the wire.
   * Rejects with what refuses it (`busy`, `stopped`, `faulted`, `not_initialized`, `interlock`, `invalid`) or what went wrong.
   */
  async perform(
    name: Performable,
    params: Record<string, unknown>,
    begun: (record: OperationRecord) => void = () => {},
  ): Promise<OperationResult> {
    const driven = this.#mustBeDriven(name)
    checkLimits(this.device_id, params, this.#limits)
    this.#refuse(name)
    const run = this.#begin(name, params)
    begun(run.record)
    return this.#completed(run, async () => {
      if (driven.link.state !== 'open') await this.#connect()
      await this.#leftOn.before(name)
      run.signal.throwIfAborted()
      await run.end(this.#drive(driven.device, name, params, run.signal))
      this.#leftOn.after(name)
    })
  }

  /** In °C. Throws what `perform` throws; never `busy`. */
  async getTemperature(): Promise<{ temperature: number; target: number | null }> {
    const { device, link } = this.#mustBeDriven('get_temperature')
    if (link.state !== 'open') throw this.#disconnected()
    try {
      return await device.get_temperature!()
    } catch (error) {
      throw await this.#unwell('get_temperature', error)
    }
  }

  /** Puts the bytes of a stop on the wire, ahead of all else, before it returns. Whoever calls this calls `halted` next. */
  halt(): Promise<void> {
    const { device } = this.#mustBeDriven('stop')
    try {
      return device.halt()
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /**
   * Latches a stop that was sent, ends what runs, and answers when the instrument has acknowledged, or 400 ms later.
   * Rejects with `stop_not_sent` when the bytes could not be written: latched all the same.
   */
  halted(acknowledged: Promise<void>): Promise<OperationResult> {
    this.#initialized = false
    this.#latch.setStopped(this.#run?.name ?? null)
    this.#run?.cutShort('stopped')
    return answerToStop(
      this.device_id,
      this.#around.clock,
      acknowledged.then(() => this.#leftOn.off()),
    )
  }

  /** Clears a fault that somebody has looked at; never a stop. Answers whether there was one. */
  clearFault(): boolean {
    if (this.#latch.stopped) {
      const remedy = `POST /api/devices/${this.device_id}/initialize`
      throw new LabError('stopped', `${this.device_id} is stopped, and only initialize ends that; ${remedy}`)
    }
    return this.#latch.clear('cleared by an operator')
  }

  /** Opens the link, asks who is there, and looks again every two seconds. Sends queries only. */
  start(): void {
    if (this.driven) void this.#watch()
  }

  /** Ends what runs: what the instrument times itself goes on there, all else is halted. Then lets go of the port. */
  async close(): Promise<void> {
    this.#closing = true
    this.#cancelWatch()
    const { driven } = this.#configured
    if (!driven) return
    if (this.#run) {
      if (!driven.profile.features.autonomous_timer) await this.#halted(driven.device)
      this.#run?.cutShort('stopping')
    }
    if (this.#leftOn.hot && driven.link.state === 'open') await this.#halted(driven.device)
    await driven.link.close()
  }

  #mustBeDriven(name: OperationName | ReadingName) {
    this.mustKnow(name)
    const { driven } = this.#configured
    if (!driven) throw new LabError('invalid', `${this.device_id} is driven elsewhere: ${name} it there`)
    return driven
  }

  /** Refuses what cannot begin now. */
  #refuse(name: Performable): void {
    const id = this.device_id
    if (this.#closing) throw new LabError('stopping', 'the service is stopping; ask again when it is back', { retry_after_s: 5 })
    if (this.#run) throw this.#busy(this.#run)
    if (name === 'initialize') return
    const remedy = `POST /api/devices/${id}/initialize`
    const { fault, stopped } = this.#latch
    if (stopped) throw new LabError('stopped', `${id} was stopped; see that it is safe, then ${remedy}`)
    if (fault) throw new LabError('faulted', `${id} has a fault: ${fault.error}; see to that, then ${remedy}`)
    if (this.#configured.driven?.link.state !== 'open') throw this.#disconnected()
    if (!this.#initialized) throw new LabError('not_initialized', `${id} is not initialized; ${remedy} first`)
  }

  #busy(run: Run): LabError {
    const left = Math.ceil(run.secondsLeft)
    return new LabError('busy', `${this.device_id} is running ${run.name}, about ${left} s left; wait for that, or stop it`, {
      retry_after_s: Math.max(1, left / this.#configured.time_scale),
    })
  }

  #begin(name: Performable, params: Record<string, unknown>): Run {
    const { clock, ledger } = this.#around
    const run = new Run(ledger.begin(this.device_id, name, params), { clock, time_scale: this.#configured.time_scale })
    this.#run = run
    return run
  }

  /** Writes down what a run comes to, whatever that is, and answers it or rejects with it. */
  async #completed(run: Run, work: () => Promise<void>): Promise<OperationResult> {
    try {
      await work()
      return this.#finished(run)
    } catch (error) {
      if (run.cut === 'stopped') return this.#finished(run)
      const failure = await this.#failure(run, error)
      this.#finished(run, failure.message)
      throw failure
    }
  }

  async #drive(device: Device, name: Performable, params: Record<string, unknown>, signal: AbortSignal): Promise<void> {
    if (name === 'initialize') return this.#initialize(device, signal)
    const operate = device[name] as (params: object, signal: AbortSignal) => Promise<void>
    await operate(params, signal)
  }

  async #initialize(device: Device, signal: AbortSignal): Promise<void> {
    this.#initialized = false
    const learned = await device.initialize({}, signal)
    signal.throwIfAborted()
    if (learned.identity) this.#recognise(learned.identity)
    this.#learned = learned.limits !== undefined
    this.#limits = this.#limitsWith(learned.limits)
    this.#initialized = true
    this.#latch.clear('initialized')
  }

  /** Writes down how a run ended, and answers it; `detail` says why it failed. */
  #finished(run: Run, detail: string | null = null): OperationResult {
    const result = detail === null ? run.result() : { success: false, message: detail }
    this.#around.ledger.end(run.record, { result, detail })
    this.#last = run.record
    this.#run = undefined
    return result
  }

  /** What is thrown for what went wrong in a run; halts the device and latches a fault unless nothing was done. */
  async #failure(run: Run, error: unknown): Promise<LabError> {
    if (run.cut === 'stopping') {
      const sentence = `the service is stopping; ${this.device_id} may still run ${run.name}`
      return new LabError('stopping', sentence, { cause: error, retry_after_s: 5 })
    }
    if (isHarmless(error)) return worded(this.device_id, error)
    const { driven } = this.#configured
    const halted = driven?.link.state === 'open' && (await this.#halted(driven.device))
    return this.#suspect(run.name, error, !halted)
  }

  /** As `suspect`, outside a run; a heater that we switched on is switched off first. */
  async #unwell(command: string, error: unknown): Promise<LabError> {
    const { driven } = this.#configured
    const isHot = this.#leftOn.hot && !isHarmless(error)
    const isOff = isHot && driven?.link.state === 'open' && (await this.#halted(driven.device))
    return this.#suspect(command, error, isHot && !isOff)
  }

  /** Latches what a device did wrong, and words it. */
  #suspect(command: string, error: unknown, may_still_be_moving = false): LabError {
    const failure = worded(this.device_id, error)
    if (isHarmless(error)) return failure
    if (failure.code === 'internal') this.#around.log.error(`${this.device_id}: ${command} failed in the driver`, error)
    this.#initialized = false
    this.#latch.setFault(faultOf(command, failure, may_still_be_moving))
    return failure
  }

  /** Whether a device that failed acknowledged that it stands. */
  async #halted(device: Device): Promise<boolean> {
    try {
      const halted = await inTime(this.#around.clock, device.halt())
      if (halted) this.#leftOn.off()
      return halted
    } catch (error) {
      this.#around.log.warn(`${this.device_id}: could not be halted: ${messageOf(error)}`)
      return false
    }
  }

  /** The instrument must be the one that the configuration names. */
  #recognise(identity: Identity): void {
    this.#identity = identity
    const wanted = Object.entries(this.#configured.identity) as [keyof Identity, string | null | undefined][]
    for (const [member, value] of wanted) {
      if (value === undefined || value === identity[member]) continue
      const sentence = `another instrument is plugged in: its ${member} is ${identity[member]}, not ${value}; see the cables, or the configuration`
      throw new LabError('device_failed', sentence)
    }
  }

  #onLost(reason: string): void {
    this.#initialized = false
    if (this.#closing || this.#run) return
    this.#suspect('check', new LabError('disconnected', `the connection was lost: ${reason}`))
  }

  async #watch(): Promise<void> {
    await this.#look()
    if (!this.#closing) this.#cancelWatch = this.#around.clock.after(watch_ms, () => void this.#watch())
  }

  async #look(): Promise<void> {
    const { device, link } = this.#mustBeDriven('initialized')
    if (this.#run) return
    try {
      if (link.state === 'open') await device.check()
      else await this.#reconnect()
      this.#unreachable = ''
    } catch (error) {
      if (this.#run || this.#closing) return
      if (link.state === 'open') await this.#unwell('check', error)
      else this.#tellUnreachable(messageOf(error))
    }
  }

  /** Once for each reason: it is tried again every two seconds. */
  #tellUnreachable(reason: string): void {
    if (reason !== this.#unreachable) this.#around.log.warn(`${this.device_id} cannot be reached: ${reason}`)
    this.#unreachable = reason
  }

  /** As `connect`; and what was left on when the service ended is halted, unless it is to be left. */
  async #reconnect(): Promise<void> {
    await this.#connect()
    const { driven, on_restart } = this.#configured
    if (!driven) return
    if (on_restart === 'halt' && this.#leftOn.fromBefore) {
      this.#around.log.warn(`${this.device_id} was left on; it is halted`)
      await this.#halted(driven.device)
    }
    const going = await driven.device.underWay?.()
    if (going && !this.#run) void this.#adopt(driven.device, going)
  }

  /** What the instrument was doing before we came, and ends by itself: until then it is busy. */
  async #adopt(device: Device, { operation, seconds_left }: UnderWay): Promise<void> {
    const run = this.#begin(operation, { duration: seconds_left })
    run.done = `${operation} that was under way has ended`
    this.#around.log.info(`${this.device_id} is running ${operation} by itself, about ${seconds_left} s left`)
    const wait = async () => {
      do await sleep(this.#around.clock, watch_ms, run.signal)
      while (await device.underWay?.())
    }
    await this.#completed(run, () => run.end(wait())).catch((error) => {
      this.#around.log.warn(`${this.device_id}: ${operation} that was under way: ${messageOf(error)}`)
    })
  }

  /** Opens the link and asks who is there. */
  async #connect(): Promise<void> {
    const { device, link } = this.#mustBeDriven('initialized')
    await link.open()
    this.#around.log.info(`${this.device_id}: connected`)
    const identity = await device.identify()
    if (identity) this.#recognise(identity)
  }

  #disconnected(): LabError {
    return new LabError('disconnected', `${this.device_id} is not connected; see its cable and power, it is looked for every two seconds`)
  }
}

function namesOf(device: Device): (OperationName | ReadingName)[] {
  const known = (Object.keys(operations) as OperationName[]).filter((name) => name === 'stop' || name in device)
  return [...known, 'initialized', ...('get_temperature' in device ? (['get_temperature'] as const) : [])]
}
