// A simulated Cytomat. README.md marks its behaviour that no source describes.

import { slotAt, slotsIn } from '../racks.ts'
import { Heater, Table } from '../simulated_parts.ts'
import { TextPort } from '../simulated_port.ts'
import { Shuttle, type ShuttleFault } from '../simulated_storage.ts'
import type { InstrumentEnd, MechanicalFault, Simulate, Simulator } from '../transports/simulator.ts'
import { WithMount } from '../with_mount.ts'
import { modelOf, type Settings } from './models.ts'

export const simulate: Simulate<Settings> = (at) => new SimulatedCytomat(at)

const rpmPerSecond = 400
const refusals = { busy: 1, unknown: 2, form: 3, parameter: 4, slot: 5, position: 0x11, held: 0x21, empty: 0x31, taken: 0x32, still: 0x61 }
/** The action register at rest: the handler waits, and its shovel was looked at last. */
const atWait = 0x4b
const errors: Record<ShuttleFault, number> = { 'nothing to take': 2, 'no room': 3, door: 4, jam: 5 }

class SimulatedCytomat extends WithMount<InstrumentEnd<Settings>> implements Simulator {
  readonly #model = modelOf(this.at.settings)
  readonly #port = new TextPort({
    ...this.at,
    longest: 64,
    answer_ms: 20,
    ending: '\r',
    speed: 9600,
    hear: (words) => this.#port.say(this.#answer(words.toLowerCase())),
  })
  readonly #shuttle = new Shuttle(this.at.clock, this.at.settings.simulated_plates, (fault) => this.#arrived(fault))
  readonly #table = new Table(this.at.clock, rpmPerSecond)
  readonly #chamber = new Heater(this.at.clock, 3600)
  readonly #speeds = new Map([
    [20, 500],
    [21, 500],
  ])
  readonly places = this.#shuttle.places
  #isInitialized = false
  #isShaking = false
  #gateIsOpen = false
  #error = 0
  #target = 37

  constructor(at: InstrumentEnd<Settings>) {
    super(at)
    this.#chamber.heatTo(this.#target)
  }

  receive(bytes: Uint8Array): void {
    this.#port.receive(bytes)
  }

  get world() {
    const { isMoving, doorIsOpen } = this.#shuttle
    return {
      moving: isMoving || this.#table.moving,
      heating: false,
      initialized: this.#isInitialized,
      door_open: doorIsOpen,
      climate: `${this.#target}`,
    }
  }

  get #isBusy(): boolean {
    return this.#shuttle.isMoving || (this.#table.moving && !this.#isShaking)
  }

  /** The overview register. */
  get #overview(): number {
    const { gateIsOpen, doorIsOpen } = this.#shuttle
    const bits = [
      this.places.has('station'),
      doorIsOpen,
      this.#gateIsOpen || gateIsOpen,
      this.places.has('handler'),
      this.#error !== 0,
      false,
      this.#isInitialized && !this.#isBusy,
      this.#isBusy,
    ]
    return bits.reduce((sum, bit) => sum * 2 + (bit ? 1 : 0), 0)
  }

  #answer(words: string): string {
    const [, kind = '', name = '', rest = ''] = /^([a-z]{2}):([a-z]{2})(?: (.*))?$/.exec(words) ?? []
    if (!kind) return this.#taken(refusals.form)
    if (kind === 'ch') return this.#show(name, rest)
    if (this.#isBusy) return this.#taken(refusals.busy)
    if (kind === 'rs' && name === 'be') return this.#taken(this.#clearError())
    if (kind === 'll') return this.#taken(this.#lowLevel(name, rest))
    if (kind === 'mv' && (name === 'ts' || name === 'st')) return this.#taken(this.#move(name, rest))
    if (kind === 'se' && name === 'pb') return this.#taken(this.#setSpeed(rest))
    return this.#taken(refusals.unknown)
  }

  #taken(code: number): string {
    return code === 0 ? `ok ${hex(this.#overview)}` : `er ${hex(code)}`
  }

  #show(name: string, rest: string): string {
    const climate = (target: number, actual: number) => `${name} +${target.toFixed(1)} +${actual.toFixed(1)}`
    if (name === 'bs') return `bs ${hex(this.#overview)}`
    if (name === 'be') return `be ${hex(this.#error)}`
    if (name === 'bw') return 'bw 00'
    if (name === 'ba') return `ba ${hex(atWait)}`
    if (name === 'it') return climate(this.#target, this.#chamber.temperature)
    if (name === 'ih') return climate(95, 93.4)
    if (name === 'ic') return climate(5, 4.9)
    if (name === 'pb' && this.#model.shakes && this.#speeds.has(Number(rest))) return `pb ${four(this.#speeds.get(Number(rest))!)}`
    return this.#taken(refusals.unknown)
  }

  #clearError(): number {
    this.#error = 0
    return 0
  }

  #lowLevel(name: string, rest: string): number {
    if (name === 'in') return this.#initialize()
    if (name === 'gp' && /^00[12]$/.test(rest)) return this.#moveGate(rest === '002')
    if (name === 'it' && /^\d\d\.\d$/.test(rest)) return this.#setClimate(Number(rest))
    if (!this.#model.shakes) return refusals.unknown
    if (name === 'vi') return 0
    if (name === 'va') return this.#shake()
    return name === 'vd' ? this.#rest() : refusals.unknown
  }

  /** Finds the reference positions; with a plate on the handler it refuses. */
  #initialize(): number {
    if (this.places.has('handler')) return refusals.held
    this.#rest()
    this.#gateIsOpen = false
    this.#error = 0
    this.#isInitialized = false
    this.#shuttle.home()
    return 0
  }

  #moveGate(open: boolean): number {
    this.#gateIsOpen = open
    return 0
  }

  #setClimate(temperature: number): number {
    this.#target = temperature
    this.#chamber.heatTo(temperature)
    return 0
  }

  #setSpeed(rest: string): number {
    const found = /^(2[01]) (\d{4})$/.exec(rest)
    if (!found || !this.#model.shakes) return refusals.parameter
    const { min_speed, max_speed } = this.at.settings
    const speed = Number(found[2])
    if (speed < min_speed || speed > max_speed) return refusals.parameter
    this.#speeds.set(Number(found[1]), speed)
    return 0
  }

  #shake(): number {
    if (!this.#isInitialized) return refusals.position
    this.#isShaking = true
    this.#table.goTo(Math.max(...this.#speeds.values()))
    return 0
  }

  #rest(): number {
    if (!this.#isShaking) return refusals.still
    this.#isShaking = false
    this.#table.goTo(0)
    return 0
  }

  #move(name: 'ts' | 'st', rest: string): number {
    const slot = this.#slotOf(rest)
    if (slot === undefined) return /^[\d ]+$/.test(rest) ? refusals.slot : refusals.parameter
    if (this.places.has('handler')) return refusals.held
    if (!this.#isInitialized || this.#shuttle.doorIsOpen) return refusals.position
    if (this.places.has('station') !== (name === 'ts')) return name === 'ts' ? refusals.empty : refusals.taken
    this.#rest()
    this.#gateIsOpen = false
    this.#shuttle.carry(name === 'ts' ? { from: 'station', to: slot } : { from: slot, to: 'station' })
    return 0
  }

  #slotOf(rest: string): number | undefined {
    const { racks } = this.at.settings
    if (this.#model.addresses === 'rack and level') {
      const [, rack, level] = /^(\d\d) (\d\d)$/.exec(rest) ?? []
      return slotAt(racks, Number(rack) + 1, Number(level) + 1)
    }
    const slot = /^\d{3}$/.test(rest) ? Number(rest) : 0
    return slot >= 1 && slot <= slotsIn(racks) ? slot : undefined
  }

  #arrived(fault: ShuttleFault | undefined): void {
    this.#isInitialized = fault === undefined
    if (fault) this.#error = errors[fault]
  }

  setFault(fault: MechanicalFault, present: boolean): boolean {
    return this.#shuttle.setFault(fault, present)
  }

  powerOff(): void {
    this.#port.powerOff()
    this.#shuttle.powerOff()
    this.#table.block()
  }
}

function hex(code: number): string {
  return code.toString(16).toUpperCase().padStart(2, '0')
}

function four(number: number): string {
  return String(number).padStart(4, '0')
}
