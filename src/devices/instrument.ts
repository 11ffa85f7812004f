// A device of the bench: who may use it now, and how what is asked of it is done, stopped and closed.

import { LabError } from '../errors.ts'
import { Abilities } from './abilities.ts'
import { capabilities } from './capabilities.ts'
import { Condition } from './condition.ts'
import type { Configured, InstrumentContext } from './configured.ts'
import { CurrentOperation } from './current_operation.ts'
import type { AnyProfile, Device, Gripper, Person, Progress, Typical } from './device.ts'
import { isRefusal, worded } from './failure.ts'
import { acknowledge_ms, answerToStop, onceOpen, promised } from './halting.ts'
import { DeviceLimits } from './limits.ts'
import { type Caller, DeviceLock } from './lock.ts'
import type { OperationRun } from './operation_run.ts'
import type { MoveName, Performable } from './operations.ts'
import { Presence } from './presence.ts'
import { Questions } from './questions.ts'
import type { Capabilities, DeviceInfo, DeviceState, DeviceSummary, OperationRecord, OperationResult, PerformResult } from './records.ts'
import { type MoveTarget, numbersOf } from './way.ts'
import type { Wire } from './wire_log.ts'

/**
 * How an operation is asked for. `by`: the caller; without one an execution asks, which only a lease keeps out. `begun` is called with the
 * record of the operation before anything is on the wire. `deadline`: whether the instrument or the caller ends an operation that takes too long.
 */
type Asking = { by?: Caller; begun?: (record: OperationRecord) => void; deadline?: 'own' | 'caller' }

export class Instrument {
  readonly abilities: Abilities
  readonly questions: Questions
  readonly lock: DeviceLock
  readonly condition: Condition
  readonly operation: CurrentOperation
  #configured: Configured
  readonly #around: InstrumentContext
  /** Absent where there is no driver. */
  readonly #presence: Presence | undefined
  readonly #limits: DeviceLimits
  /** The reason why it is being closed, if it is. */
  #closing: string | undefined

