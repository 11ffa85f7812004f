// A device of the bench: its identity, its present operation, and its latch.

import { LabError, messageOf } from '../errors.ts'
import { type Clock, sleep } from '../kit/clock.ts'
import type { Log } from '../kit/log.ts'
import { inSeconds } from '../kit/seconds.ts'
import { Abilities } from './abilities.ts'
import { capabilities } from './capabilities.ts'
import type { AnyProfile, Device, Gripper, Identity, Limits, Link, Progress, Typical, UnderWay } from './device.ts'
import { connectionLost, faultOf, isHarmless, isRefusal, worded } from './failure.ts'
import { acknowledge_ms, answerToStop, inTime, onceOpen, promised, standing_ms } from './halting.ts'
import { Halts } from './halts.ts'
import { DeviceLatch, type Emitter } from './latch.ts'
import type { LatchStore } from './latches.ts'
import type { LeaseStore } from './leases.ts'
import type { Ledger } from './ledger.ts'
import { LeftOn } from './left_on.ts'
import { type Bounds, checkLimits, narrowed } from './limits.ts'
import { type Caller, DeviceLock } from './lock.ts'
import type { RunStore } from './operation_journal.ts'
import { OperationRun } from './operation_run.ts'
import type { MoveName, Performable } from './operations.ts'
import { Presence, watch_ms } from './presence.ts'
import { Questions } from './questions.ts'
import type {
  Capabilities,
  DeviceInfo,
  DeviceState,
  DeviceSummary,
  OperationRecord,
  OperationResult,
  PerformResult,
  Stopped,
} from './records.ts'
import { taskOf } from './task.ts'
import type { Spot, Way } from './way.ts'
import type { Wire, WireLog } from './wire_log.ts'

/** A device as it is configured. `time_scale` is how many seconds of the instrument go by in one of ours. */
export type Configured = {
  device_id: string
  /** The type of the device: one of the table, or the word that the configuration of a bridge names. */
  type: string
  name: string
  driver: string
  simulated: boolean
  time_scale: number
  bounds: Bounds
  /** Whether it is halted at start when it was left on. */
  on_restart: 'halt' | 'leave'
  /** The identity that the instrument must report; a member left out may be anything. */
  identity: Partial<Identity>
  /** The device that the driver made, and its link; absent for a device that somebody else drives. */
  driven?: Driven
}
/** Without `typical` the table of operations tells how long things take. */
type Driven = { device: Device; link: Link; profile: AnyProfile; typical?: Typical; wire: WireLog }

export type InstrumentContext = {
  clock: Clock
  hub: Emitter
  ledger: Ledger
  latches: LatchStore
  leases: LeaseStore
  journal: RunStore
  log: Log
}

/**
 * How an operation is asked for. `by`: the caller; without one an execution asks, which only a lease keeps out. `begun` is called with the
 * record of the operation before anything is on the wire. `deadline`: whether the instrument or the caller ends an operation that takes too long.
 */
type Asking = { by?: Caller; begun?: (record: OperationRecord) => void; deadline?: 'own' | 'caller' }

export class Instrument {
  readonly abilities: Abilities
  readonly questions: Questions
  readonly lock: DeviceLock
  #configured: Configured
  readonly #around: InstrumentContext
  readonly #latch: DeviceLatch
  readonly #leftOn: LeftOn
  readonly #halts: Halts
  /** Absent where there is no driver. */
  readonly #presence: Presence | undefined
  /** The model's, replaced by those that the instrument reported, narrowed by the configuration. */
  #limits: Limits
  #learned: Limits | undefined
  #initialized = false
  /** Whether it was initialized or stopped since the service began. */
  #isTouched = false
  #run: OperationRun | undefined
  /** Aborts the run. The next run has the same controller unless it was aborted: a new one costs more than all else about a short operation. */
  #abort = new AbortController()
  #last: OperationRecord | null = null
  /** The reason why it is being closed, if it is. */
  #closing: string | undefined

