// The parts of simulated storages: the places of plates, and the shuttle that carries plates between the slots and the transfer station.

import type { Clock } from '../src/kit/clock.ts'
import { Timers } from './simulated_parts.ts'
import type { MechanicalFault, Place, Places } from './transports/simulator.ts'

/** The reason why a motion of the shuttle ended before its time. */
export type ShuttleFault = 'jam' | 'nothing to take' | 'no room' | 'door'

/** The seconds of the three parts of a move: to the plate and under it, to the place where it goes, and back to rest. */
const parts_s = { take: 7, put: 9, back: 4 }
const homing_s = 20

type Move = { from: Place; to: Place }

export class Shuttle {
  readonly #timers: Timers
  readonly #plates: Set<Place>
  readonly #ended: (fault: ShuttleFault | undefined) => void
  #isMoving = false
  /** The part of the move in which the shuttle is at the transfer station, so that the gate is open. */
  #isAtStation = false
  /** The place from which the plate on the handler was taken. */
  #origin: Place | undefined
  #jammed = false
  #doorIsOpen = false

  /** `ended` is called when a motion has ended, with the reason if that was before its time. */
  constructor(clock: Clock, taken: Iterable<number>, ended: (fault: ShuttleFault | undefined) => void) {
    this.#timers = new Timers(clock)
    this.#plates = new Set(taken)
    this.#ended = ended
  }

  get isMoving(): boolean {
    return this.#isMoving
  }

  get gateIsOpen(): boolean {
    return this.#isMoving && this.#isAtStation
  }

  get doorIsOpen(): boolean {
    return this.#doorIsOpen
  }

  readonly places: Places = {
    has: (place) => this.#plates.has(place),
    put: (place) => void this.#plates.add(place),
    take: (place) => void this.#plates.delete(place),
  }

  /** Moves a plate, in three parts. */
  carry({ from, to }: Move): void {
    this.#isMoving = true
    this.#isAtStation = from === 'station'
    this.#after(parts_s.take, () => {
      if (!this.#plates.delete(from)) return this.#end('nothing to take')
      this.#plates.add('handler')
      this.#origin = from
      this.#isAtStation = to === 'station'
      this.#after(parts_s.put, () => {
        if (this.#plates.has(to)) return this.#end('no room')
        this.#plates.delete('handler')
        this.#plates.add(to)
        this.#after(parts_s.back, () => this.#end())
      })
    })
  }

  /** Finds the reference positions of all axes. */
  home(): void {
    this.#isMoving = true
    this.#isAtStation = false
    this.#after(homing_s, () => this.#end())
  }

  /**
   * Blocks the shuttle or opens the door of the chamber, which both end a motion. When a person frees the shuttle or closes the door, the plate on the
   * shuttle is put back to where it came from.
   */
  setFault(fault: MechanicalFault, present: boolean): boolean {
    if (fault === 'overtemperature') return false
    if (fault === 'jam') this.#jammed = present
    else this.#doorIsOpen = present
    if (!present) this.#putBack()
    else if (this.#isMoving) this.#end(fault === 'jam' ? 'jam' : 'door')
    return true
  }

  powerOff(): void {
    this.#timers.clear()
    this.#isMoving = false
  }

  #putBack(): void {
    if (this.#plates.delete('handler')) this.#plates.add(this.#origin ?? 'station')
  }

  #after(seconds: number, then: () => void): void {
    if (this.#jammed) this.#end('jam')
    else if (this.#doorIsOpen) this.#end('door')
    else this.#timers.after(seconds * 1000, then)
  }

  #end(fault?: ShuttleFault): void {
    this.#timers.clear()
    this.#isMoving = false
    this.#ended(fault)
  }
}
