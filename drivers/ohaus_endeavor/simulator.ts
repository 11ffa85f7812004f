// A simulated OHAUS Endeavor 5000. README.md marks its behaviour that the manual does not describe.

import { Table, Timers } from '../simulated_parts.ts'
import { lineReader } from '../text_lines.ts'
import type { InstrumentEnd, MechanicalFault, Simulate, Simulator } from '../transports/simulator.ts'
import { WithMount } from '../with_mount.ts'

const rpmPerSecond = 100
const longestLine = 64
const codes = { idle: 0, shaking: 1, paused: 2, error: 99 }

type Range = { min_speed: number; max_speed: number }

export const simulate: Simulate<Range> = (at) => new SimulatedEndeavor(at)

class SimulatedEndeavor extends WithMount<InstrumentEnd<Range>> implements Simulator {
  readonly #lines = lineReader(longestLine)
  readonly #periodic = new Timers(this.at.clock)
  readonly #table = new Table(this.at.clock, rpmPerSecond)
  readonly #timers = new Timers(this.at.clock)
  #mode: keyof typeof codes = 'idle'
  #id = 9999
  #target = this.at.settings.min_speed
  #error = 0
  #locked = false
  #jammed = false
  /** The start of the countdown; at 0 the timer counts up. */
  #countFrom_s = 0
  #counted_s = 0
  #countsSince: number | undefined

  receive(bytes: Uint8Array): void {
    for (const words of this.#lines(bytes)) this.#hear(words)
  }

  get world() {
    return { moving: this.#table.moving, heating: false, mode: this.#mode, buttons_locked: this.#locked }
  }

  /** The state as `PARAM` reports it. */
  get #state(): string {
    return `${[this.#shown, this.#id, codes[this.#mode], this.#target, this.#measured, this.#error].join(', ')},`
  }

  #hear(words: string): void {
    const [word = '', value] = words.split(/\s+/, 2)
    if (word === 'PARAM' && /^\d{1,4}$/.test(value ?? '')) {
      this.#periodic.clear()
      this.#report(Number(value))
      return
    }
    const answer = this.#obey(word, value)
    if (answer !== undefined) this.#say(answer)
  }

  #say(text: string | number): void {
    this.at.send(Buffer.from(`${text}\r\n`, 'latin1'))
  }

  #report(every_s: number): void {
    this.#say(this.#state)
    if (every_s > 0) this.#periodic.after(every_s * 1000, () => this.#report(every_s))
  }

  /** Carries out a command. Returns the answer, if there is one. */
  #obey(word: string, value: string | undefined): string | number | undefined {
    if (value !== undefined) return this.#set(word, value)
    if (word === 'START_SHAKE') return this.#start()
    if (word === 'PAUSE_SHAKE') return this.#pause()
    if (word === 'STOP_SHAKE') return this.#stop()
    if (word === 'LOCK' || word === 'UNLOCK') this.#locked = word === 'LOCK'
    if (word === 'ID') return this.#id
    if (word === 'MODE') return codes[this.#mode]
    if (word === 'TARGET_SPEED') return this.#target
    if (word === 'MEASURED_SPEED') return this.#measured
    if (word === 'TIMER') return this.#shown
    return undefined
  }

  setFault(fault: MechanicalFault, present: boolean): boolean {
    if (fault !== 'jam') return false
    this.#jammed = present
    if (present && this.#mode === 'shaking') this.#fail()
    if (present) this.#table.block()
    return true
  }

  powerOff(): void {
    this.#periodic.clear()
    this.#stop()
    this.#table.block()
  }

  get #measured(): number {
    return Math.round(this.#table.speed)
  }

  get #elapsed_s(): number {
    const since = this.#countsSince
    return this.#counted_s + (since === undefined ? 0 : (this.at.clock.now() - since) / 1000)
  }

  get #shown(): string {
    const seconds = this.#countFrom_s > 0 ? Math.max(0, Math.ceil(this.#countFrom_s - this.#elapsed_s)) : Math.floor(this.#elapsed_s)
    const parts = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60]
    return parts.map((part) => String(part).padStart(2, '0')).join(':')
  }

  /** Sets a value; ignores one outside its range. */
  #set(word: string, value: string): undefined {
    const number = /^\d{1,4}$/.test(value) ? Number(value) : Number.NaN
    if (word === 'ID' && number >= 1) this.#id = number
    if (word === 'TARGET_SPEED') this.#setSpeed(number)
    if (word === 'TIMER') this.#setTimer(value)
  }

  #setSpeed(rpm: number): void {
    if (!(rpm >= this.at.settings.min_speed && rpm <= this.at.settings.max_speed)) return
    this.#target = rpm
    if (this.#mode === 'shaking') this.#table.goTo(rpm)
  }

  #setTimer(value: string): void {
    const face = /^(\d\d):([0-5]\d):([0-5]\d)$/.exec(value)
    if (face) this.#countFrom_s = Number(face[1]) * 3600 + Number(face[2]) * 60 + Number(face[3])
    else if (value === '0') this.#countFrom_s = 0
    else if (value !== 'RESET') return
    this.#counted_s = 0
    if (this.#mode === 'shaking') this.#count()
  }

  #start(): undefined {
    if (this.#mode === 'shaking' || this.#mode === 'error') return
    if (this.#jammed) return this.#fail()
    this.#mode = 'shaking'
    this.#table.goTo(this.#target)
    this.#count()
  }

  #count(): void {
    this.#timers.clear()
    this.#countsSince = this.at.clock.now()
    if (this.#countFrom_s > 0) this.#timers.after((this.#countFrom_s - this.#counted_s) * 1000, () => this.#stop())
  }

  #hold(): void {
    this.#counted_s = this.#elapsed_s
    this.#countsSince = undefined
    this.#timers.clear()
  }

  #pause(): undefined {
    if (this.#mode !== 'shaking') return
    this.#hold()
    this.#mode = 'paused'
    this.#table.goTo(0)
  }

  #stop(): undefined {
    this.#hold()
    this.#counted_s = 0
    this.#table.goTo(0)
    if (this.#jammed && this.#mode === 'error') return
    this.#mode = 'idle'
    this.#error = 0
  }

  #fail(): undefined {
    this.#hold()
    this.#table.block()
    this.#mode = 'error'
    this.#error = 1
  }
}
