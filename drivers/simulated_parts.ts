// The parts of simulated shakers. Tables and heaters need no timer, since their state follows from the last setting and its time.

import type { Clock } from '../src/kit/clock.ts'

/** A turning table that accelerates and decelerates. Speeds are in rpm. */
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

  /** The seconds from now until the set speed is reached. */
  get seconds(): number {
    return Math.abs(this.#target - this.speed) / this.#rpmPerSecond
  }

  goTo(rpm: number): void {
    this.#from = { speed: this.speed, at: this.#clock.now() }
    this.#target = rpm
  }

  /** Stops at once. */
  block(): void {
    this.#from = { speed: 0, at: this.#clock.now() }
    this.#target = 0
  }
}

const room_c = 22

/** A heated plate or chamber, or one that also cools; temperatures are in °C. */
export class Heater {
  readonly #clock: Clock
  readonly #timeConstant_s: number
  readonly #tooHot_c: number
  #from: { temperature: number; at: number }
  #target: number | undefined
  readonly #cools: boolean
  #tooHot = false

  /** A temperature step is done to two thirds after `timeConstant_s`. `tooHot_c` is the reading of the overtemperature fault. */
  constructor(clock: Clock, timeConstant_s: number, tooHot_c = 130, cools = false) {
    this.#clock = clock
    this.#timeConstant_s = timeConstant_s
    this.#tooHot_c = tooHot_c
    this.#cools = cools
    this.#from = { temperature: room_c, at: clock.now() }
  }

  get on(): boolean {
    return this.#target !== undefined
  }

  /** The reading of the sensor, in °C. */
  get temperature(): number {
    return this.#tooHot ? this.#tooHot_c : this.#real
  }

  /** The temperature to which it goes. */
  get goal(): number {
    const target = this.#target ?? room_c
    return this.#cools ? target : Math.max(target, room_c)
  }

  get #real(): number {
    const { temperature, at } = this.#from
    const { goal } = this
    return goal + (temperature - goal) * Math.exp(-(this.#clock.now() - at) / 1000 / this.#timeConstant_s)
  }

  /** Sets the target; undefined switches the heater off. */
  heatTo(target: number | undefined): void {
    this.#from = { temperature: this.#real, at: this.#clock.now() }
    this.#target = target
  }

  /** Simulates overtemperature at the sensor, without a lasting effect. */
  setTooHot(tooHot: boolean): void {
    this.#tooHot = tooHot
  }
}

/** Timers that are cancelled together. */
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
