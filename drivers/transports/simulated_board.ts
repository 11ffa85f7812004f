// Pins and I2C parts inside the process: what hangs on them is a simulation, what opens them is what opens real ones.

import { type Clock, systemClock } from '../../src/kit/clock.ts'
import { Expanders } from '../parts/expanders.ts'
import { simulatedExpander } from '../parts/simulated_expanders.ts'
import { type Board, board, missing } from './board.ts'
import type { Pin } from './pin.ts'
import { type SimulatedBus, type SimulatedChip, simulatedI2c } from './simulated_i2c.ts'
import type { Fault } from './simulated_line.ts'
import type { Mechanism } from './simulator.ts'
import { type BoardPlan, placeOf } from './wiring.ts'

/** A wire between a pin and what hangs on it. Undefined is a level that nobody sets. */
export class Wire {
  #driven: boolean | undefined
  #weakly = false
  #level: boolean | undefined
  readonly #listeners = new Set<() => void>()

  /** The level that the host sets. */
  get driven(): boolean | undefined {
    return this.#driven
  }

  /** The level that the host reads; the part on the wire makes it. */
  get level(): boolean {
    const strong = this.#weakly ? undefined : this.#driven
    return strong ?? this.#level ?? this.#driven ?? true
  }

  /** Weakly: what hangs on it is stronger. */
  drive(level: boolean | undefined, weakly = false): void {
    this.#change(() => {
      this.#driven = level
      this.#weakly = weakly
    })
  }

  setLevel(level: boolean): void {
    this.#change(() => {
      this.#level = level
    })
  }

  onChange(listen: () => void): () => void {
    this.#listeners.add(listen)
    return () => this.#listeners.delete(listen)
  }

  #change(change: () => void): void {
    const [driven, level] = [this.#driven, this.level]
    change()
    if (this.#driven !== driven || this.level !== level) for (const listen of [...this.#listeners]) listen()
  }
}

/** The far ends of a plan's pins and buses. */
export interface FarEnd {
  /** Whether the host has an output active. */
  isActive(name: string): boolean
  /** Calls when an output has changed. */
  onChange(name: string, call: () => void): void
  /** Sets the level that the host reads at an input. Until then the wire is as if cut: high. */
  setActive(name: string, active: boolean): void
  has(name: string): boolean
  /** Puts a chip where the plan has the part of that name. */
  put(name: string, chip: SimulatedChip): void
}

/** The end of the wires that a simulated device is put at. */
type MechanismEnd<Settings> = { wires: FarEnd; clock: Clock; settings: Settings }

export type SimulateBoard<Settings> = (at: MechanismEnd<Settings>) => Mechanism

/** A board, and the hand that breaks what hangs on it. `unplug` pulls the I2C cable. */
export type SimulatedBoard = Board & {
  readonly simulator: Mechanism
  readonly faults: ReadonlySet<Fault>
  /** Makes a fault; false when there is no such thing here. */
  setFault(fault: Fault): boolean
  canHave(fault: Fault): boolean
  clearFaults(): void
}

type BoardOptions<Settings> = {
  simulate: SimulateBoard<Settings>
  plan: BoardPlan
  settings: Settings
  /** The instrument's own time. */
  clock?: Clock
  /** The wires' time. */
  wire?: Clock
}

export function simulatedBoard<Settings>({
  simulate,
  plan,
  settings,
  clock = systemClock,
  wire = systemClock,
}: BoardOptions<Settings>): SimulatedBoard {
  const faults = new Set<Fault>()
  const wires = new Map<string, Wire>()
  const buses = new Map<number, SimulatedBus>()
  const wireAt = (place: string) => wires.get(place) ?? put(wires, place, new Wire())
  const busAt = (number: number) => buses.get(number) ?? put(buses, number, simulatedI2c(number, wire))
  const bus = (number: number) => busAt(number).bus
  for (const expander of expandersIn(plan)) {
    const chip = simulatedExpander(expander.part, (pin) => wireAt(placeOf({ expander: { ...expander, pin } })))
    busAt(expander.bus).put(expander.address, chip)
  }
  const simulator = simulate({ wires: farEnd(plan, wireAt, busAt), clock, settings })
  const wired = board(plan, { bus, expanders: new Expanders(bus), openPin: async (place, use) => pinOn(wireAt(placeOf(place)), use) }, wire)
  const isMechanical = (fault: Fault) => fault === 'jam' || fault === 'overtemperature' || fault === 'interlock_open'
  const unplug = (unplugged: boolean) => {
    for (const { setUnplugged } of buses.values()) setUnplugged(unplugged)
  }

  // The other members of the board are getters and private: it stays the object that is asked.
  return Object.assign(wired, {
    simulator,
    faults,
    setFault(fault: Fault) {
      if (fault === 'unplug') unplug(true)
      else if (!isMechanical(fault) || !simulator.setFault(fault, true)) return false
      faults.add(fault)
      return true
    },
    canHave: (fault: Fault) => fault === 'unplug' || faults.has(fault) || (isMechanical(fault) && simulator.setFault(fault, false)),
    clearFaults() {
      unplug(false)
      for (const fault of faults) if (isMechanical(fault)) simulator.setFault(fault, false)
      faults.clear()
    },
  })
}

function put<Key, Value>(map: Map<Key, Value>, key: Key, value: Value): Value {
  map.set(key, value)
  return value
}

function expandersIn({ pins }: BoardPlan) {
  const found = Object.values(pins).flatMap((wiring) => ('expander' in wiring ? [wiring.expander] : []))
  return [...new Map(found.map((expander) => [`${expander.bus} ${expander.address}`, expander])).values()]
}

function farEnd(plan: BoardPlan, wireAt: (place: string) => Wire, busAt: (number: number) => SimulatedBus): FarEnd {
  const wiring = (name: string) => plan.pins[name] ?? missing(name)
  const wireOf = (name: string) => wireAt(placeOf(wiring(name)))
  return {
    isActive(name) {
      const { driven } = wireOf(name)
      return driven !== undefined && driven !== wiring(name).active_low
    },
    onChange: (name, call) => void wireOf(name).onChange(call),
    setActive: (name, active) => wireOf(name).setLevel(active !== wiring(name).active_low),
    has: (name) => name in plan.pins || name in plan.i2c,
    put(name, chip) {
      const { bus, address } = plan.i2c[name] ?? missing(name)
      busAt(bus).put(address, chip)
    },
  }
}

/** A pin of the computer itself: as with sysfs, an output keeps its level when it is closed. */
function pinOn(wire: Wire, { mode, active_low, initial = false }: { mode: 'in' | 'out'; active_low: boolean; initial?: boolean }): Pin {
  const set = (active: boolean) => wire.drive(active !== active_low)
  const read = () => wire.level !== active_low
  if (mode === 'out') set(initial)
  else wire.drive(undefined)
  return {
    read: async () => read(),
    write: async (active) => set(active),
    async writeNow(active) {
      set(active)
    },
    onEdge: (listen) => wire.onChange(() => listen(read())),
    close: async () => {},
  }
}
