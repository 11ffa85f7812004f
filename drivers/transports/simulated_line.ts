// A line inside the process with a simulator at its other end.

import { notOpen } from '../../src/devices/failure.ts'
import { LabError } from '../../src/errors.ts'
import { type Clock, systemClock } from '../../src/kit/clock.ts'
import { isLineFault, type LineFault, passThrough, pieces } from './faults.ts'
import type { BridgeLine, Line, OnWire, SerialSettings, TcpSettings } from './line.ts'
import type { MechanicalFault, Simulate, Simulator } from './simulator.ts'

export type Fault = LineFault | MechanicalFault | 'unplug'

/** A line whose faults can be set. */
export type SimulatedLine = BridgeLine & {
  readonly simulator: Simulator
  /** The present faults. */
  readonly faults: ReadonlySet<Fault>
  /** Simulates a fault. Returns false for a fault that this instrument cannot have. */
  setFault(fault: Fault): boolean
  /** Whether this instrument can have a fault. A present one is cleared by the question. */
  canHave(fault: Fault): boolean
  clearFaults(): void
}

type SimulatedLineOptions<Settings> = {
  simulate: Simulate<Settings>
  settings: Settings
  /** The settings of the port; absent for an instrument on the network. */
  serial?: SerialSettings | undefined
  /** The further connections of an instrument on the network. */
  tcp?: Pick<TcpSettings, 'further'> | undefined
  /** The instrument's time, which is faster than the wire's in an accelerated simulation. */
  clock?: Clock
  /** The wire's time. */
  wire?: Clock
}

/** A clock that stands still. */
const still: Clock = { now: () => 0, after: () => () => {} }
const bitsPerByte = 10
/** The speed of a line without serial settings, in bit/s. */
const networkSpeed = 1e9

export function simulatedLine<Settings>(options: SimulatedLineOptions<Settings>): SimulatedLine {
  return new LineToSimulator(options)
}

/** A line with a simulated instrument at its far end. */
class LineToSimulator<Settings> implements SimulatedLine {
  readonly simulator: Simulator
  readonly faults = new Set<Fault>()
  /** The wire's time. */
  readonly clock: Clock
  /** The instrument's time, so that pauses between frames shrink with the simulation. */
  readonly pacing: Clock
  readonly #options: SimulatedLineOptions<Settings>
  readonly #instrument: Clock
  readonly #lost: ((reason: string) => void)[] = []
  readonly #closed: (() => void)[] = []
  readonly #watchers: OnWire[] = []
  readonly further: Readonly<Record<string, Line>>
  readonly isNetwork: boolean
  /** The listener of each connection, the first of which is the line itself. */
  readonly #listeners: ((bytes: Uint8Array) => void)[] = []
  /** Keyed by direction: the arrival time of the last byte. */
  readonly #freeAt = { to_device: 0, to_host: 0 }
  #state: Line['state'] = 'closed'
  #baud: number
  #opening = 0

