// A simulated BigBear shaker: it obeys single letters, of which it answers one.

import { Table, Timers } from '../simulated_parts.ts'
import { TextPort } from '../simulated_port.ts'
import type { InstrumentEnd, MechanicalFault, Simulate, Simulator } from '../transports/simulator.ts'
import { WithMount } from '../with_mount.ts'
import { findHome, ask as question, type State, start, stop } from './protocol.ts'

const answer_ms = 10
const longest = 40
const rpmPerSecond = 700
const homing_ms = 2000

/** Answers as a BigBear shaker does, on the clock that it is given. */
class SimulatedBigBear extends WithMount<InstrumentEnd<unknown>> implements Simulator {
  readonly #port = new TextPort({ ...this.at, answer_ms, longest, ending: '\r', hear: (line) => this.#hear(line) })
  readonly #table = new Table(this.at.clock, rpmPerSecond)
  readonly #motions = new Timers(this.at.clock)
  #speed = 60
  #acceleration = 5
  #homing = false
  #home = false
  #jammed = false

  receive(bytes: Uint8Array): void {
    this.#port.receive(bytes)
  }

  setFault(fault: MechanicalFault, isPresent: boolean): boolean {
    if (fault !== 'jam') return false
    this.#jammed = isPresent
    if (!isPresent) return true
    this.#leaveHome()
    this.#table.block()
    return true
  }

  powerOff(): void {
    this.#port.clear()
    this.#leaveHome()
    this.#table.block()
  }

  get world(): Simulator['world'] {
    return {
      moving: this.#table.moving || this.#homing,
      heating: false,
      speed: this.#table.speed,
      acceleration: this.#acceleration,
      home: this.#home,
    }
  }

  #hear(line: string): void {
    const [, letter = '', digits] = /^([A-Z])(\d+)?$/.exec(line) ?? []
    const number = digits === undefined ? undefined : Number(digits)
    if (letter === 'V' && within(number, 60, 3570)) this.#turnAt(number)
    else if (letter === 'A' && within(number, 0, 10)) this.#acceleration = number
    else if (line === question) this.#port.say(this.#state())
    else if (line === start) this.#begin()
    else if (line === stop) this.#end()
    else if (line === findHome) this.#goHome()
    else this.#port.say('?:')
  }

  #state(): State {
    if (this.#homing) return 'RAMP-'
    if (!this.#table.moving) return 'STOP'
    if (this.#table.target === 0) return 'RAMP-'
    return this.#table.speed < this.#table.target ? 'RAMP+' : 'RUN'
  }

  #turnAt(rpm: number): void {
    this.#speed = rpm
    if (this.#table.target > 0) this.#table.goTo(rpm)
  }

  #begin(): void {
    if (this.#jammed) return
    this.#leaveHome()
    this.#table.goTo(this.#speed)
  }

  #end(): void {
    if (this.#homing) this.#leaveHome()
    this.#table.goTo(0)
  }

  #goHome(): void {
    if (this.#jammed || this.#table.moving) {
      this.#port.say('?:')
      return
    }
    this.#leaveHome()
    this.#homing = true
    this.#motions.after(homing_ms, () => {
      this.#homing = false
      this.#home = true
    })
  }

  #leaveHome(): void {
    this.#motions.clear()
    this.#homing = false
    this.#home = false
  }
}

export const simulate: Simulate<unknown> = (at) => new SimulatedBigBear(at)

function within(value: number | undefined, least: number, most: number): value is number {
  return value !== undefined && value >= least && value <= most
}
