// A simulated press with the carriage that brings the plate under it, for the simulated sealers.

import type { Clock } from '../src/kit/clock.ts'
import { Timers } from './simulated_parts.ts'
import { WithMount } from './with_mount.ts'

type CarriagePosition = 'in' | 'between' | 'out'

type PressOptions = {
  clock: Clock
  /** The first position of the carriage, and its travel time. */
  place: CarriagePosition
  carriage_ms: number
  jammed(): boolean
  /** Called instead of a motion that a jam prevents. */
  fail(part: 'carriage' | 'press'): void
}

export class SimulatedPress extends WithMount<PressOptions> {
  readonly #motion = new Timers(this.at.clock)
  #place = this.at.place
  #pressed = false
  #moving = false
  #seals = 0

  get place(): CarriagePosition {
    return this.#place
  }

  get pressed(): boolean {
    return this.#pressed
  }

  get moving(): boolean {
    return this.#moving
  }

  /** Counts the plates that were pressed. */
  get seals(): number {
    return this.#seals
  }

  /** Moves the carriage. Calls `then` on arrival, at once if it is there. */
  travel(to: CarriagePosition, then: () => void): void {
    if (this.#place === to) then()
    else if (this.at.jammed()) this.at.fail('carriage')
    else {
      this.#place = 'between'
      this.takes(this.at.carriage_ms, () => {
        this.#place = to
        then()
      })
    }
  }

  /** Presses for that time, including the way down and up. */
  press(ms: number, then: () => void): void {
    if (this.at.jammed()) {
      this.at.fail('press')
      return
    }
    this.#pressed = true
    this.takes(ms, () => {
      this.#pressed = false
      this.#seals++
      then()
    })
  }

  /** Moves for that time. */
  takes(ms: number, then: () => void): void {
    this.#moving = true
    this.#motion.after(ms, then)
  }

  /** Ends every motion in place. */
  stand(): void {
    this.#motion.clear()
    this.#moving = false
  }

  /** Lifts the press. */
  lift(): void {
    this.#pressed = false
  }

  /** Ends every motion and places the carriage there. */
  standAt(place: CarriagePosition): void {
    this.stand()
    this.#place = place
  }
}
