// The base of simulated balances, and their pan: the load settles and drifts. The pan needs no timer, since its value follows from the last change and its
// time.

import type { Clock } from '../src/kit/clock.ts'
import type { InstrumentEnd, MechanicalFault } from './transports/simulator.ts'
import { WithMount } from './with_mount.ts'

export const capacity_g = 220
export const least_g = -20
/** How far from the zero point of its adjustment a balance lets itself be set to zero. */
export const zeroRange_g = 4.4

/** A change is done to two thirds after this time, and counts as stable after `settled_ms`. */
const timeConstant_ms = 350
const settled_ms = 2500
const drift_g_per_min = 0.0001
/** The effect of a hand on the pan on the value. */
const touch = { g: 0.5, ms: 400 }

class Pan {
  readonly #clock: Clock
  readonly #on: number
  #load: number
  #from: number
  #since: number
  #zero = 0
  #tare = 0
  /** Whether something touches it, so that it is never stable. */
  touched = false

  /** The load has lain there since before the balance was switched on. */
  constructor(clock: Clock, load_g: number) {
    this.#clock = clock
    this.#on = clock.now()
    this.#since = this.#on - settled_ms
    this.#load = this.#from = load_g
  }

  /** Changes the load to so many grams. */
  put(load_g: number): void {
    this.#from = this.#settling
    this.#since = this.#clock.now()
    this.#load = load_g
  }

  get isStable(): boolean {
    return !this.touched && this.#clock.now() - this.#since >= settled_ms
  }

  /** The value above the zero point, in g. */
  get gross(): number {
    return this.#measured - this.#zero
  }

  get net(): number {
    return this.gross - this.#tare
  }

  get tareWeight(): number {
    return this.#tare
  }

  /** Takes the present value as the tare. */
  tare(): void {
    this.#tare = this.gross
  }

  clearTare(): void {
    this.#tare = 0
  }

  /** Takes the present value as the zero point. */
  zero(): void {
    this.#zero = this.#measured
    this.#tare = 0
  }

  get #settling(): number {
    return this.#load + (this.#from - this.#load) * Math.exp(-(this.#clock.now() - this.#since) / timeConstant_ms)
  }

  get #measured(): number {
    const now = this.#clock.now()
    const sways = this.touched ? touch.g * Math.sin(now / touch.ms) : 0
    return this.#settling + ((now - this.#on) / 60_000) * drift_g_per_min + sways
  }
}

export class WithPan<Settings extends { load_g: number }> extends WithMount<InstrumentEnd<Settings>> {
  /** Tests put loads on it. */
  readonly pan = new Pan(this.at.clock, this.at.settings.load_g)

  get world() {
    return { moving: false, heating: false, net: this.pan.net, tare: this.pan.tareWeight }
  }

  /** A jam is something that touches the pan. */
  setFault(fault: MechanicalFault, present: boolean): boolean {
    if (fault !== 'jam') return false
    this.pan.touched = present
    return true
  }
}