  constructor(configured: Configured, around: InstrumentContext) {
    this.#configured = configured
    this.#around = around
    const { device_id, simulated, driven, identity: wanted } = configured
    this.abilities = new Abilities(device_id, driven?.device)
    this.questions = new Questions(device_id, driven?.device, this.abilities, {
      mustBeConnected: () => this.#presence?.mustBeConnected(),
      isWell: () => this.#isWell,
      unwell: (question, error) => this.#unwell(question, error),
    })
    this.lock = new DeviceLock(device_id, around)
    this.#latch = new DeviceLatch(device_id, { ...around, wire: driven?.wire, execution: () => this.lock.execution_id })
    const timesItself = driven?.profile.features.autonomous_timer ?? false
    this.#leftOn = new LeftOn({ device_id, simulated, timesItself, lowest: driven?.profile.lowest_set_point }, around)
    const unhaltable = () => driven?.device.unhaltable
    if (unhaltable()) this.#leftOn.keep()
    this.#halts = new Halts({ clock: around.clock, leftOn: this.#leftOn, heard: () => this.#latch.setHalted(), unhaltable })
    this.#limits = this.#boundedLimits()
    if (!driven) return
    const { device, link } = driven
    link.onLost((reason) => this.#onLost(reason))
    const owner = {
      isRunning: () => this.#run !== undefined,
      connected: () => this.#connected(driven),
      look: () => this.#look(driven),
      unwell: (error: unknown) => this.#unwell('check', error),
    }
    this.#presence = new Presence({ device_id, device, link, wanted }, owner, around)
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

  /** How many seconds of the instrument go by in one of ours. */
  get time_scale(): number {
    return this.#configured.time_scale
  }

  get initialized(): boolean {
    return this.#initialized
  }

  /** How long the device usually takes to initialize and to heat; undefined where nobody has said it. */
  get typical(): Typical | undefined {
    return this.#configured.driven?.typical
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

  /** Whether it is initialized, without a fault, and can be reached. */
  get #isWell(): boolean {
    const isOpen = this.#configured.driven?.link.state === 'open'
    return isOpen && this.#initialized && !this.#latch.fault && !this.#halts.isOwed && !this.#closing
  }

  /** The first and the last stop; null unless a stop is latched. */
  get stop(): Stopped | null {
    return this.#latch.stop
  }

  summary(): DeviceSummary {
    const { device_id, type, name } = this.#configured
    return { device_id, type, name, is_initialized: this.#initialized }
  }

  /** Whether it may move or be hot though nobody wants it to: a device that is ready or busy does what it was asked. */
  get mayStillBeOn(): boolean {
    return !wellStates.has(this.state) && this.#halts.mayBeOn
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
        ? {
            operation_id: run.record.operation_id,
            name: run.name,
            started: run.record.started,
            ending: run.ending,
            notice: run.record.notice,
            progress: run.progress,
            seconds_left: run.secondsLeft,
          }
        : null,
      last_operation: this.#last,
      fault: this.#latch.fault,
      stopped: this.stop,
      may_still_be_on: this.mayStillBeOn,
      heating: this.#leftOn.heating,
      heard_at: this.#configured.driven?.wire.heard_at ?? null,
      identity: this.#presence?.identity ?? null,
      lock: this.lock.shown,
    }
  }

  /** Finds its last operation in the history, unless one has ended since this start. */
  async recall(): Promise<void> {
    if (this.#last) return
    const last = await this.#around.ledger.lastOf(this.device_id)
    this.#last ??= last
  }

  capabilities(): Capabilities {
    const { device_id, type, driver, simulated, driven } = this.#configured
    const {
      model,
      features,
      ends_early = [],
    }: Partial<AnyProfile> & Pick<AnyProfile, 'model' | 'features'> = driven?.profile ?? { model: 'external', features: {} }
    const source = this.#learned ? 'instrument' : 'model'
    return capabilities({ device_id, type, driver, model, simulated, source, limits: this.#limits, features }, this.abilities.names, {
      ends_early,
      typical: this.typical,
      own: this.abilities.own,
      readings: this.abilities.ownReadings,
    })
  }

  /** Takes what the program behind it described last in place of what was accepted before. Returns whether that was another. Throws `locked`. */
  acceptDescription(by: Caller): boolean {
    this.lock.admit(by)
    const { described } = this.#mustBeDriven('stop').device
    if (described) return described.accept()
    throw new LabError('invalid', `${this.device_id} does not describe itself: only a bridge does`)
  }

  /** The last words between it and us. */
  wire(): Wire {
    const { wire } = this.#mustBeDriven('initialized')
    return { device_id: this.device_id, frames: wire.frames(), fault_frames: wire.faultFrames }
  }

  /** Takes over what people call it, and within which bounds it is asked from now on; what runs goes on as it began. */
  adapt({ name, bounds }: Pick<Configured, 'name' | 'bounds'>): void {
    this.#configured = { ...this.#configured, name, bounds }
    this.#limits = this.#boundedLimits()
  }

  #boundedLimits(): Limits {
    return narrowed({ ...this.#configured.driven?.profile.limits, ...this.#learned }, this.#configured.bounds)
  }

  /**
   * Does an operation, and returns what it came to. Rejects with what refuses it (`locked`, `busy`, `stopped`, `faulted`,
   * `not_initialized`, `interlock`, `invalid`) or what went wrong.
   */
  async perform(name: string, params: Record<string, unknown>, asking: Asking = {}): Promise<PerformResult> {
    const { device } = this.#mustBeDriven(name)
    checkLimits(this.device_id, params, this.#limits)
    const { leaves_on, heats_to } = this.#taskOf(name, params)
    return this.#undertake(name, params, asking, async (run) => {
      if (name === 'initialize') await this.#beforeInitialize(device)
      await this.#leftOn.before(name, leaves_on, heats_to)
      run.signal.throwIfAborted()
      try {
        const driving = this.#drive(device, run)
        run.isDriven()
        await run.end(driving, asking.deadline)
      } catch (error) {
        if (isRefusal(error)) await this.#leftOn.refused()
        throw error
      }
      const lowest = leaves_on === 'no heat' ? this.#configured.driven?.profile.lowest_set_point : undefined
      if (lowest !== undefined) run.done = staysHot(this.#configured.type, lowest)
      this.#leftOn.after(leaves_on)
    })
  }

  /**
   * Asks an arm whether it holds something. Null when that proves nothing of the last move before this start of the service: it cannot tell, or cannot be
   * asked, or it was initialized or stopped since, and a person may have emptied it. Rejects with `interlock` while it moves.
   */
  async gripper(): Promise<Gripper | null> {
    const { driven } = this.#configured
    if (!driven?.device.gripper || driven.link.state !== 'open' || this.#isTouched || this.#latch.fault || this.#run) return null
    try {
      const held = await driven.device.gripper()
      return this.#isTouched ? null : held
    } catch (error) {
      if (error instanceof LabError && error.code === 'interlock') throw worded(this.device_id, error)
      return null
    }
  }

  /** Takes labware up at a point, or sets it down there. Resolves and rejects as `perform` does; `invalid` for a point out of this world. */
  async carry(verb: MoveName, way: Way, asking: Asking = {}): Promise<OperationResult> {
    const device = this.#configured.driven?.device
    if (!device?.[verb]) throw new LabError('invalid', `${this.device_id} cannot ${verb}: that takes an arm with a driver`)
    const { at, via = [] } = way
    for (const spot of [way, ...via]) checkLimits(this.device_id, numbersOf(spot), { ...world, ...this.#limits })
    const passed = via.length > 0 && { via: via.map((gateway) => gateway.at) }
    return this.#undertake(verb, { at, ...numbersOf(way), ...passed }, asking, (run) => run.end(device[verb]!(way, run.signal)))
  }

  /**
   * Ends the running operation with this id before its time, in an orderly way; asked again, nothing more is done. Its record tells what
   * comes of it. Throws `locked` when somebody else has the device, and `conflict` when the operation belongs to a run, has ended, or
   * cannot end early.
   */
  endEarly(operation_id: string, by: Caller): void {
    const run = this.#run
    if (run?.record.operation_id !== operation_id) throw new LabError('conflict', `${this.device_id} does not run this operation any more`)
    if (run.execution_id !== null) {
      const verbs = `POST /api/executions/${run.execution_id}/skip, or complete its incident`
      throw new LabError('conflict', `${run.name} of ${this.device_id} belongs to a run; use the verbs of the run: ${verbs}`)
    }
    this.lock.admit(by)
    const { device, profile } = this.#mustBeDriven('stop')
    if (!device.end || !profile.ends_early?.some((name) => name === run.name)) {
      const stop = `POST /api/devices/${this.device_id}/stop`
      throw new LabError('conflict', `${this.device_id} cannot end ${run.name} early; wait for its end, or stop the device: ${stop}`)
    }
    if (!run.ending) run.endEarly(() => device.end!())
  }

  /**
   * Puts the bytes of a stop on the wire, ahead of all else, before it returns; where that is only being opened, first of all when it is
   * open. Whoever calls this calls `halted` next.
   */
  halt(): Promise<void> {
    const { device } = this.#mustBeDriven('stop')
    const opening = this.#presence?.opening
    const sent = promised(() => device.halt())
    return opening ? sent.catch((error) => onceOpen(opening, error, () => device.halt())) : sent
  }

  /**
   * Latches a stop that was sent, ends what runs, and resolves when the instrument has acknowledged, or 400 ms later; where its link is
   * being opened, when that is open, or two seconds later.
   * Rejects with `stop_not_sent` when the bytes could not be written: latched all the same. `by` is the name of whoever stops it.
   */
  halted(acknowledged: Promise<void>, by: string | null = null): Promise<OperationResult> {
    this.#initialized = false
    this.#isTouched = true
    this.#latch.setStopped(this.#run?.name ?? null, by)
    this.#run?.cutShort('stopped')
    return answerToStop(this.device_id, this.#around.clock, {
      acknowledged: this.#halts.sent(acknowledged),
      opening: this.#presence?.opening,
      unhaltable: this.#configured.driven?.device.unhaltable,
    })
  }

  /**
   * Clears a fault that somebody has looked at; never a stop. A device that no stop ends counts as off from then on. Returns whether there was
   * something to clear. Throws `locked` when it is not theirs.
   */
  clearFault(by?: Caller): boolean {
    this.lock.admit(by)
    const isSeenOff = this.#unhaltable !== undefined && !this.#run && this.#halts.mayBeOn
    if (isSeenOff) this.#halts.seenOff()
    if (this.#latch.stopped) {
      if (isSeenOff) return true
      throw new LabError('stopped', `${this.device_id} is stopped, and only initialize ends that; ${this.#remedy}`)
    }
    return this.#latch.clear('cleared by an operator') || isSeenOff
  }

  get #unhaltable(): Device['unhaltable'] {
    return this.#configured.driven?.device.unhaltable
  }

  /** Throws `stopped` or `faulted`, and says what to do, when it was stopped or has a fault. */
  mustNotBeLatched(): void {
    const { fault, stopped } = this.#latch
    if (stopped) throw new LabError('stopped', `${this.device_id} was stopped; see that it is safe, then ${this.#remedy}`)
    if (fault) throw new LabError('faulted', `${this.device_id} has a fault: ${withRemedy(fault.error, this.#remedy)}`)
  }

  /** Opens the link, asks who is there, and looks again every two seconds. Sends queries, and halts that were not heard. */
  start(): void {
    void this.#presence?.watch()
  }

  /** Throws `conflict`, saying what or who, while something runs on it or somebody has it for themselves. */
  mustBeFree(): void {
    if (this.#run) throw new LabError('conflict', `${this.device_id} is running ${this.#run.name}; wait for that or stop it, then reload`)
    const { shown } = this.lock
    if (shown) throw new LabError('conflict', `${this.device_id} is kept by ${shown.owner}; ask them to let go of it, or wait, then reload`)
  }

  /** Throws `conflict` while the device may be moving or hot, or has not acknowledged a halt: nobody would repeat the halt any more. */
  mustBeOff(): void {
    if (!this.#halts.mayBeOn) return
    if (this.#unhaltable) {
      const clear = `POST /api/devices/${this.device_id}/clear_fault`
      throw new LabError('conflict', `${this.device_id} may still be on, and no stop ends that; see that it is off, ${clear}, then reload`)
    }
    const why = this.#halts.isOwed ? 'has not acknowledged its last halt, so that it may still move or heat' : 'may still move or heat'
    throw new LabError('conflict', `${this.device_id} ${why}; see that it is connected, stop it, see that it stands, then reload`)
  }

  /** Hands over a halt that this closed device has not acknowledged: the device in its place sends the halt as soon as its link is open. */
  handOver(next: Instrument | undefined): void {
    if (!this.#halts.isOwed) return
    this.#halts.disown()
    if (next) next.#halts.owe()
  }

  /** Ends what runs: what the instrument times itself goes on there, all else is halted. Then lets go of the port. */
  async close(why = 'the service is stopping'): Promise<void> {
    this.#closing = why
    this.#presence?.end()
    const { driven } = this.#configured
    if (!driven) return
    if (this.#run) {
      this.#run.cutShort('stopping')
      if (!driven.profile.features.autonomous_timer) await this.#halted(driven.device)
    }
    if ((this.#leftOn.hot || this.#halts.isOwed) && driven.link.state === 'open') await this.#halted(driven.device)
    await driven.link.close()
  }

  /**
   * Sends the halt that `close` sends, or has sent and that is not acknowledged, for a process that ends at once: the bytes are on the wire
   * before this returns. Resolves when the device has acknowledged it, or a moment later.
   */
  async haltBeforeExit(): Promise<void> {
    const { driven } = this.#configured
    if (driven?.link.state !== 'open') return
    const needsUs = this.#run !== undefined && !driven.profile.features.autonomous_timer
    if (needsUs || this.#leftOn.hot || this.#halts.isOwed) await this.#halted(driven.device, acknowledge_ms)
  }

  #mustBeDriven(name: string) {
    this.abilities.mustKnow(name)
    const { driven } = this.#configured
    if (!driven) throw new LabError('invalid', `${this.device_id} is driven elsewhere: ${name} it there`)
    return driven
  }

  /** Throws what keeps a run from it now: `locked` for a lease, `disconnected`, `busy`. Whether it is latched is not looked at. */
  mustBeUsable(): void {
    this.lock.admit(undefined)
    this.#presence?.mustBeConnected()
    this.mustBeIdle()
  }

  /** Throws `busy` while it does something. */
  mustBeIdle(): void {
    if (this.#run) throw this.#busy(this.#run)
  }

  /** Refuses what cannot begin now. */
  #refuse(name: string): void {
    if (this.#closing) throw new LabError('stopping', `${this.#closing}; ask again when it is back`, { retry_after_s: 5 })
    if (this.#run) throw this.#busy(this.#run)
    if (name === 'initialize') return
    this.mustNotBeLatched()
    this.#presence?.mustBeConnected()
    if (!this.#initialized) throw new LabError('not_initialized', `${this.device_id} is not initialized; ${this.#remedy} first`)
  }

  #busy(run: OperationRun): LabError {
    const left = Math.ceil(run.secondsLeft)
    return new LabError('busy', `${this.device_id} is running ${run.name}, about ${left} s left; wait for that, or stop it`, {
      retry_after_s: Math.max(1, left / this.#configured.time_scale),
    })
  }

  get #remedy(): string {
    return `POST /api/devices/${this.device_id}/initialize`
  }

  /** Runs anything that is done with the device: checks the lock, one run at a time, with a deadline, a record, and a latch on a failure. */
  async #undertake(
    name: string,
    params: Record<string, unknown>,
    { by, begun }: Asking,
    work: (run: OperationRun) => Promise<void>,
  ): Promise<PerformResult> {
    this.lock.admit(by)
    this.#refuse(name)
    const run = this.#begin(name, params, by ? null : this.lock.execution_id)
    begun?.(run.record)
    return this.#completed(run, () => work(run))
  }

  #taskOf(name: string, params: Record<string, unknown>) {
    return taskOf(name, { params, own: this.abilities.own.get(name), typical: this.typical })
  }

  #begin(name: string, params: Record<string, unknown>, execution_id: string | null): OperationRun {
    const { clock, ledger } = this.#around
    if (this.#abort.signal.aborted) this.#abort = new AbortController()
    const run = new OperationRun(ledger.begin(this.device_id, name, params), {
      clock,
      time_scale: this.#configured.time_scale,
      task: this.#taskOf(name, params),
      execution_id,
      abort: this.#abort,
    })
    this.#run = run
    return run
  }

  /** Writes down what a run comes to, whatever that is, and returns it or rejects with it. */
  async #completed(run: OperationRun, work: () => Promise<void>): Promise<PerformResult> {
    try {
      await work()
      return this.#finished(run)
    } catch (error) {
      if (run.cut === 'stopped') return this.#finished(run)
      const failure = await this.#failure(run, error)
      this.#finished(run, failure)
      throw failure
    }
  }

  async #drive(device: Device, run: OperationRun): Promise<void> {
    const { name, signal, limit_s } = run
    const { params, operation_id } = run.record
    if (name === 'initialize') return this.#initialize(device, signal)
    if (!device.described) {
      const operate = device[name as Performable] as (params: object, signal: AbortSignal) => Promise<void>
      return operate(params, signal)
    }
    const progressed = (progress: Progress) => {
      run.progress = progress
    }
    const asked = { operation: name, params, operation_id, deadline_s: limit_s, progressed }
    const { message, data } = await device.described.perform(asked, signal)
    run.done = message
    run.data = data
  }

  async #initialize(device: Device, signal: AbortSignal): Promise<void> {
    this.#initialized = false
    this.#isTouched = true
    const learned = await device.initialize({}, signal)
    signal.throwIfAborted()
    await this.#noteHeat(device)
    signal.throwIfAborted()
    if (learned.identity) this.#presence?.recognise(learned.identity)
    this.#presence?.mustTell(this.#presence.identity)
    this.#learned = learned.limits
    this.#limits = this.#boundedLimits()
    this.#initialized = true
    this.#halts.forget()
    this.#latch.clear('initialized')
  }

  /** A heater that initialize finds on stays on: from now on it is ours to switch off. Some instruments switch it off while they initialize. */
  async #noteHeat(device: Device): Promise<void> {
    if (!this.#configured.driven?.profile.features.heating || !device.get_temperature) return
    const { target } = await device.get_temperature()
    if (target === null) this.#leftOn.after('no heat')
    else await this.#leftOn.before('set_temperature', 'heat', target)
  }

  /** Records how a run ended, and returns the result. */
  #finished(run: OperationRun, failure?: LabError): PerformResult {
    const result = failure ? { success: false, message: failure.message } : run.result()
    const ended_early = run.endedEarly && result.success
    const data = result.success ? run.data : undefined
    const outcome = { detail: failure?.message ?? null, reason: failure?.code ?? null, result, ended_early }
    if (ended_early) run.record.notice = null
    this.#around.ledger.end(run.record, outcome, data)
    this.#last = run.record
    this.#run = undefined
    return data === undefined ? result : { ...result, data }
  }

  /** Makes the error for a run that failed; halts the device and latches a fault unless nothing was done. */
  async #failure(run: OperationRun, error: unknown): Promise<LabError> {
    if (run.cut === 'stopping') {
      const sentence = `the service is stopping; ${this.device_id} may still run ${run.name}`
      return new LabError('stopping', sentence, { cause: error, retry_after_s: 5 })
    }
    if (run.cause) return run.cause
    if (isHarmless(error)) {
      // The instrument knows better than we: it has lost its power, and the next run has to initialize it.
      if (error.code === 'not_initialized') this.#initialized = false
      return worded(this.device_id, error)
    }
    const halted = await this.#haltedIfOpen()
    return this.#suspect(run.name, error, !halted)
  }

  /**
   * Suspects the device outside a run as `suspect` does within one; a heater that we switched on is switched off first, and with it ends
   * what runs, for the same cause.
   */
  #unwell(command: string, error: unknown): Promise<LabError> {
    // A question while the link is being closed says nothing of the instrument.
    if (this.#closing) return Promise.resolve(worded(this.device_id, error))
    const isHot = this.#leftOn.hot && !isHarmless(error)
    const failure = isHot ? this.#cooled(command, error) : Promise.resolve(this.#suspect(command, error, this.#halts.mayBeOn))
    if (isHot) this.#run?.endFor(error, failure)
    return failure
  }

  async #cooled(command: string, error: unknown): Promise<LabError> {
    const isOff = await this.#haltedIfOpen()
    return this.#suspect(command, error, !isOff)
  }

  /** Latches what a device did wrong, and words it. */
  #suspect(command: string, error: unknown, may_still_be_moving: boolean): LabError {
    const failure = worded(this.device_id, error)
    if (isHarmless(error)) return failure
    if (failure.code === 'internal') this.#around.log.error(`${this.device_id}: ${command} failed in the driver`, error)
    this.#initialized = false
    this.#latch.setFault(faultOf(command, failure, may_still_be_moving))
    return failure
  }

  /** Halts the device as `halted` does; a device whose link is not open is halted as soon as it is. */
  async #haltedIfOpen(): Promise<boolean> {
    const { driven } = this.#configured
    if (driven?.link.state === 'open') return this.#halted(driven.device)
    this.#halts.owe()
    return false
  }

  /** Whether the device acknowledged within `ms` that it stands. */
  async #halted(device: Device, ms?: number): Promise<boolean> {
    try {
      const acknowledged = this.#halts.sent(promised(() => device.halt()))
      return await inTime(this.#around.clock, acknowledged, ms)
    } catch (error) {
      this.#around.log.warn(`${this.device_id}: could not be halted: ${messageOf(error)}`)
      return false
    }
  }

  #onLost(reason: string): void {
    this.#initialized = false
    if (this.#closing || this.#run) return
    if (this.#leftOn.hot && !this.#unhaltable) this.#halts.owe()
    this.#suspect('check', connectionLost(reason, this.#configured.driven?.link.advice), this.#halts.mayBeOn)
  }

  /** Throws unless the instrument is the one that the configuration names and has acknowledged its last halt. */
  async #beforeInitialize(device: Device): Promise<void> {
    await this.#presence?.mustBeTheOne()
    if (!this.#halts.isOwed) return
    if (!this.#halts.isPending) await this.#mustBeHalted(device, unheard)
    // A driver waits for its instrument itself. A program may use the port for its halt still.
    else if (device.described) await this.#mustAcknowledge()
  }

  /** Waits for the halt that is under way. Throws `no_reply` when the device does not acknowledge it. */
  async #mustAcknowledge(): Promise<void> {
    const isHalted = await inTime(this.#around.clock, this.#halts.acknowledged, standing_ms).catch(() => false)
    if (!isHalted) throw this.#suspect('stop', new LabError('no_reply', unheard), true)
  }

  /**
   * A halt that was not heard is repeated ahead of any question. After a fault an instrument that watches its host is asked nothing more:
   * a question would tell its watchdog that all is well.
   */
  async #look({ device, profile }: Driven): Promise<void> {
    if (this.#halts.isPending) return
    if (this.#halts.isOwed) await this.#haltAgain(device)
    else if (!this.#latch.fault || !profile.features.host_watchdog) await device.check()
  }

  async #haltAgain(device: Device): Promise<void> {
    if (await this.#halted(device, standing_ms))
      this.#around.log.warn(`${this.device_id} had not heard its halt; it was repeated and acknowledged`)
    else this.#suspect('stop', new LabError('no_reply', unheard), true)
  }

  /** Halts it. Throws, and latches, `no_reply` with this sentence when it does not acknowledge that. */
  async #mustBeHalted(device: Device, sentence: string): Promise<void> {
    if (!(await this.#halted(device, standing_ms))) throw this.#suspect('stop', new LabError('no_reply', sentence), true)
    this.#around.log.warn(`${this.device_id} may have been on; it was halted`)
  }

  /**
   * A halt that was not heard is repeated; a device that was left on when the service ended is halted, unless it is to be left; what it
   * does by itself is waited for. Rejects when it does not acknowledge that it was halted.
   */
  async #connected({ device }: Driven): Promise<void> {
    if (this.#halts.isOwed) await this.#mustBeHalted(device, unheard)
    else if (device.unhaltable) this.#mindWhatIsOn()
    else if (this.#configured.on_restart === 'halt' && this.#leftOn.fromBefore) await this.#mustBeHalted(device, unheeded)
    const going = await device.underWay?.()
    if (going && !this.#run) void this.#adopt(device, going)
  }

  /** Latches that a device was left on when the service ended, and that no stop ends that. */
  #mindWhatIsOn(): void {
    if (this.#leftOn.fromBefore && !this.#initialized) this.#suspect('stop', new LabError('device_failed', unstoppable), true)
  }

  /** Takes over a run that the instrument began before this start and ends by itself: until then the device is busy. */
  async #adopt(device: Device, { operation, seconds_left }: UnderWay): Promise<void> {
    const run = this.#begin(operation, { duration: seconds_left }, null)
    run.done = `${operation} that was under way has ended`
    this.#around.log.info(`${this.device_id} is running ${operation} by itself, about ${inSeconds(seconds_left)} left`)
    const wait = async () => {
      do await sleep(this.#around.clock, watch_ms, run.signal)
      while (await device.underWay?.())
    }
    run.isDriven()
    await this.#completed(run, () => run.end(wait())).catch((error) => {
      this.#around.log.warn(`${this.device_id}: ${operation} that was under way: ${messageOf(error)}`)
    })
  }
}

/** The states in which the device does what it was asked, or is driven elsewhere. */
const wellStates: ReadonlySet<DeviceState> = new Set(['ready', 'busy', 'external'])

/** A driver's sentence with the request that ends the fault, in place of the word `initialize`. */
function withRemedy(error: string, request: string): string {
  const sentence = error.replace(/\bthen initialize( the device\.)?$/, '')
  return sentence === error ? `${error}; remove the cause, then ${request}` : `${sentence}then ${request}`
}

function staysHot(type: string, lowest: number): string {
  return `the ${type} cannot switch its heater off. Its set point is now ${lowest} °C, the lowest.`
}

const unheard =
  'it has not acknowledged that it was halted, and is halted again until it does; see that it stands and is cold, or use its red button'
const unstoppable = 'it was left on when the service ended, and no stop ends that; see that it stands and is cold, then initialize'
const unheeded =
  'it was left on when the service ended, and has not acknowledged that it was halted; see that it stands and is cold, or use its red button'

/** The limits that no arm can pass: a coordinate outside of them is a slip of the pen, whatever the driver. */
const metres = { min: -10_000, max: 10_000, unit: 'mm' }
const turns = { min: -3600, max: 3600, unit: '°' }
const world: Limits = {
  ...{ x: metres, y: metres, z: metres, yaw: turns, pitch: turns, roll: turns },
  ...{ base: turns, shoulder: turns, elbow: turns, wrist: turns, rail: metres, gripper: turns },
}

function numbersOf(spot: Spot): Record<string, number> {
  return 'joints' in spot ? spot.joints : spot.pose
}
