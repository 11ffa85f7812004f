// A device of the bench: checks who may use it, performs its operations, stops it, and closes it.

import { LabError } from '../errors.ts'
import { nobody } from '../kit/author.ts'
import { Abilities } from './abilities.ts'
import { capabilities } from './capabilities.ts'
import { Condition } from './condition.ts'
import type { Configured, InstrumentContext } from './configured.ts'
import { CurrentOperation } from './current_operation.ts'
import type { AnyProfile, Attach, Device, Typical } from './device.ts'
import { drive } from './drive.ts'
import { isRefusal, worded } from './failure.ts'
import { acknowledge_ms, answerToStop, onceOpen, promised } from './halting.ts'
import { DeviceLimits } from './limits.ts'
import { type Caller, DeviceLock } from './lock.ts'
import type { OperationRun } from './operation_run.ts'
import type { MoveName } from './operations.ts'
import { Presence } from './presence.ts'
import { Questions } from './questions.ts'
import type { Capabilities, DeviceInfo, DeviceState, DeviceSummary, OperationRecord, OperationResult, PerformResult } from './records.ts'
import { transfer, transferOf } from './transfer.ts'
import { type MoveTarget, numbersOf, type Way } from './way.ts'
import type { Wire } from './wire_log.ts'
import { Witness } from './witness.ts'

/**
 * The context of an operation. `by`: the caller; if absent, a run, which only a lease keeps out. `begun` is called with the record of the operation
 * before the first byte. `deadline`: whether the instrument or the caller ends an operation that takes too long. `attach` keeps its files.
 */
type Asking = { by?: Caller; begun?: (record: OperationRecord) => void; deadline?: 'own' | 'caller'; attach?: Attach | undefined }

export class Instrument {
  readonly abilities: Abilities
  readonly questions: Questions
  readonly lock: DeviceLock
  readonly condition: Condition
  readonly witness: Witness
  readonly operation: CurrentOperation
  #configured: Configured
  readonly #around: InstrumentContext
  /** Watches the link; absent without a driver. */
  readonly #presence: Presence | undefined
  readonly limits: DeviceLimits
  /** The reason for which the device is being closed; undefined if it is not. */
  #closing: string | undefined

