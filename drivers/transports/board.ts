// A board is to a driver on pins what a line is to others: the pins and parts of its plan, by name, opened and closed as one.

import type { Link } from '../../src/devices/device.ts'
import { connectionLost, notOpen } from '../../src/devices/failure.ts'
import { LabError, messageOf } from '../../src/errors.ts'
import { type Clock, systemClock } from '../../src/kit/clock.ts'
import type { Expanders } from '../parts/expanders.ts'
import type { I2cBus, I2cDevice } from './i2c.ts'
import type { OnWire } from './line.ts'
import type { GpioPlace, Pin, PinUse } from './pin.ts'
import type { BoardPlan, PinPlan } from './wiring.ts'

/** `open` rejects with `disconnected` and names the pin or bus that cannot be had. Parts that do not answer are the driver's to notice. */
export interface Board extends Link {
  /** Runs at the speed of the wires, which no simulation makes faster. */
  readonly clock: Clock
  /** The pin of that name in the plan, which need not be open yet: until then its methods throw `disconnected`. */
  pin(name: string): Pin
  part(name: string): I2cDevice
  /** Whether the plan has a pin or a part of that name. */
  has(name: string): boolean
  /**
   * Sees what passes, as text: to the device `enable = 1` and `write 1/0x60 00 00`, and `read 1/0x48 00` what is asked; to the host
   * what was read. A pin that is asked again and again is shown when it answers something else.
   */
  onWire(watch: OnWire): void
}

/** The source of pins and buses: this computer, or a simulation. */
export interface Hardware {
  openPin(place: GpioPlace, use: PinUse, lost: (reason: string) => void): Promise<Pin>
  /** Returns the bus of that number; the same object each time. */
  bus(number: number): I2cBus
  readonly expanders: Expanders
}

/** Opens nothing yet. */
export function board(plan: BoardPlan, hardware: Hardware, clock: Clock = systemClock): Board {
  return new WiredBoard(plan, hardware, clock)
}

class WiredBoard implements Board {
  readonly clock: Clock
  readonly #plan: BoardPlan
  readonly #hardware: Hardware
  readonly #pins: ReadonlyMap<string, BoardPin>
  readonly #parts: ReadonlyMap<string, I2cDevice>
  readonly #lost: ((reason: string) => void)[] = []
  readonly #watchers: OnWire[] = []
  #state: Board['state'] = 'closed'
  #turn = 0

