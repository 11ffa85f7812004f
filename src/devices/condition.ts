// The condition of a device: whether it is initialized, what went wrong with it, and whether it may still be on. A device that may be on is halted
// until it acknowledges that.

import { LabError, messageOf } from '../errors.ts'
import type { Author } from '../kit/author.ts'
import type { Configured, Driven, InstrumentContext } from './configured.ts'
import type { Device } from './device.ts'
import { connectionLost, faultOf, isHarmless, worded } from './failure.ts'
import { inTime, promised, standing_ms } from './halting.ts'
import { Halts } from './halts.ts'
import { DeviceLatch } from './latch.ts'
import { LeftOn } from './left_on.ts'
import type { OperationRun } from './operation_run.ts'
import type { Leaves } from './operations.ts'
import { KnownParts } from './parts.ts'

type Known = Pick<Configured, 'device_id' | 'simulated' | 'on_restart' | 'driven'>

export class Condition {
  readonly latch: DeviceLatch
  readonly leftOn: LeftOn
  readonly halts: Halts
  readonly parts = new KnownParts()
  isInitialized = false
  /** Whether it was initialized or stopped since the service began. */
  isTouched = false
  readonly #device_id: string
  readonly #on_restart: Configured['on_restart']
  readonly #driven: Driven | undefined
  readonly #around: Pick<InstrumentContext, 'clock' | 'log' | 'stood'>

  /** `execution` returns the execution whose device it is just now. */
  constructor({ device_id, simulated, on_restart, driven }: Known, around: InstrumentContext, execution: () => string | null) {
    this.#device_id = device_id
    this.#on_restart = on_restart
    this.#driven = driven
    this.#around = around
    this.latch = new DeviceLatch(device_id, { ...around, wire: driven?.wire, execution })
    const timesItself = driven?.profile.features.autonomous_timer ?? false
    this.leftOn = new LeftOn({ device_id, simulated, timesItself, lowest: driven?.profile.lowest_set_point }, around)
    if (this.#unhaltable) this.leftOn.keep()
    this.halts = new Halts({
      clock: around.clock,
      leftOn: this.leftOn,
      heard: () => {
        this.latch.setHalted()
        this.#around.stood?.()
      },
      unhaltable: () => this.#unhaltable,
    })
  }

  get #unhaltable(): Device['unhaltable'] {
    return this.#driven?.device.unhaltable
  }

  /** Whether its link is open. */
  get isConnected(): boolean {
    return this.#driven?.link.state === 'open'
  }

