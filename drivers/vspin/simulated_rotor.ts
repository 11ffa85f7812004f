// A simulated rotor with motor and encoder. Its state is advanced at each reading.

import type { Clock } from '../../src/kit/clock.ts'
import { WithMount } from '../with_mount.ts'
import { accelerationOfWord, countsPerTurn } from './words.ts'

type Goal =
  | { kind: 'none' }
  | { kind: 'velocity'; velocity: number; acceleration: number }
  | { kind: 'position'; angle: number; velocity: number; acceleration: number }

const step_s = 0.005
/** The deceleration of a rotor without a motor, in counts/s². */
const friction = 2000
/** The angle at power-on; the index is at every whole turn. */
const firstAngle = 2345

type Parts = {
  clock: Clock
  /** Whether the rotor is blocked. */
  held(): boolean
  /** Whether the motor has power. */
  powered(): boolean
}

/** Angles are in counts since power-on, speeds in counts/s, accelerations in counts/s². */
export class Rotor extends WithMount<Parts> {
  #at_ms = this.at.clock.now()
  #angle = firstAngle
  #zero = firstAngle
  #goal: Goal = { kind: 'none' }
  #velocity = 0
  #home = firstAngle
  #seeking = false
  /** Whether the motor could not follow its command. */
  positionError = true

  get velocity(): number {
    this.advance()
    return this.#velocity
  }

  get angle(): number {
    this.advance()
    return this.#angle
  }

  /** The position in the servo's count. */
  get position(): number {
    this.advance()
    return Math.round(this.#angle - this.#zero)
  }

  get home(): number {
    this.advance()
    return Math.round(this.#home - this.#zero)
  }

  get seeking(): boolean {
    this.advance()
    return this.#seeking
  }

  get driven(): boolean {
    this.advance()
    return this.#goal.kind !== 'none'
  }

  /** Whether the goal is reached, or there is none. */
  get done(): boolean {
    this.advance()
    if (this.#goal.kind === 'none') return true
    if (this.#goal.kind === 'velocity') return this.#velocity === this.#goal.velocity
    return this.#velocity === 0 && this.#angle === this.#goal.angle
  }

  /** Goes to a velocity, with the acceleration in the servo's unit. */
  goAt(velocity: number, accelerationWord: number): void {
    this.advance()
    this.#goal = { kind: 'velocity', velocity, acceleration: accelerationOfWord(accelerationWord) }
  }

  goTo(position: number, velocity: number, accelerationWord: number): void {
    this.advance()
    this.#goal = { kind: 'position', angle: this.#zero + position, velocity, acceleration: accelerationOfWord(accelerationWord) }
  }

  stopSmoothly(): void {
    this.advance()
    const acceleration = this.#goal.kind === 'none' ? accelerationOfWord(1) : this.#goal.acceleration
    this.#goal = { kind: 'velocity', velocity: 0, acceleration }
  }

  /** Stops at once, which would damage a real rotor at speed. */
  stopAbruptly(): void {
    this.advance()
    this.#velocity = 0
    this.#goal = { kind: 'velocity', velocity: 0, acceleration: accelerationOfWord(1) }
  }

  letGo(): void {
    this.advance()
    this.#goal = { kind: 'none' }
    this.#seeking = false
  }

  seekIndex(): void {
    this.advance()
    this.#seeking = true
  }

  positionIsZero(): void {
    this.advance()
    this.#zero = this.#angle
    this.#home = this.#angle
  }

  advance(): void {
    let left = (this.at.clock.now() - this.#at_ms) / 1000
    this.#at_ms = this.at.clock.now()
    for (; left > 0 && !this.#atRest(); left -= step_s) this.#move(Math.min(left, step_s))
  }

  #atRest(): boolean {
    if (this.#velocity !== 0) return false
    if (this.#goal.kind === 'none') return true
    return this.#goal.kind === 'velocity' ? this.#goal.velocity === 0 : this.#goal.angle === this.#angle
  }

  #move(seconds: number): void {
    if (this.at.held() || !this.at.powered()) this.#fail()
    if (this.at.held()) {
      this.#velocity = 0
      return
    }
    if (this.#goal.kind === 'none') {
      this.#velocity = towards(this.#velocity, 0, friction * seconds)
      this.#turn(this.#velocity * seconds)
    } else if (this.#goal.kind === 'velocity') {
      this.#velocity = towards(this.#velocity, this.#goal.velocity, this.#goal.acceleration * seconds)
      this.#turn(this.#velocity * seconds)
    } else {
      this.#approach(this.#goal, seconds)
    }
  }

  /** Moves towards a position goal: up to speed, and down in time to stop at the goal. */
  #approach(goal: Goal & { kind: 'position' }, seconds: number): void {
    const way = goal.angle - this.#angle
    const stoppable = Math.min(goal.velocity, Math.sqrt(2 * goal.acceleration * Math.abs(way)))
    const faster = towards(this.#velocity, Math.sign(way) * goal.velocity, goal.acceleration * seconds)
    this.#velocity = Math.sign(faster) * Math.min(Math.abs(faster), stoppable)
    const arrives = Math.abs(way) <= Math.max(1, Math.abs(this.#velocity) * seconds)
    this.#turn(arrives ? way : this.#velocity * seconds)
    if (!arrives) return
    this.#angle = goal.angle
    this.#velocity = 0
  }

  #turn(by: number): void {
    const from = this.#angle
    this.#angle += by
    if (!this.#seeking) return
    const index = Math.floor(Math.max(from, this.#angle) / countsPerTurn) * countsPerTurn
    if (index <= Math.min(from, this.#angle)) return
    this.#home = index
    this.#seeking = false
    this.stopSmoothly()
  }

  #fail(): void {
    if (this.#goal.kind === 'none') return
    this.#goal = { kind: 'none' }
    this.#seeking = false
    this.positionError = true
  }
}

function towards(value: number, goal: number, most: number): number {
  return value < goal ? Math.min(goal, value + most) : Math.max(goal, value - most)
}