  constructor(plan: BoardPlan, hardware: Hardware, clock: Clock) {
    this.clock = clock
    this.#plan = plan
    this.#hardware = hardware
    this.#pins = new Map(
      Object.entries(plan.pins).map(([name, { counted }]) => [
        name,
        new BoardPin(name, { show: counted ? () => {} : (...words) => this.#show(...words), lost: (reason) => this.#lose(reason) }),
      ]),
    )
    this.#parts = new Map(
      Object.entries(plan.i2c).map(([name, { bus, address }]) => [name, hardware.bus(bus).device(address, this.#onTransfer(bus))]),
    )
  }

  get state(): Board['state'] {
    return this.#state
  }

  /** Outputs are driven from the first, inactive unless the plan says otherwise. */
  async open(): Promise<void> {
    if (this.#state !== 'closed') await this.close()
    const turn = ++this.#turn
    try {
      for (const bus of this.#buses()) await this.#hardware.bus(bus).open()
      for (const [name, wiring] of Object.entries(this.#plan.pins)) await this.#openPin(name, wiring, turn)
      if (turn !== this.#turn) throw new LabError('disconnected', 'it was closed while it was being opened')
      this.#state = 'open'
    } catch (error) {
      await this.close()
      throw error
    }
  }

  /** Outputs are inactive afterwards. */
  async close(): Promise<void> {
    this.#turn++
    this.#state = 'closed'
    for (const [name, pin] of this.#pins) {
      const { mode } = this.#plan.pins[name]!
      await pin.letGo(mode === 'out').catch(() => undefined)
    }
  }

  onLost(call: (reason: string) => void): void {
    this.#lost.push(call)
  }

  onWire(watch: OnWire): void {
    this.#watchers.push(watch)
  }

  pin(name: string): Pin {
    return this.#pins.get(name) ?? missing(name)
  }

  part(name: string): I2cDevice {
    return this.#parts.get(name) ?? missing(name)
  }

  has(name: string): boolean {
    return this.#pins.has(name) || this.#parts.has(name)
  }

  #buses(): Set<number> {
    const expanders = Object.values(this.#plan.pins).flatMap((wiring) => ('expander' in wiring ? [wiring.expander] : []))
    return new Set([...expanders, ...Object.values(this.#plan.i2c)].map(({ bus }) => bus))
  }

  async #openPin(name: string, wiring: PinPlan, turn: number): Promise<void> {
    const { mode, active_low, initial, pull } = wiring
    const use = { mode, active_low, ...(initial !== undefined && { initial }), ...(pull && { pull }) }
    const lost = (reason: string) => {
      if (turn === this.#turn) this.#lose(`${name}: ${reason}`)
    }
    try {
      const pin =
        'expander' in wiring
          ? await this.#hardware.expanders.at(wiring.expander).open(wiring.expander.pin, use, lost)
          : await this.#hardware.openPin(wiring, use, lost)
      this.#pins.get(name)!.take(pin)
    } catch (error) {
      const code = error instanceof LabError ? error.code : 'disconnected'
      throw new LabError(code, `${name}: ${messageOf(error)}`, { cause: error })
    }
  }

  #lose(reason: string): void {
    if (this.#state !== 'open') return
    this.#state = 'lost'
    for (const call of this.#lost) call(reason)
  }

  #onTransfer(bus: number) {
    return (address: number, written: Uint8Array, read: Uint8Array | undefined, reading: boolean) => {
      const hex = (bytes: Uint8Array) => Array.from(bytes, (byte) => ` ${byte.toString(16).padStart(2, '0')}`).join('')
      if (read) this.#show('to_host', hex(read).trim())
      else this.#show('to_device', `${reading ? 'read' : 'write'} ${bus}/0x${address.toString(16)}${hex(written)}`)
    }
  }

  #show(direction: Parameters<OnWire>[0], text: string): void {
    // Answers that come close together are put together by who watches.
    const line = direction === 'to_host' ? `${text}\n` : text
    for (const watch of this.#watchers) watch(direction, Buffer.from(line, 'latin1'))
  }
}

type OfBoard = { show(direction: Parameters<OnWire>[0], text: string): void; lost(reason: string): void }

/** A pin by its name, the same object over loss and return. */
class BoardPin implements Pin {
  readonly #name: string
  readonly #of: OfBoard
  #pin: Pin | undefined
  /** The name of the board in the wire log. */
  #shown: boolean | undefined

  constructor(name: string, of: OfBoard) {
    this.#name = name
    this.#of = of
  }

  take(pin: Pin): void {
    this.#pin = pin
    this.#shown = undefined
  }

  async letGo(isOutput: boolean): Promise<void> {
    const pin = this.#pin
    this.#pin = undefined
    try {
      if (isOutput) await pin?.write(false)
    } finally {
      await pin?.close()
    }
  }

  async read(): Promise<boolean> {
    const active = await this.#opened()
      .read()
      .catch((error) => this.#failed(error))
    this.#note(active)
    return active
  }

  async write(active: boolean): Promise<void> {
    await this.#opened()
      .write(active)
      .catch((error) => this.#failed(error))
    this.#of.show('to_device', this.#setting(active))
  }

  writeNow(active: boolean): Promise<void> {
    const pin = this.#pin
    if (!pin) throw new LabError('stop_not_sent', `the stop could not be sent: ${this.#name} is not open`)
    try {
      const written = pin.writeNow(active)
      this.#of.show('to_device', this.#setting(active))
      return written.catch((error) => this.#notSent(error))
    } catch (error) {
      return this.#notSent(error)
    }
  }

  onEdge(listen: (active: boolean) => void): () => void {
    return this.#opened().onEdge((active) => {
      this.#note(active)
      listen(active)
    })
  }

  async close(): Promise<void> {
    await this.letGo(false)
  }

  /** Throws the error. One that the system made means that the pin is gone, and with it the board: opened anew, the pin may be there again. */
  #failed(error: unknown): never {
    if (error instanceof LabError) throw error
    const reason = `${this.#name}: ${messageOf(error)}`
    this.#of.lost(reason)
    throw connectionLost(reason)
  }

  #notSent(cause: unknown): never {
    if (!(cause instanceof LabError)) this.#of.lost(`${this.#name}: ${messageOf(cause)}`)
    // A pin of an expander says so too.
    const reason = messageOf(cause).replace(/^the stop could not be sent: /, '')
    throw new LabError('stop_not_sent', `the stop could not be sent: ${this.#name}: ${reason}`, { cause })
  }

  #note(active: boolean): void {
    if (active !== this.#shown) this.#of.show('to_host', `${this.#name} is ${active ? 1 : 0}`)
    this.#shown = active
  }

  #setting(active: boolean): string {
    this.#shown = active
    return `${this.#name} = ${active ? 1 : 0}`
  }

  #opened(): Pin {
    if (this.#pin) return this.#pin
    throw notOpen(this.#name)
  }
}

/** Throws: a driver asks for what its plan does not have. */
export function missing(name: string): never {
  throw new LabError('internal', `the plan has no ${name}`)
}