  constructor(configured: Configured, around: InstrumentContext) {
    this.#configured = configured
    this.#around = around
    const { device_id, driven, identity: wanted, bounds } = configured
    this.abilities = new Abilities(device_id, driven?.device, driven?.profile)
    this.questions = new Questions(device_id, driven?.device, this.abilities, {
      mustBeConnected: () => this.#presence?.mustBeConnected(),
      mayBeSampled: () => this.#presence?.isThere === true && this.condition.mayBeSampled(this.operation.run !== undefined),
      unwell: (question, error) => this.#unwell(question, error),
    })
    this.lock = new DeviceLock(device_id, around)
    this.condition = new Condition(configured, around, () => this.lock.execution_id)
    this.operation = new CurrentOperation({ ...configured, abilities: this.abilities }, around, (run, error) => this.#failure(run, error))
    this.limits = new DeviceLimits(device_id, () => driven?.profile.limits, bounds)
    this.witness = new Witness({ device_id, device: driven?.device, condition: this.condition, operation: this.operation })
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

  /** Whether the device has a driver, so that it can be asked and stopped. */
  get driven(): boolean {
    return this.#configured.driven !== undefined
  }

  get simulated(): boolean {
    return this.#configured.simulated
  }

  /** How many seconds pass for the instrument in one real second. */
  get time_scale(): number {
    return this.#configured.time_scale
  }

  /** How long the device usually takes to initialize and to heat; undefined if the driver does not say it. */
  get typical(): Typical | undefined {
    return this.#configured.driven?.typical
  }

  /** The state, derived from the facts and never set. */
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

  /** Whether the device may move or be hot without an intention. A ready or busy device does what it was asked. */
  get mayStillBeOn(): boolean {
    return !wellStates.has(this.state) && this.condition.halts.mayBeOn
  }

  info(): DeviceInfo {
    const { driver, simulated, driven } = this.#configured
    const { latch, leftOn, parts } = this.condition
    return {
      ...{ ...this.summary(), driver, simulated },
      state: this.state,
      operation: this.operation.shown,
      last_operation: this.operation.last,
      fault: latch.fault,
      stopped: latch.stop,
      may_still_be_on: this.mayStillBeOn,
      ...{ heating: leftOn.heating, parts: parts.known, unfit: this.abilities.unfit ?? null },
      heard_at: driven && !driven.device.isNeverAsked ? driven.wire.heard_at : null,
      identity: this.#presence?.identity ?? null,
      lock: this.lock.shown,
    }
  }

  capabilities(): Capabilities {
    const { device_id, type, driver, simulated, driven } = this.#configured
    const { model, features, ends_early = [] }: AnyProfile = driven?.profile ?? { model: 'external', limits: {}, features: {} }
    return capabilities({ device_id, type, driver, model, simulated, ...this.limits.shown, features }, this.abilities.names, {
      ends_early,
      ...{ typical: this.typical, margins: this.abilities.margins, own: this.abilities.own },
      readings: this.abilities.ownReadings,
      choices: this.abilities.choices,
    })
  }

  /** Accepts the latest description of the program behind the device. Returns whether it differs from the accepted one. Throws `locked`. */
  acceptDescription(by: Caller): boolean {
    this.lock.admit(by)
    const { described } = this.#mustBeDriven('stop').device
    if (described?.isProgram) return described.accept()
    throw new LabError('invalid', `${this.device_id} does not describe itself: only a bridge does`)
  }

  /** Returns the latest frames between the service and the instrument. */
  wire(): Wire {
    const { wire } = this.#mustBeDriven('initialized')
    return { device_id: this.device_id, frames: wire.frames(), fault_frames: wire.faultFrames }
  }

  /** Ends what the device does, for an error of its driver for which nobody waited; undefined for a driver that ships. */
  get fail(): ((error: unknown) => void) | undefined {
    return this.#configured.driven?.fail
  }

  /** Applies a new name and new bounds. A running operation is not affected. */
  adapt({ name, bounds }: Pick<Configured, 'name' | 'bounds'>): void {
    this.#configured = { ...this.#configured, name, bounds }
    this.limits.bound(bounds)
  }

  /**
   * Performs an operation, and returns its result. Rejects with the reason of a refusal (`locked`, `busy`, `stopped`, `faulted`, `not_initialized`,
   * `interlock`, `invalid`) or of a failure.
   */
  async perform(name: string, params: Record<string, unknown>, asking: Asking = {}): Promise<PerformResult> {
    this.#mustBeDriven(name)
    this.limits.check(params, this.abilities.own.has(name))
    this.abilities.mustTake(name, params)
    const { beginTransfer } = this.#around
    const order = asking.by && beginTransfer && transferOf(this.device_id, name, params)
    if (!order) return this.#perform(name, params, asking)
    const perform = (its: Record<string, unknown>, begun: Asking['begun']) => this.#perform(name, its, { ...asking, begun })
    return transfer(order, { params, begun: asking.begun, begin: beginTransfer, perform })
  }

  async #perform(name: string, params: Record<string, unknown>, asking: Asking): Promise<PerformResult> {
    const { device } = this.#mustBeDriven(name)
    const { leaves_on, heats_to, goes_to } = this.operation.taskOf(name, params)
    const destination = goes_to === undefined ? {} : { way: this.#wayTo(goes_to) }
    const isArm = this.#configured.type === 'transporter' && !this.abilities.person
    const endMotion = isArm ? this.#around.beginMotion?.(this.device_id) : undefined
    const performed = this.#undertake(name, params, asking, async (run) => {
      this.#configured.driven?.playArm?.(name, params)
      if (name === 'initialize') {
        await this.#presence?.mustBeTheOne()
        await this.condition.mustHaveHeard()
      }
      await this.condition.beginning(name, leaves_on, heats_to)
      run.signal.throwIfAborted()
      try {
        const driving = name === 'initialize' ? this.#initialize(device, run.signal) : drive(device, run, { destination, ...asking })
        run.isDriven(() => device.end!())
        await run.end(driving, asking.deadline)
      } catch (error) {
        if (isRefusal(error)) await this.condition.refused()
        throw error
      }
      const lowest = leaves_on === 'no heat' ? this.#configured.driven?.profile.lowest_set_point : undefined
      if (lowest !== undefined)
        run.done = `the ${this.#configured.type} cannot switch its heater off. Its set point is now ${lowest} °C, the lowest.`
      this.condition.done(name, leaves_on)
      if (name === 'scan') this.#around.scanned?.(this.device_id, run.data)
    })
    return endMotion ? performed.finally(endMotion) : performed
  }

