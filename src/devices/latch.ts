// The latch of a device: its first fault, and whether it was stopped. Each change is an event, and survives a restart.

import type { Context } from '../events/event.ts'
import { type Author, authorText } from '../kit/author.ts'
import type { Log } from '../kit/log.ts'
import type { Latch, LatchStore } from './latches.ts'
import type { Fault, Stopped, StopRequest } from './records.ts'
import type { WireLog } from './wire_log.ts'

/** Fires the events of a device: the hub, or an object in front of it. */
export type Emitter = { emit(event_name: string, context: Context, execution_id?: string): unknown }

type NewFault = Omit<Fault, 'since'>

type Around = {
  hub: Emitter
  latches: LatchStore
  log: Log
  wire: WireLog | undefined
  /** The execution that holds the device now, to which the event of a fault belongs. */
  execution(): string | null
}

export class DeviceLatch {
  readonly #device_id: string
  readonly #around: Around
  #latch: Latch | undefined
  /** Keyed by caller: the time of the last stop since the device was latched. */
  readonly #stops = new Map<string | null, number>()

  constructor(device_id: string, around: Around) {
    this.#device_id = device_id
    this.#around = around
    this.#latch = around.latches.get(device_id)
  }

  get fault(): Fault | null {
    return this.#latch?.fault ?? null
  }

  get stopped(): boolean {
    return this.#latch?.stopped ?? false
  }

  /** The first and the last stop with caller and time; null unless the device is stopped. */
  get stop(): Stopped | null {
    if (!this.#latch?.stopped) return null
    const { again = null, ...first } = this.#latch.stop ?? { by: null, at: this.#latch.fault.since }
    return { ...first, again }
  }

  /** Latches a fault; does nothing if one is latched. */
  setFault(fault: NewFault): void {
    if (!this.#latch) this.#set({ fault: { ...fault, since: Date.now() / 1000 }, stopped: false })
  }

  /** `command` is the operation that was under way. */
  setStopped(command: string | null, { by, operator }: Author): void {
    // In one text, because version 0.2.0 would take a member that it does not know for damage, and lose the stop.
    const request: StopRequest = { by: authorText(by, operator) || null, at: Date.now() / 1000 }
    const isRepeat = this.#isRepeat(request)
    if (this.#latch) {
      this.#setStoppedToo(this.#latch, request, isRepeat)
      return
    }
    const fault: Fault = {
      command,
      outcome: command === null ? 'failed' : 'unknown',
      error: `${this.#device_id} was stopped`,
      error_type: 'Stopped',
      may_still_be_moving: command !== null,
      since: request.at,
    }
    this.#set({ fault, stopped: true, stop: request })
  }

  /** Records the stop of a latched device with an event, so that a person who saw the device before learns of it. */
  #setStoppedToo(latch: Latch, request: StopRequest, isRepeat: boolean): void {
    const { stop } = this
    this.#latch = { ...latch, stopped: true, stop: stop ? { ...stop, again: request } : request }
    if (!isRepeat) this.#emitStopped(request)
    this.#keep()
  }

  /** Whether the caller repeats the stop within a second, as a button that is held down does. Such repeats have one event. */
  #isRepeat({ by, at }: StopRequest): boolean {
    const last = this.#stops.get(by)
    this.#stops.set(by, at)
    return last !== undefined && Math.abs(at - last) < 1
  }

  #emitStopped({ by }: StopRequest): void {
    const execution_id = this.#around.execution()
    const context = { device_name: this.#device_id, by, execution_id }
    this.#around.hub.emit(`DEVICE.${this.#device_id}.STOPPED`, context, execution_id ?? undefined)
    this.#around.log.warn(`${this.#device_id}: stopped${by === null ? '' : ` by ${by}`}`)
  }

  /** Notes that the device has acknowledged its halt. The fault stays, and says that nothing moves any more. */
  setHalted(): void {
    if (!this.#latch?.fault.may_still_be_moving) return
    this.#latch = { ...this.#latch, fault: { ...this.#latch.fault, may_still_be_moving: false } }
    this.#keep()
  }

  /** Clears the latch. Returns whether anything was latched. */
  clear(message: string): boolean {
    if (!this.#latch) return false
    const { fault } = this.#latch
    this.#latch = undefined
    this.#stops.clear()
    this.#around.wire?.forgetFault()
    this.#emit('FAULT_CLEARED', fault, message)
    this.#keep()
    return true
  }

  #set(latch: Latch): void {
    this.#latch = latch
    this.#around.wire?.keepForFault()
    this.#emit('FAULTED', latch.fault, null)
    this.#around.log.warn(`${this.#device_id}: latched: ${latch.fault.error}`)
    this.#keep()
  }

  /** `message` says how the fault was cleared. */
  #emit(status: 'FAULTED' | 'FAULT_CLEARED', fault: Fault, message: string | null): void {
    const { since: _, ...what } = fault
    const execution_id = this.#around.execution()
    const context = { device_name: this.#device_id, cleared: message !== null, ...what, message, execution_id }
    this.#around.hub.emit(`DEVICE.${this.#device_id}.${status}`, context, execution_id ?? undefined)
  }

  /** Stores the latch after the event, without waiting, so that a hanging disk delays nothing. */
  #keep(): void {
    this.#around.latches.set(this.#device_id, this.#latch).catch((error) => {
      this.#around.log.error(`${this.#device_id}: the latch could not be kept over a restart`, error)
    })
  }
}
