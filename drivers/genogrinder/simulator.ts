// A simulated GenoGrinder, as far as README.md describes it.

import { Table, Timers } from '../simulated_parts.ts'
import { TextPort } from '../simulated_port.ts'
import type { InstrumentEnd, MechanicalFault, Simulate, Simulator } from '../transports/simulator.ts'
import { WithMount } from '../with_mount.ts'
import type { Settings } from './settings.ts'

const answer_ms = 30
const rpmPerSecond = 600
const home_ms = 5000
const clamp_ms = 3000
/** Locking before a run, and unlocking after it. */
const lock_ms = 2000
const fault = 'Motor Fault'

type State = 'Standby' | 'Initializing' | 'Running Sample' | 'Locking' | 'Mixing' | 'Unlocking' | 'Run Complete' | typeof fault

export const simulate: Simulate<Settings> = (at) => new SimulatedGrinder(at)

class SimulatedGrinder extends WithMount<InstrumentEnd<Settings>> implements Simulator {
  readonly #port = new TextPort({ ...this.at, longest: 64, answer_ms, ending: '\r', hear: (line) => this.#hear(line) })
  readonly #table = new Table(this.at.clock, rpmPerSecond)
  /** The next step of what is under way. */
  readonly #next = new Timers(this.at.clock)
  #state: State = 'Standby'
  #clamp: 'Open' | 'Closed' | 'Moving' = 'Open'
  #run = { speed: 0, duration_s: 0 }
  #isJammed = false

  receive(bytes: Uint8Array): void {
    this.#port.receive(bytes)
  }

  get world() {
    const isBusy = ['Initializing', 'Locking', 'Unlocking', 'Running Sample'].includes(this.#state)
    return { moving: isBusy || this.#clamp === 'Moving' || this.#table.moving, heating: false, state: this.#state, clamp: this.#clamp }
  }

  setFault(kind: MechanicalFault, present: boolean): boolean {
    if (kind !== 'jam') return false
    this.#isJammed = present
    if (present && this.world.moving) this.#fail()
    return true
  }

  powerOff(): void {
    this.#next.clear()
    this.#table.block()
    this.#port.powerOff()
  }

  #hear(frame: string): void {
    const [, command, words] = /^\*(\d\d)(?:,([\d,]+))?\*$/.exec(frame) ?? []
    const answer = command === undefined ? undefined : this.#obey(command, words)
    if (answer !== undefined) this.#port.say(answer)
  }

  /** Carries out a command. Returns the answer that comes at once. */
  #obey(command: string, words: string | undefined): string | undefined {
    if (command === '01') return this.#state
    if (command === '15') return `Clamp ${this.#clamp}`
    if (command === '06') return this.#stop()
    if (command === '05') return this.#clear()
    if (this.#state === fault) return fault
    // The GenoGrinder carries out one command at a time.
    if (this.world.moving) return this.#state
    if (command === '02') return this.#set(words)
    if (command === '03') return this.#initialize()
    if (command === '04') return this.#begin()
    if (command === '10') return this.#moves(home_ms, () => 'Home Complete')
    if (command === '11') return this.#moveClamp('Open')
    return command === '12' ? this.#moveClamp('Closed') : undefined
  }

  #set(words: string | undefined): string {
    const [, seconds, rpm] = /^(\d{3}),(\d{4})$/.exec(words ?? '') ?? []
    const { min_speed, max_speed } = this.at.settings
    if (!(Number(seconds) >= 1 && Number(rpm) >= min_speed && Number(rpm) <= max_speed)) return 'Invalid Parameters'
    this.#run = { speed: Number(rpm), duration_s: Number(seconds) }
    return 'Parameters Set'
  }

  #initialize(): string {
    this.#state = 'Initializing'
    this.#moves(home_ms, () => {
      this.#state = 'Standby'
      return 'Initialize Complete'
    })
    return 'Initializing'
  }

  #moveClamp(to: 'Open' | 'Closed'): undefined {
    this.#state = to === 'Closed' ? 'Locking' : 'Unlocking'
    this.#clamp = 'Moving'
    return this.#moves(clamp_ms, () => {
      this.#state = 'Standby'
      this.#clamp = to
      return `Clamp ${to}`
    })
  }

  /** Says the outcome of a motion at its end. */
  #moves(ms: number, end: () => string): undefined {
    if (this.#isJammed) {
      this.#fail()
      this.#port.say(fault)
    } else this.#next.after(ms, () => this.#port.say(end()))
  }

  #begin(): string {
    if (this.#run.speed === 0) return 'Invalid Parameters'
    if (this.#isJammed) {
      this.#fail()
      return fault
    }
    this.#state = 'Running Sample'
    this.#next.after(300, () => {
      this.#state = 'Locking'
      this.#next.after(lock_ms, () => this.#mix())
    })
    return 'Running Sample'
  }

  #mix(): void {
    this.#state = 'Mixing'
    this.#table.goTo(this.#run.speed)
    this.#next.after(this.#run.duration_s * 1000, () => this.#slowDown('Run Complete'))
  }

  #slowDown(then: State): void {
    this.#next.clear()
    this.#table.goTo(0)
    this.#next.after(this.#table.seconds * 1000, () => {
      this.#state = 'Unlocking'
      this.#next.after(lock_ms, () => {
        this.#state = then
      })
    })
  }

  /** Answers at once, while the table still turns. A motion of the clamp and homing go on to their end. */
  #stop(): string {
    const isRunning =
      this.#state === 'Mixing' || this.#state === 'Running Sample' || (this.#state === 'Locking' && this.#clamp !== 'Moving')
    const slowsDown = this.#table.moving && this.#table.target === 0
    if (isRunning && !slowsDown) this.#slowDown('Standby')
    return this.#state === fault ? fault : 'Standby'
  }

  #clear(): string {
    if (this.#state === fault && !this.#isJammed) this.#state = 'Standby'
    return this.#state
  }

  #fail(): void {
    this.#next.clear()
    this.#table.block()
    if (this.#clamp === 'Moving') this.#clamp = 'Open'
    this.#state = fault
  }
}