  /** Picks labware at a point, or places it there. Resolves and rejects as `perform` does, with `invalid` for an unreachable point. */
  async carry(verb: MoveName, target: MoveTarget, asking: Asking = {}): Promise<OperationResult> {
    const device = this.#configured.driven?.device
    if (!device?.[verb]) throw new LabError('invalid', `${this.device_id} cannot ${verb}: that takes an arm with a driver`)
    const { position: at, way } = target
    if (way) this.limits.checkWay(way)
    const passed = way?.via && way.via.length > 0 && { via: way.via.map((gateway) => gateway.at) }
    const params = { at, ...(way && numbersOf(way)), ...passed }
    return this.#undertake(verb, params, asking, (run) => run.end(device[verb]!(target, run.signal)))
  }

  /**
   * Ends the running operation with this id early, in an orderly way; a second call has no effect. The record of the operation shows the result. Throws
   * `locked` if another caller has the device, and `conflict` if the operation belongs to a run, has ended, or cannot end early.
   */
  endEarly(operation_id: string, by: Caller): void {
    const run = this.operation.endable(operation_id)
    // The key that began a held operation may always end it, even if another caller has the device by now.
    if (run.by !== by.key_id) this.lock.admit(by)
    const { device, profile } = this.#mustBeDriven('stop')
    if (!device.end || !profile.ends_early?.some((name) => name === run.name)) {
      const stop = `POST /api/devices/${this.device_id}/stop`
      throw new LabError('conflict', `${this.device_id} cannot end ${run.name} early; wait for its end, or stop the device: ${stop}`)
    }
    if (!run.ending) run.endEarly(() => device.end!())
  }

  /** Renews the hold on the running operation with this id. Throws `locked` if another caller has the device, and as `OperationRun.renew`. */
  renew(operation_id: string, by: Caller): void {
    const run = this.operation.endable(operation_id)
    // A run that holds the device does not end the hold: its move waits, because a person may have their hands on the arm.
    this.lock.mustNotBeLeasedToAnother(by)
    run.renew(by.key_id)
    this.#configured.driven?.device.renew?.()
  }

  /**
   * Writes the bytes of a stop before it returns, ahead of everything else; if the link is being opened, as the first bytes on the open link. The caller
   * must call `halted` next.
   */
  halt(): Promise<void> {
    const { device } = this.#mustBeDriven('stop')
    const opening = this.#presence?.opening
    const sent = promised(() => device.halt())
    return opening ? sent.catch((error) => onceOpen(opening, error, () => device.halt())) : sent
  }

