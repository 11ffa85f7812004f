// The motor, the plate lock and the heater of a simulated BioShake, with the timing of the real one.

import type { Clock } from '../../src/kit/clock.ts'
import { Timers } from '../simulated_parts.ts'
import { WithMount } from '../with_mount.ts'

/** The positions of the motor, by the number that `getShakeState` answers and the word of `getShakeStateAsString`. */
const phases = {
  running: [0, 'RUN'],
  braking: [2, 'ESTOP'],
  home: [3, 'aligned'],
  accelerating: [5, 'RAMP+'],
  decelerating: [6, 'RAMP-'],
  stopping: [7, 'dec_stop'],
  homing: [8, 'dec_stop_home'],
  loose: [9, 'stopped'],
  eco: [90, 'stopped'],
  booting: [99, 'stopped'],
} as const

type Phase = keyof typeof phases
/** The action at rest: lock at home, stay anywhere, or go home and release. */
export type Ending = 'home' | 'loose' | 'release'

const still: ReadonlySet<Phase> = new Set(['home', 'loose', 'eco', 'booting'])
const homing_ms = 2500
const braking_ms = 150
const release_ms = 1000

/** The orbiting table: a speed that goes up and down in ramps, and a home position. */
export class Motor extends WithMount<Clock> {
  readonly #timers = new Timers(this.at)
  #ramp = { from: 0, to: 0, since: 0, ms: 0 }
  #endsAt: number | undefined
  phase: Phase = 'home'
  target = 0
  acceleration_s = 3
  direction = 0

  get code(): number {
    return phases[this.phase][0]
  }

  get word(): string {
    return phases[this.phase][1]
  }

  get moving(): boolean {
    return !still.has(this.phase)
  }

  get speed(): number {
    const { from, to, since, ms } = this.#ramp
    const done = ms ? Math.min(1, (this.at.now() - since) / ms) : 1
    return from + (to - from) * done
  }

  get remaining_s(): number {
    return this.#endsAt === undefined ? 0 : Math.max(0, (this.#endsAt - this.at.now()) / 1000)
  }

  start(runtime_s?: number): void {
    this.#timers.clear()
    this.#endsAt = undefined
    this.#rampTo(this.target, 'accelerating', () => {
      this.phase = 'running'
    })
    if (runtime_s === undefined) return
    this.#endsAt = this.at.now() + runtime_s * 1000
    this.#timers.after(runtime_s * 1000, () => this.stop('home'))
  }

  /** Sets the speed; a running motor ramps to it. */
  setTarget(rpm: number): void {
    this.target = rpm
    if (this.phase !== 'running') return
    this.#rampTo(rpm, rpm > this.speed ? 'accelerating' : 'decelerating', () => {
      this.phase = 'running'
    })
  }

  stop(ending: Ending): void {
    this.#timers.clear()
    this.#endsAt = undefined
    this.target = 0
    const atRest = () => {
      if (ending === 'loose') this.phase = 'loose'
      else this.goHome(() => ending === 'release' && this.#timers.after(release_ms, () => this.halt('loose')))
    }
    this.#rampTo(0, ending === 'loose' ? 'stopping' : 'homing', atRest)
  }

  goHome(arrived: () => void): void {
    this.#timers.clear()
    this.#still('homing')
    this.#timers.after(homing_ms, () => {
      this.phase = 'home'
      arrived()
    })
  }

  emergency(): void {
    const turning = this.moving
    this.target = 0
    this.halt(turning ? 'braking' : 'loose')
    if (turning) this.#timers.after(braking_ms, () => this.halt('loose'))
  }

  /** Stops without a ramp. */
  halt(phase: Phase): void {
    this.#timers.clear()
    this.#endsAt = undefined
    this.#still(phase)
  }

  #still(phase: Phase): void {
    this.phase = phase
    this.#ramp = { from: 0, to: 0, since: 0, ms: 0 }
  }

  #rampTo(rpm: number, phase: Phase, reached: () => void): void {
    const from = this.speed
    const ms = from === rpm ? 0 : this.acceleration_s * 1000
    this.phase = phase
    this.#ramp = { from, to: rpm, since: this.at.now(), ms }
    this.#timers.after(ms, reached)
  }
}

const lockMotion_ms = 1500

const lockPositions = {
  moving: [0, 'ELMUndefined'],
  nowhere: [0, 'ELMUndefined'],
  locked: [1, 'ELMLocked'],
  unlocked: [3, 'ELMUnlocked'],
  error: [9, 'ELMError'],
} as const

/** The edge locking mechanism, ELM. */
export class PlateLock extends WithMount<Clock> {
  readonly #timers = new Timers(this.at)
  state: keyof typeof lockPositions = 'unlocked'

  get code(): number {
    return lockPositions[this.state][0]
  }

  get word(): string {
    return lockPositions[this.state][1]
  }

  move(to: 'locked' | 'unlocked', arrived: () => void): void {
    this.halt('moving')
    this.#timers.after(lockMotion_ms, () => {
      this.state = to
      arrived()
    })
  }

  /** Stops at once. */
  halt(state: PlateLock['state']): void {
    this.#timers.clear()
    this.state = state
  }
}

const ambient_c = 22
/** The time constant of the heater: it reaches two thirds of a temperature step in this time. */
const timeConstant_s = 90

/** The heated or cooled plate. It needs no timer, since its temperature follows from the time of the last setting. */
export class Heater {
  readonly #clock: Clock
  readonly #cooling: boolean
  #from = { temperature: ambient_c, at: 0 }
  #on = false
  #target = ambient_c

  constructor(clock: Clock, cooling: boolean) {
    this.#clock = clock
    this.#cooling = cooling
    this.#from.at = clock.now()
  }

  get on(): boolean {
    return this.#on
  }

  get target(): number {
    return this.#target
  }

  get temperature(): number {
    const { temperature, at } = this.#from
    const goal = this.#goal()
    return goal + (temperature - goal) * Math.exp(-(this.#clock.now() - at) / 1000 / timeConstant_s)
  }

  set(change: { on?: boolean; target?: number }): void {
    this.#from = { temperature: this.temperature, at: this.#clock.now() }
    this.#on = change.on ?? this.#on
    this.#target = change.target ?? this.#target
  }

  #goal(): number {
    if (!this.#on) return ambient_c
    return this.#cooling ? this.#target : Math.max(this.#target, ambient_c)
  }
}