  constructor(options: SimulatedLineOptions<Settings>) {
    const { simulate, settings, serial, tcp, clock = systemClock, wire = systemClock } = options
    this.#options = options
    this.#instrument = clock
    this.clock = wire
    this.pacing = clock
    this.#baud = serial?.baud ?? networkSpeed
    this.isNetwork = serial === undefined
    this.further = Object.fromEntries((tcp?.further ?? []).map((name, nth) => [name, this.#connection(nth + 1)]))
    this.simulator = simulate({
      clock,
      wire,
      settings,
      baud: () => this.#baud,
      send: (bytes, connection = 0) => {
        const openedAs = this.#opening
        passThrough(this.faults, bytes, wire, (passed) => this.#deliver(passed, { openedAs, connection }))
      },
    })
  }

  get state(): Line['state'] {
    return this.#state
  }

  async open(): Promise<void> {
    if (this.faults.has('unplug')) throw new LabError('disconnected', 'the simulated cable is unplugged; plug it in with DELETE …/faults')
    this.#opening++
    this.#baud = this.#options.serial?.baud ?? networkSpeed
    this.#state = 'open'
  }

  async close(): Promise<void> {
    this.#state = 'closed'
    for (const call of this.#closed) call()
  }

  write(bytes: Uint8Array): void {
    this.#write(bytes, 0)
  }

  onBytes(listen: (bytes: Uint8Array) => void): void {
    this.#listeners[0] = listen
  }

  onLost(call: (reason: string) => void): void {
    this.#lost.push(call)
  }

  onClosed(call: () => void): void {
    this.#closed.push(call)
  }

  async setBaud(rate: number): Promise<void> {
    this.#baud = rate
  }

  async setModem(): Promise<boolean> {
    return false
  }

  onWire(watch: OnWire): void {
    this.#watchers.push(watch)
  }

  setFault(fault: Fault): boolean {
    if (fault === 'unplug') this.#unplug()
    else if (!isLineFault(fault) && !this.simulator.setFault(fault, true)) return false
    this.faults.add(fault)
    return true
  }

  canHave(fault: Fault): boolean {
    return fault === 'unplug' || isLineFault(fault) || this.faults.has(fault) || this.#canBreak(fault)
  }

  clearFaults(): void {
    for (const fault of this.faults) if (fault !== 'unplug' && !isLineFault(fault)) this.simulator.setFault(fault, false)
    this.faults.clear()
  }

  #unplug(): void {
    this.faults.add('unplug')
    void this.giveUp('the simulated cable was unplugged')
  }

  async giveUp(reason: string): Promise<void> {
    if (this.#state !== 'open') return
    this.#state = 'lost'
    for (const call of this.#lost) call(reason)
  }

  #show(direction: 'to_device' | 'to_host', bytes: Uint8Array): void {
    for (const watch of this.#watchers) watch(direction, bytes)
  }

  #write(bytes: Uint8Array, connection: number): void {
    if (this.#state !== 'open') throw notOpen('the line')
    this.#show('to_device', bytes)
    const copy = Uint8Array.from(bytes)
    this.#transmit('to_device', copy, this.#opening, () => this.simulator.receive(copy, connection))
  }

  #deliver(bytes: Uint8Array, { openedAs, connection }: { openedAs: number; connection: number }): void {
    this.#transmit('to_host', bytes, openedAs, () => {
      this.#show('to_host', bytes)
      for (const piece of pieces(bytes)) this.#listeners[connection]?.(piece)
    })
  }

  /** Makes a further connection, which is open and lost with the line. */
  #connection(number: number): Line {
    const line = this
    return {
      get state() {
        return line.#state
      },
      clock: line.clock,
      pacing: line.pacing,
      isNetwork: true,
      open: async () => undefined,
      close: async () => undefined,
      write: (bytes) => line.#write(bytes, number),
      onBytes(listen) {
        line.#listeners[number] = listen
      },
      onWire: (watch) => line.onWire(watch),
      onLost: (call) => line.onLost(call),
      setBaud: async () => undefined,
      setModem: async () => false,
    }
  }

  /** Calls `arrived` when the last bit has arrived, unless the line was closed or lost since `openedAs`. Bytes never overtake others. */
  #transmit(direction: 'to_device' | 'to_host', bytes: Uint8Array, openedAs: number, arrived: () => void): void {
    const now = this.#instrument.now()
    const freeAt = Math.max(this.#freeAt[direction], now) + (bytes.length * bitsPerByte * 1000) / this.#baud
    this.#freeAt[direction] = freeAt
    this.#instrument.after(freeAt - now, () => {
      if (this.#state === 'open' && openedAs === this.#opening) arrived()
    })
  }

  /** Tries the fault on another instance, so that this one is not affected. */
  #canBreak(fault: MechanicalFault): boolean {
    const { simulate, settings } = this.#options
    const other = simulate({ clock: still, settings, send() {} })
    const can = other.setFault(fault, true)
    other.powerOff()
    return can
  }
}