  /**
   * Latches a stop that was sent, and ends the running operation. Resolves when the instrument has acknowledged the stop, or after 400 ms; if the link is being
   * opened, when it is open, or after two seconds. Rejects with `stop_not_sent` if the bytes could not be written; the stop is latched even so.
   */
  halted(acknowledged: Promise<void>, author = nobody): Promise<OperationResult> {
    const { run } = this.operation
    this.condition.stop(run?.name ?? null, author)
    run?.cutShort('stopped')
    return answerToStop(this.device_id, this.#around.clock, {
      acknowledged: this.condition.halts.sent(acknowledged),
      opening: this.#presence?.opening,
      unhaltable: this.#configured.driven?.device.unhaltable,
      isPerson: this.abilities.person !== undefined,
    })
  }

  /**
   * Clears a fault that a person has looked at, never a stop. A device that cannot be halted counts as off from then on. Returns whether there was a fault to
   * clear. Throws `locked` if another caller has the device.
   */
  clearFault(by?: Caller): boolean {
    this.lock.admit(by)
    return this.condition.clearFault(this.operation.run !== undefined)
  }

  /** Opens the link, identifies the instrument, and checks it every two seconds. Sends only queries, and halts that were not acknowledged. */
  start(): void {
    void this.#presence?.watch()
  }

  /** Throws `conflict`, with the reason, while the device performs an operation or a caller keeps it. */
  mustBeFree(): void {
    const [{ run }, { shown }] = [this.operation, this.lock]
    if (run) throw new LabError('conflict', `${this.device_id} is running ${run.name}; wait for that or stop it, then reload`)
    if (shown) throw new LabError('conflict', `${this.device_id} is kept by ${shown.owner}; ask them to release it, or wait, then reload`)
  }

  /** Ends the running operation and closes the port. An operation that the instrument times itself goes on there; any other is halted. */
  async close(why = 'the service is stopping'): Promise<void> {
    this.#closing = why
    this.#presence?.end()
    const [{ driven }, { run }] = [this.#configured, this.operation]
    if (!driven) return
    if (run) {
      run.cutShort('stopping')
      if (!driven.profile.features.autonomous_timer) await this.condition.halt()
    }
    if (this.condition.needsHalt && this.condition.isConnected) await this.condition.halt()
    await driven.link.close()
  }

  /**
   * Sends the halt of `close`, or repeats one that is not acknowledged, for a process that ends at once: the bytes are written before this returns. Resolves
   * when the device has acknowledged the halt, or a moment later.
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

  /** Throws the reason why a run cannot use the device now: `locked` for a lease, `disconnected`, `busy`. Does not check for a latch. */
  mustBeUsable(): void {
    this.lock.admit(undefined)
    this.#presence?.mustBeConnected()
    this.operation.mustBeIdle()
  }

  /** Runs every kind of operation: checks the lock, allows one at a time, and gives it a deadline, a record, and a latch on a failure. */
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
    const run = this.operation.begin(name, params, { by, execution_id: by ? null : this.lock.execution_id })
    begun?.(run.record)
    return this.operation.completed(run, () => work(run))
  }

  /** Returns the taught way to a teachpoint; null for a transporter that knows its positions by their names. */
  #wayTo(teachpoint: string): Way | null {
    const way = this.abilities.knowsPositions ? undefined : this.#around.wayTo?.(this.device_id, teachpoint)
    if (way) this.limits.checkWay(way)
    return way ?? null
  }

  async #initialize(device: Device, signal: AbortSignal): Promise<void> {
    this.condition.initializing()
    const learned = await device.initialize({}, signal)
    signal.throwIfAborted()
    await this.condition.noteHeat()
    signal.throwIfAborted()
    if (learned.identity) this.#presence?.recognise(learned.identity)
    this.#presence?.mustTell(this.#presence.identity)
    this.limits.learn(learned.limits)
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
    // An error while the link is being closed says nothing about the instrument.
    return this.#closing ? Promise.resolve(worded(this.device_id, error)) : this.condition.unwell(command, error, this.operation.run)
  }
}

/** The states in which the device does what it was asked, or another program drives it. */
const wellStates: ReadonlySet<DeviceState> = new Set(['ready', 'busy', 'external'])
