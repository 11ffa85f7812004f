// The parts of simulated shakers. Tables and heaters hold no timer: where a part is now follows from when it was last set.

import type { Clock } from '../src/kit/clock.ts'

/** A table that turns, and takes its time to get faster and slower. Speeds are in rpm. */
export class Table {
  readonly #clock: Clock
  readonly #rpmPerSecond: number
  #from = { speed: 0, at: 0 }
  #target = 0

  constructor(clock: Clock, rpmPerSecond: number) {
    this.#clock = clock
    this.#rpmPerSecond = rpmPerSecond
  }

  get target(): number {
    return this.#target
  }

  get speed(): number {
    const { speed, at } = this.#from
    const change = ((this.#clock.now() - at) / 1000) * this.#rpmPerSecond
    return this.#target > speed ? Math.min(this.#target, speed + change) : Math.max(this.#target, speed - change)
  }

  get moving(): boolean {
    return this.speed > 0 || this.#target > 0
  }

  /** How many seconds it takes from now to the speed that was set. */
  get seconds(): number {
    return Math.abs(this.#target - this.speed) / this.#rpmPerSecond
  }

  goTo(rpm: number): void {
    this.#from = { speed: this.speed, at: this.#clock.now() }
    this.#target = rpm
  }

  /** At rest from one moment to the next. */
  block(): void {
    this.#from = { speed: 0, at: this.#clock.now() }
    this.#target = 0
  }
}

const room_c = 22

/** A plate or a chamber that is heated; in °C. */
export class Heater {
  readonly #clock: Clock
  readonly #timeConstant_s: number
  readonly #tooHot_c: number
  #from: { temperature: number; at: number }
  #target: number | undefined
  #tooHot = false

  /** After `timeConstant_s`, two thirds of the way to a new temperature are done; `tooHot_c` is the temperature of a part that is too hot. */
  constructor(clock: Clock, timeConstant_s: number, tooHot_c = 130) {
    this.#clock = clock
    this.#timeConstant_s = timeConstant_s
    this.#tooHot_c = tooHot_c
    this.#from = { temperature: room_c, at: clock.now() }
  }

  get on(): boolean {
    return this.#target !== undefined
  }

  /** The reading of the sensor, in °C. */
  get temperature(): number {
    return this.#tooHot ? this.#tooHot_c : this.#real
  }

  get #real(): number {
    const { temperature, at } = this.#from
    const goal = Math.max(this.#target ?? room_c, room_c)
    return goal + (temperature - goal) * Math.exp(-(this.#clock.now() - at) / 1000 / this.#timeConstant_s)
  }

  /** Undefined switches it off. */
  heatTo(target: number | undefined): void {
    this.#from = { temperature: this.#real, at: this.#clock.now() }
    this.#target = target
  }

  /** While it is too hot its sensor says so; afterwards it is as it was. */
  setTooHot(tooHot: boolean): void {
    this.#tooHot = tooHot
  }
}

/** Timers that are all called off together. */
export class Timers {
  readonly #clock: Clock
  readonly #set = new Set<() => void>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  after(ms: number, call: () => void): void {
    const cancel = this.#clock.after(ms, () => {
      this.#set.delete(cancel)
      call()
    })
    this.#set.add(cancel)
  }

  clear(): void {
    for (const cancel of this.#set) cancel()
    this.#set.clear()
  }
}
