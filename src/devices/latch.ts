// The latch of a device: its first fault, and whether it was stopped. Each change is an event, and outlasts a restart.

import type { Context } from '../events/event.ts'
import type { Log } from '../kit/log.ts'
import type { Latch, LatchStore } from './latches.ts'
import type { Fault, Stopped, StopRequest } from './records.ts'
import type { WireLog } from './wire_log.ts'

/** Fires the events of a device: the hub, or a stage before it. */
export type Emitter = { emit(event_name: string, context: Context, execution_id?: string): unknown }

type NewFault = Omit<Fault, 'since'>

type Around = {
  hub: Emitter
  latches: LatchStore
  log: Log
  wire: WireLog | undefined
  /** The execution whose device it is just now, and whose event a fault is then. */
  execution(): string | null
}

export class DeviceLatch {
  readonly #device_id: string
  readonly #around: Around
  #latch: Latch | undefined
  /** When each caller last stopped the device, since it was latched. */
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

  /** The first and the last stop: who, and when; null unless the device is stopped. */
  get stop(): Stopped | null {
    if (!this.#latch?.stopped) return null
    const { by, at, again = null } = this.#latch.stop ?? { by: null, at: this.#latch.fault.since }
    return { by, at, again }
  }

  /** A fault that is latched already stays the first. */
  setFault(fault: NewFault): void {
    if (!this.#latch) this.#set({ fault: { ...fault, since: Date.now() / 1000 }, stopped: false })
  }

  /** `command` is what was under way, `by` the name of whoever stops it. */
  setStopped(command: string | null, by: string | null): void {
    const request: StopRequest = { by, at: Date.now() / 1000 }
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

  /** A stop of a device that is latched already: an event tells of it, so that nobody who looked before takes it for nothing. */
  #setStoppedToo(latch: Latch, request: StopRequest, isRepeat: boolean): void {
    const { stop } = this
    this.#latch = { ...latch, stopped: true, stop: stop ? { ...stop, again: request } : request }
    if (!isRepeat) this.#emitStopped(request)
    this.#keep()
  }

  /** Whether the caller asks again within a second, as a button that is held down does: such requests have one event. */
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

  /** The device has acknowledged that it was halted: the fault stays, and says that nothing moves any more. */
  setHalted(): void {
    if (!this.#latch?.fault.may_still_be_moving) return
    this.#latch = { ...this.#latch, fault: { ...this.#latch.fault, may_still_be_moving: false } }
    this.#keep()
  }

  /** Returns whether there was something to clear. */
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

  /** `message` says how it was cleared. */
  #emit(status: 'FAULTED' | 'FAULT_CLEARED', fault: Fault, message: string | null): void {
    const { since: _, ...what } = fault
    const execution_id = this.#around.execution()
    const context = { device_name: this.#device_id, cleared: message !== null, ...what, message, execution_id }
    this.#around.hub.emit(`DEVICE.${this.#device_id}.${status}`, context, execution_id ?? undefined)
  }

  /** After the event, and never awaited: storage that hangs holds nothing up. */
  #keep(): void {
    this.#around.latches.set(this.#device_id, this.#latch).catch((error) => {
      this.#around.log.error(`${this.#device_id}: the latch could not be kept over a restart`, error)
    })
  }
}
