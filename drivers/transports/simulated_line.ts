// A line inside the process: at its far end stands a simulator instead of an instrument.

import { notOpen } from '../../src/devices/failure.ts'
import { LabError } from '../../src/errors.ts'
import { type Clock, systemClock } from '../../src/kit/clock.ts'
import { isLineFault, type LineFault, passThrough, pieces } from './faults.ts'
import type { Line, OnWire, SerialSettings } from './line.ts'
import type { MechanicalFault, Simulate, Simulator } from './simulator.ts'

export type Fault = LineFault | MechanicalFault | 'unplug'

/** A line, and the hand that breaks it. */
export type SimulatedLine = Line & {
  readonly simulator: Simulator
  /** Faults that are present now. */
  readonly faults: ReadonlySet<Fault>
  /** Makes a fault; false when this instrument cannot have it. */
  setFault(fault: Fault): boolean
  /** Whether this instrument can have a fault; one that is present is mended by asking. */
  canHave(fault: Fault): boolean
  clearFaults(): void
}

export type SimulatedLineOptions<Settings> = {
  simulate: Simulate<Settings>
  settings: Settings
  serial: SerialSettings
  /** The instrument's own time; faster than the wire's when the simulation is scaled. */
  clock?: Clock
  /** The wire's time. */
  wire?: Clock
}

/** Time that does not go by. */
const still: Clock = { now: () => 0, after: () => () => {} }
const bitsPerByte = 10

export function simulatedLine<Settings>(options: SimulatedLineOptions<Settings>): SimulatedLine {
  const { simulate, settings, serial, clock = systemClock, wire = systemClock } = options
  const faults = new Set<Fault>()
  const lost: ((reason: string) => void)[] = []
  let state: Line['state'] = 'closed'
  let baud = serial.baud
  let listener: (bytes: Uint8Array) => void = () => {}
  const watchers: OnWire[] = []
  const show: OnWire = (direction, bytes) => {
    for (const watch of watchers) watch(direction, bytes)
  }
  const freeAt = { to_device: 0, to_host: 0 }
  let opening = 0

  /** Calls when the last bit has arrived, unless the line was closed or lost since `openedAs`. Bytes never overtake others. */
  const transmit = (direction: keyof typeof freeAt, bytes: Uint8Array, openedAs: number, arrived: () => void) => {
    const now = clock.now()
    freeAt[direction] = Math.max(freeAt[direction], now) + (bytes.length * bitsPerByte * 1000) / baud
    clock.after(freeAt[direction] - now, () => {
      if (state === 'open' && openedAs === opening) arrived()
    })
  }
  /** Tried on another instrument of the same kind: this one is not touched. */
  const canHave = (fault: MechanicalFault) => {
    const other = simulate({ clock: still, settings, send() {} })
    const can = other.setFault(fault, true)
    other.powerOff()
    return can
  }
  const deliver = (bytes: Uint8Array, openedAs: number) => {
    transmit('to_host', bytes, openedAs, () => {
      show('to_host', bytes)
      for (const piece of pieces(bytes)) listener(piece)
    })
  }
  const simulator = simulate({
    clock,
    settings,
    baud: () => baud,
    send(bytes) {
      const openedAs = opening
      passThrough(faults, bytes, wire, (passed) => deliver(passed, openedAs))
    },
  })

  return {
    simulator,
    faults,
    clock: wire,
    get state() {
      return state
    },
    async open() {
      if (faults.has('unplug')) throw new LabError('disconnected', 'the simulated cable is unplugged; plug it in with DELETE …/faults')
      opening++
      baud = serial.baud
      state = 'open'
    },
    async close() {
      state = 'closed'
    },
    write(bytes) {
      if (state !== 'open') throw notOpen('the line')
      show('to_device', bytes)
      const copy = Uint8Array.from(bytes)
      transmit('to_device', copy, opening, () => simulator.receive(copy))
    },
    onBytes(listen) {
      listener = listen
    },
    onLost(call) {
      lost.push(call)
    },
    async setBaud(rate) {
      baud = rate
    },
    async setModem() {
      return false
    },
    onWire(watch) {
      watchers.push(watch)
    },
    setFault(fault) {
      if (fault === 'unplug') {
        faults.add(fault)
        if (state === 'open') {
          state = 'lost'
          for (const call of lost) call('the simulated cable was unplugged')
        }
        return true
      }
      if (!isLineFault(fault) && !simulator.setFault(fault, true)) return false
      faults.add(fault)
      return true
    },
    canHave: (fault) => fault === 'unplug' || isLineFault(fault) || faults.has(fault) || canHave(fault),
    clearFaults() {
      for (const fault of faults) if (fault !== 'unplug' && !isLineFault(fault)) simulator.setFault(fault, false)
      faults.clear()
    },
  }
}