  constructor(configured: Configured, around: InstrumentContext) {
    this.#configured = configured
    this.#around = around
    const { device_id, driven, identity: wanted, bounds } = configured
    this.abilities = new Abilities(device_id, driven?.device)
    this.questions = new Questions(device_id, driven?.device, this.abilities, {
      mustBeConnected: () => this.#presence?.mustBeConnected(),
      isWell: () => this.condition.isWell && !this.#closing,
      unwell: (question, error) => this.#unwell(question, error),
    })
    this.lock = new DeviceLock(device_id, around)
    this.condition = new Condition(configured, around, () => this.lock.execution_id)
    this.operation = new CurrentOperation({ ...configured, abilities: this.abilities }, around, (run, error) => this.#failure(run, error))
    this.#limits = new DeviceLimits(device_id, driven?.profile.limits ?? {}, bounds)
    if (!driven) return
    const { device, link } = driven
    link.onLost((reason) => {
      this.condition.isInitialized = false
      if (!this.#closing && !this.operation.run) this.condition.lost(reason)
    })
    const owner = {
      isRunning: () => this.operation.run !== undefined,
      connected: async () => {
        await this.condition.connected()
        await this.operation.adopt(device)
      },
      look: () => this.condition.look(),
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

  /** How long the device usually takes to initialize and to heat; undefined where nobody has said it. */
  get typical(): Typical | undefined {
    return this.#configured.driven?.typical
  }

  /** The person who carries; undefined for instruments. */
  get person(): Person | undefined {
    return this.#configured.driven?.device.person
  }

  /** Derived from what is so, never set. */
  get state(): DeviceState {
    const { latch, isConnected, isInitialized } = this.condition
    const { run } = this.operation
    if (!this.driven) return 'external'
    if (!isConnected) return 'disconnected'
    if (run && run.cut !== 'stopped') return 'busy'
    if (latch.fault) return latch.stopped ? 'stopped' : 'faulted'
    return isInitialized ? 'ready' : 'not_initialized'
  }

  summary(): DeviceSummary {
    const { device_id, type, name } = this.#configured
    return { device_id, type, name, is_initialized: this.condition.isInitialized }
  }

  /** Whether it may move or be hot though nobody wants it to: a device that is ready or busy does what it was asked. */
  get mayStillBeOn(): boolean {
    return !wellStates.has(this.state) && this.condition.halts.mayBeOn
  }

  info(): DeviceInfo {
    const { driver, simulated } = this.#configured
    const { latch, leftOn } = this.condition
    return {
      ...{ ...this.summary(), driver, simulated },
      state: this.state,
      operation: this.operation.shown,
      last_operation: this.operation.last,
      fault: latch.fault,
      stopped: latch.stop,
      may_still_be_on: this.mayStillBeOn,
      heating: leftOn.heating,
      heard_at: this.#configured.driven?.wire.heard_at ?? null,
      identity: this.#presence?.identity ?? null,
      lock: this.lock.shown,
    }
  }

  capabilities(): Capabilities {
    const { device_id, type, driver, simulated, driven } = this.#configured
    const {
      model,
      features,
      ends_early = [],
    }: Partial<AnyProfile> & Pick<AnyProfile, 'model' | 'features'> = driven?.profile ?? { model: 'external', features: {} }
    return capabilities({ device_id, type, driver, model, simulated, ...this.#limits.shown, features }, this.abilities.names, {
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
    this.#limits.bound(bounds)
  }

  /**
   * Does an operation, and returns what it came to. Rejects with what refuses it (`locked`, `busy`, `stopped`, `faulted`,
   * `not_initialized`, `interlock`, `invalid`) or what went wrong.
   */
  async perform(name: string, params: Record<string, unknown>, asking: Asking = {}): Promise<PerformResult> {
    const { device } = this.#mustBeDriven(name)
    const hands = this.#configured.type === 'transporter' && !this.person ? this.#around.keepsStill?.(this.device_id) : undefined
    if (hands !== undefined) throw new LabError('interlock', hands)
    this.#limits.check(params)
    const { leaves_on, heats_to } = this.operation.taskOf(name, params)
    return this.#undertake(name, params, asking, async (run) => {
      if (name === 'initialize') {
        await this.#presence?.mustBeTheOne()
        await this.condition.mustHaveHeard()
      }
      await this.condition.leftOn.before(name, leaves_on, heats_to)
      run.signal.throwIfAborted()
      try {
        const driving = this.#drive(device, run)
        run.isDriven()
        await run.end(driving, asking.deadline)
      } catch (error) {
        if (isRefusal(error)) await this.condition.leftOn.refused()
        throw error
      }
      const lowest = leaves_on === 'no heat' ? this.#configured.driven?.profile.lowest_set_point : undefined
      if (lowest !== undefined)
        run.done = `the ${this.#configured.type} cannot switch its heater off. Its set point is now ${lowest} °C, the lowest.`
      this.condition.leftOn.after(leaves_on)
    })
  }

  /**
   * Asks an arm whether it holds something. Null when that proves nothing of the last move before this start of the service: it cannot tell, or cannot be
   * asked, or it was initialized or stopped since, and a person may have emptied it. Rejects with `interlock` while it moves.
   */
  async gripper(): Promise<Gripper | null> {
    const { driven } = this.#configured
    const { condition } = this
    if (!driven?.device.gripper || !condition.isConnected || condition.isTouched || condition.latch.fault || this.operation.run) return null
    try {
      const held = await driven.device.gripper()
      return condition.isTouched ? null : held
    } catch (error) {
      if (error instanceof LabError && error.code === 'interlock') throw worded(this.device_id, error)
      return null
    }
  }

  /** Takes labware up at a point, or sets it down there. Resolves and rejects as `perform` does; `invalid` for a point out of this world. */
  async carry(verb: MoveName, target: MoveTarget, asking: Asking = {}): Promise<OperationResult> {
    const device = this.#configured.driven?.device
    if (!device?.[verb]) throw new LabError('invalid', `${this.device_id} cannot ${verb}: that takes an arm with a driver`)
    const { position: at, way } = target
    if (way) this.#limits.checkWay(way)
    const passed = way?.via && way.via.length > 0 && { via: way.via.map((gateway) => gateway.at) }
    const params = { at, ...(way && numbersOf(way)), ...passed }
    return this.#undertake(verb, params, asking, (run) => run.end(device[verb]!(target, run.signal)))
  }

  /**
   * Ends the running operation with this id before its time, in an orderly way; asked again, nothing more is done. Its record tells what
   * comes of it. Throws `locked` when somebody else has the device, and `conflict` when the operation belongs to a run, has ended, or
   * cannot end early.
   */
  endEarly(operation_id: string, by: Caller): void {
    const run = this.operation.endable(operation_id)
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
    const { run } = this.operation
    this.condition.stop(run?.name ?? null, by)
    run?.cutShort('stopped')
    return answerToStop(this.device_id, this.#around.clock, {
      acknowledged: this.condition.halts.sent(acknowledged),
      opening: this.#presence?.opening,
      unhaltable: this.#configured.driven?.device.unhaltable,
      isPerson: this.person !== undefined,
    })
  }

  /**
   * Clears a fault that somebody has looked at; never a stop. A device that no stop ends counts as off from then on. Returns whether there was
   * something to clear. Throws `locked` when it is not theirs.
   */
  clearFault(by?: Caller): boolean {
    this.lock.admit(by)
    return this.condition.clearFault(this.operation.run !== undefined)
  }

  /** Opens the link, asks who is there, and looks again every two seconds. Sends queries, and halts that were not heard. */
  start(): void {
    void this.#presence?.watch()
  }

  /** Throws `conflict`, saying what or who, while something runs on it or somebody has it for themselves. */
  mustBeFree(): void {
    const { run } = this.operation
    const { shown } = this.lock
    if (run) throw new LabError('conflict', `${this.device_id} is running ${run.name}; wait for that or stop it, then reload`)
    if (shown) throw new LabError('conflict', `${this.device_id} is kept by ${shown.owner}; ask them to let go of it, or wait, then reload`)
  }

  /** Ends what runs: what the instrument times itself goes on there, all else is halted. Then lets go of the port. */
  async close(why = 'the service is stopping'): Promise<void> {
    this.#closing = why
    this.#presence?.end()
    const { driven } = this.#configured
    if (!driven) return
    const { run } = this.operation
    if (run) {
      run.cutShort('stopping')
      if (!driven.profile.features.autonomous_timer) await this.condition.halt()
    }
    if (this.condition.needsHalt && this.condition.isConnected) await this.condition.halt()
    await driven.link.close()
  }

  /**
   * Sends the halt that `close` sends, or has sent and that is not acknowledged, for a process that ends at once: the bytes are on the wire
   * before this returns. Resolves when the device has acknowledged it, or a moment later.
   */
  async haltBeforeExit(): Promise<void> {
    if (!this.condition.isConnected) return
    const needsUs = this.operation.run !== undefined && !this.#configured.driven?.profile.features.autonomous_timer
    if (needsUs || this.condition.needsHalt) await this.condition.halt(acknowledge_ms)
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
    this.operation.mustBeIdle()
  }

  /** Runs anything that is done with the device: checks the lock, one run at a time, with a deadline, a record, and a latch on a failure. */
  async #undertake(
    name: string,
    params: Record<string, unknown>,
    { by, begun }: Asking,
    work: (run: OperationRun) => Promise<void>,
  ): Promise<PerformResult> {
    this.lock.admit(by)
    if (this.#closing) throw new LabError('stopping', `${this.#closing}; ask again when it is back`, { retry_after_s: 5 })
    this.operation.mustBeIdle()
    if (name !== 'initialize') {
      this.condition.mustNotBeLatched()
      this.#presence?.mustBeConnected()
      this.condition.mustBeInitialized()
    }
    const run = this.operation.begin(name, params, by ? null : this.lock.execution_id)
    begun?.(run.record)
    return this.operation.completed(run, () => work(run))
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
    this.condition.initializing()
    const learned = await device.initialize({}, signal)
    signal.throwIfAborted()
    await this.condition.noteHeat()
    signal.throwIfAborted()
    if (learned.identity) this.#presence?.recognise(learned.identity)
    this.#presence?.mustTell(this.#presence.identity)
    this.#limits.learn(learned.limits)
    this.condition.initialized()
  }

  async #failure(run: OperationRun, error: unknown): Promise<LabError> {
    if (run.cut === 'stopping') {
      const sentence = `the service is stopping; ${this.device_id} may still run ${run.name}`
      return new LabError('stopping', sentence, { cause: error, retry_after_s: 5 })
    }
    return run.cause ?? this.condition.failed(run.name, error)
  }

  #unwell(command: string, error: unknown): Promise<LabError> {
    // A question while the link is being closed says nothing of the instrument.
    return this.#closing ? Promise.resolve(worded(this.device_id, error)) : this.condition.unwell(command, error, this.operation.run)
  }
}

/** The states in which the device does what it was asked, or is driven elsewhere. */
const wellStates: ReadonlySet<DeviceState> = new Set(['ready', 'busy', 'external'])
