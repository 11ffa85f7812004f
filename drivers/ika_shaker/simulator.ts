// An IKA shaker that is not there: it talks when it is asked, keeps silent when it is told, and stops when its host has gone.

import { Heater, Table, Timers } from '../simulated_parts.ts'
import { lineReader } from '../text_lines.ts'
import type { InstrumentEnd, MechanicalFault, Simulate, Simulator } from '../transports/simulator.ts'
import { type Model, modelOf, type Settings } from './models.ts'

const answer_ms = 10
const longest = 80
const rpmPerSecond = 600
const timeConstant_s = 300
const watchdog = { least_s: 20, most_s: 1500 }

/** Answers as an IKA shaker does, on the clock that it is given. */
class SimulatedIka implements Simulator {
  readonly #send: (bytes: Uint8Array) => void
  readonly #settings: Settings
  readonly #model: Model
  readonly #table: Table
  readonly #heater: Heater
  readonly #answers: Timers
  readonly #dog: Timers
  readonly #read = lineReader(longest)
  readonly #present = new Set<MechanicalFault>()
  readonly #set: Record<number, number>
  #watchdog_s = 0
  #tripped = false
  #direction: 'CW' | 'CCW' = 'CW'

  constructor({ send, clock, settings }: InstrumentEnd<Settings>) {
    this.#send = send
    this.#settings = settings
    this.#model = modelOf(settings)
    const { rpm, temperature } = this.#model
    this.#table = new Table(clock, rpmPerSecond)
    this.#heater = new Heater(clock, timeConstant_s)
    this.#answers = new Timers(clock)
    this.#dog = new Timers(clock)
    this.#set = { 2: temperature?.min ?? 0, 4: rpm.min }
  }

  receive(bytes: Uint8Array): void {
    for (const line of this.#read(bytes)) this.#hear(line)
  }

  setFault(fault: MechanicalFault, isPresent: boolean): boolean {
    if (fault === 'interlock_open' || (fault === 'overtemperature' && !this.#model.temperature)) return false
    if (isPresent) this.#present.add(fault)
    else this.#present.delete(fault)
    if (fault === 'overtemperature') this.#heater.setTooHot(isPresent)
    else if (isPresent) this.#table.block()
    return true
  }

  powerOff(): void {
    this.#answers.clear()
    this.#dog.clear()
    this.#table.block()
    this.#heater.heatTo(undefined)
    this.#watchdog_s = 0
  }

  get world(): Simulator['world'] {
    return {
      moving: this.#table.moving,
      heating: this.#heater.on,
      speed: this.#table.speed,
      temperature: this.#heater.temperature,
      set_speed: this.#set[4],
      direction: this.#direction,
      watchdog_s: this.#watchdog_s,
      tripped: this.#tripped,
    }
  }

  #say(text: string): void {
    this.#answers.after(answer_ms, () => this.#send(Buffer.from(`${text} \r\n`, 'latin1')))
  }

  /** The manuals disagree on what feeds it; this one wants to be armed again, which is the least that all of them take. */
  #feed(): void {
    this.#dog.clear()
    if (this.#watchdog_s) this.#dog.after(this.#watchdog_s * 1000, () => this.#trip())
  }

  #trip(): void {
    this.#tripped = true
    this.#disarm()
    this.#rest()
  }

  #rest(): void {
    this.#table.goTo(0)
    this.#heater.heatTo(undefined)
  }

  #disarm(): void {
    this.#watchdog_s = 0
    this.#dog.clear()
  }

  #reset(): void {
    this.#tripped = false
    this.#disarm()
    this.#direction = 'CW'
    this.#rest()
  }

  #hear(line: string): void {
    const [command = '', digits = ''] = line.split(/[@ ]+/)
    if (command.startsWith('IN_')) this.#ask(line)
    else if (line === 'RESET') this.#reset()
    else if (line === 'OUT_MODE_1') this.#direction = 'CCW'
    else if (command === 'OUT_SP_2' || command === 'OUT_SP_4') this.#take(command === 'OUT_SP_2' ? 2 : 4, Number(digits))
    else if (command === 'OUT_WD1' || command === 'OUT_WD2') this.#arm(Number(digits))
    else this.#turnOrHeat(line)
  }

  #ask(line: string): void {
    const values: Record<string, string | undefined> = {
      IN_NAME: this.#settings.model,
      IN_TYPE: this.#settings.model,
      [this.#model.version]: 'V0.0 simulated',
      IN_SOFTWARE_ID: 'ID 0 simulated',
      IN_PV_4: `${this.#table.speed.toFixed(1)} 4`,
      IN_SP_4: `${this.#set[4]!.toFixed(1)} 4`,
      IN_PV_2: this.#model.temperature && `${this.#heater.temperature.toFixed(1)} 2`,
      IN_SP_2: this.#model.temperature && `${this.#set[2]!.toFixed(1)} 2`,
    }
    const value = values[line]
    if (value !== undefined) this.#say(value)
  }

  #take(channel: number, value: number): void {
    const range = channel === 4 ? this.#model.rpm : this.#model.temperature
    if (!range || !(value >= range.min && value <= range.max)) return
    this.#set[channel] = value
    if (channel === 4 && this.#table.target > 0) this.#table.goTo(value)
    if (channel === 2 && this.#heater.on) this.#heater.heatTo(value)
  }

  /** What it does after its watchdog has tripped is not known; it is made to want RESET. */
  #turnOrHeat(line: string): void {
    if (line === 'STOP_4') this.#table.goTo(0)
    else if (line === 'STOP_2') this.#heater.heatTo(undefined)
    else if (this.#tripped) return
    else if (line === 'START_4' && !this.#present.has('jam')) this.#table.goTo(this.#set[4]!)
    else if (line === 'START_2' && this.#model.temperature) this.#heater.heatTo(this.#set[2])
  }

  #arm(seconds: number): void {
    if (seconds !== 0 && !(seconds >= watchdog.least_s && seconds <= watchdog.most_s)) return
    this.#watchdog_s = seconds
    this.#feed()
    this.#say(`${seconds}`)
  }
}

export const simulate: Simulate<Settings> = (at) => new SimulatedIka(at)