  /**
   * Whether it may be asked in the background; also after a stop or a fault, so that a heater tells that it is still hot. Not while a halt is repeated or
   * while it is being initialized, nor where a question after a fault could feed the watchdog of the instrument.
   */
  mayBeSampled(isRunning: boolean): boolean {
    if (this.halts.isOwed || (this.latch.fault && this.#driven?.profile.features.host_watchdog)) return false
    return this.isInitialized || !isRunning
  }

  /** Whether it is hot, or owes the acknowledgement of a halt: it is halted before the service lets go of it. */
  get needsHalt(): boolean {
    return this.leftOn.hot || this.halts.isOwed
  }

  get #remedy(): string {
    return `POST /api/devices/${this.#device_id}/initialize`
  }

  /** Throws `stopped` or `faulted`, and says what to do, when it was stopped or has a fault. */
  mustNotBeLatched(): void {
    const { fault, stopped } = this.latch
    if (stopped) throw new LabError('stopped', `${this.#device_id} was stopped; see that it is safe, then ${this.#remedy}`)
    if (fault) throw new LabError('faulted', `${this.#device_id} has a fault: ${withRemedy(fault.error, this.#remedy)}`)
  }

  mustBeInitialized(): void {
    if (!this.isInitialized) throw new LabError('not_initialized', `${this.#device_id} is not initialized; ${this.#remedy} first`)
  }

  /** Throws `conflict` while the device may be moving or hot, or has not acknowledged a halt: nobody would repeat the halt any more. */
  mustBeOff(): void {
    if (!this.halts.mayBeOn) return
    if (this.#unhaltable) {
      const clear = `POST /api/devices/${this.#device_id}/clear_fault`
      throw new LabError('conflict', `${this.#device_id} may still be on, and no stop ends that; see that it is off, ${clear}, then reload`)
    }
    const why = this.halts.isOwed ? 'has not acknowledged its last halt, so that it may still move or heat' : 'may still move or heat'
    throw new LabError('conflict', `${this.#device_id} ${why}; see that it is connected, stop it, see that it stands, then reload`)
  }

  /** Hands over a halt that this closed device has not acknowledged: the device in its place sends the halt as soon as its link is open. */
  handOver(next: Condition | undefined): void {
    if (!this.halts.isOwed) return
    this.halts.disown()
    next?.halts.owe()
  }

  /** Notes what an operation will move and leave on, before its first byte. Rejects as `LeftOn.before` does. */
  beginning(name: string, leaves_on: Leaves, heats_to: number | null): Promise<void> {
    this.parts.begin(name)
    return this.leftOn.before(name, leaves_on, heats_to)
  }

  /** An operation was refused: nothing was moved. */
  refused(): Promise<void> {
    this.parts.refused()
    return this.leftOn.refused()
  }

  /** Notes what an operation that has ended well has moved and left on. */
  done(name: string, leaves_on: Leaves): void {
    this.parts.done(name)
    this.leftOn.after(leaves_on)
  }

  /** The device is being initialized. */
  initializing(): void {
    this.isInitialized = false
    this.isTouched = true
  }

  /** The device was initialized: nothing of before counts any more. */
  initialized(): void {
    this.isInitialized = true
    this.halts.forget()
    this.latch.clear('initialized')
    this.#around.stood?.()
  }

  /** Latches a stop of the operation, if there is one. */
  stop(operation: string | null, author: Author): void {
    this.isInitialized = false
    this.isTouched = true
    this.latch.setStopped(operation, author)
  }

  /** Clears a fault that somebody has looked at; never a stop. A device that no stop ends counts as off from then on, unless it `isRunning`. */
  clearFault(isRunning: boolean): boolean {
    const isSeenOff = this.#unhaltable !== undefined && !isRunning && this.halts.mayBeOn
    if (isSeenOff) this.halts.seenOff()
    if (this.latch.stopped) {
      if (isSeenOff) return true
      throw new LabError('stopped', `${this.#device_id} is stopped, and only initialize ends that; ${this.#remedy}`)
    }
    const isCleared = this.latch.clear('cleared by an operator')
    this.#around.stood?.()
    return isCleared || isSeenOff
  }

  // Faults

  /** Latches what a device did wrong, and words it. */
  #suspect(command: string, error: unknown, may_still_be_moving: boolean): LabError {
    const failure = worded(this.#device_id, error)
    if (isHarmless(error)) return failure
    if (failure.code === 'internal') this.#around.log.error(`${this.#device_id}: ${command} failed in the driver`, error)
    this.isInitialized = false
    this.latch.setFault(faultOf(command, failure, may_still_be_moving))
    return failure
  }

  /** Makes the error for an operation that failed; halts the device and latches a fault unless nothing was done. */
  async failed(operation: string, error: unknown): Promise<LabError> {
    if (!isHarmless(error)) return this.#suspectHalted(operation, error)
    // The instrument knows better than we: it has lost its power, and the next run has to initialize it.
    if (error.code === 'not_initialized') this.isInitialized = false
    return worded(this.#device_id, error)
  }

  /**
   * Suspects the device outside a run as `failed` does within one; a heater that we switched on is switched off first, and with it ends
   * what runs, for the same cause.
   */
  unwell(question: string, error: unknown, run: OperationRun | undefined): Promise<LabError> {
    if (!this.leftOn.hot || isHarmless(error)) return Promise.resolve(this.#suspect(question, error, this.halts.mayBeOn))
    const failure = this.#suspectHalted(question, error)
    run?.endFor(error, failure)
    return failure
  }

  /** Halts the device, or has it halted as soon as its link is open; then latches what it did wrong, and words it. */
  async #suspectHalted(command: string, error: unknown): Promise<LabError> {
    const isHalted = await this.#haltIfOpen()
    return this.#suspect(command, error, !isHalted)
  }

  async #haltIfOpen(): Promise<boolean> {
    if (this.isConnected || this.#driven?.profile.features.motionless) return this.halt()
    this.halts.owe()
    return false
  }

  /** The connection was lost while nothing ran. */
  lost(reason: string): void {
    if (this.leftOn.hot && !this.#unhaltable) this.halts.owe()
    this.#suspect('check', connectionLost(reason, this.#driven?.link.advice), this.halts.mayBeOn)
  }

  /** A heater that initialize finds on stays on: from now on it is ours to switch off. Some instruments switch it off while they initialize. */
  async noteHeat(): Promise<void> {
    const { device, profile } = this.#driven!
    if (!profile.features.heating || !device.get_temperature) return
    const { target } = await device.get_temperature()
    if (target === null) this.leftOn.after('no heat')
    else await this.leftOn.before('set_temperature', 'heat', target)
    const lid = await device.get_lid_temperature?.()
    if (lid?.target === null) this.leftOn.after('no lid heat')
    else if (lid) await this.leftOn.before('set_lid_temperature', 'lid heat', lid.target)
  }

  // Halts

  /** Halts the device. Returns whether it acknowledged within `ms` that it stands. */
  async halt(ms?: number): Promise<boolean> {
    const { device } = this.#driven!
    try {
      const acknowledged = this.halts.sent(promised(() => device.halt()))
      return await inTime(this.#around.clock, acknowledged, ms)
    } catch (error) {
      this.#around.log.warn(`${this.#device_id}: could not be halted: ${messageOf(error)}`)
      return false
    }
  }

  /** Halts it. Throws, and latches, `no_reply` with this sentence when it does not acknowledge that. */
  async #mustBeHalted(sentence: string): Promise<void> {
    if (!(await this.halt(standing_ms))) throw this.#suspect('stop', new LabError('no_reply', sentence), true)
    this.#around.log.warn(`${this.#device_id} may have been on; it was halted`)
  }

  /** Before it is initialized: throws unless it has acknowledged its last halt. */
  async mustHaveHeard(): Promise<void> {
    if (!this.halts.isOwed) return
    if (!this.halts.isPending) await this.#mustBeHalted(unheard)
    // A driver waits for its instrument itself. A program may use the port for its halt still.
    else if (this.#driven?.device.described?.isProgram) {
      const isHalted = await inTime(this.#around.clock, this.halts.acknowledged, standing_ms).catch(() => false)
      if (!isHalted) throw this.#suspect('stop', new LabError('no_reply', unheard), true)
    }
  }

  /**
   * The device can be reached again: a halt that was not heard is repeated, and a device that was left on when the service ended is halted, unless
   * it is to be left. Rejects when it does not acknowledge that it was halted.
   */
  async connected(): Promise<void> {
    this.parts.forget()
    if (this.halts.isOwed) await this.#mustBeHalted(unheard)
    else if (this.#unhaltable) {
      if (this.leftOn.fromBefore && !this.isInitialized) this.#suspect('stop', new LabError('device_failed', unstoppable), true)
    } else if (this.#on_restart === 'halt' && this.leftOn.fromBefore) await this.#mustBeHalted(unheeded)
  }

  /**
   * Looks whether the device is well while nothing runs. A halt that was not heard is repeated ahead of any question. After a fault an instrument
   * that watches its host is asked nothing more: a question would tell its watchdog that all is well.
   */
  async look(): Promise<void> {
    const { device, profile } = this.#driven!
    if (this.halts.isPending) return
    if (this.halts.isOwed) await this.#haltAgain()
    else if (!this.latch.fault || !profile.features.host_watchdog) await device.check()
  }

  async #haltAgain(): Promise<void> {
    if (await this.halt(standing_ms)) this.#around.log.warn(`${this.#device_id} had not heard its halt; it was repeated and acknowledged`)
    else this.#suspect('stop', new LabError('no_reply', unheard), true)
  }
}

/** A driver's sentence with the request that ends the fault, in place of the word `initialize`. */
function withRemedy(error: string, request: string): string {
  const sentence = error.replace(/\bthen initialize( the device\.)?$/, '')
  return sentence === error ? `${error}; remove the cause, then ${request}` : `${sentence}then ${request}`
}

const unheard =
  'it has not acknowledged that it was halted, and is halted again until it does; see that it stands and is cold, or use its red button'
const unstoppable = 'it was left on when the service ended, and no stop ends that; see that it stands and is cold, then initialize'
const unheeded =
  'it was left on when the service ended, and has not acknowledged that it was halted; see that it stands and is cold, or use its red button'
