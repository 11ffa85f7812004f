// A simulated IKA shaker: it answers questions, does not acknowledge commands, and has a watchdog.

import { Heater, Table, Timers } from '../simulated_parts.ts'
import { TextPort } from '../simulated_port.ts'
import type { InstrumentEnd, MechanicalFault, Simulate, Simulator } from '../transports/simulator.ts'
import { WithMount } from '../with_mount.ts'
import { modelOf, type Settings } from './models.ts'

const answer_ms = 10
const longest = 80
const rpmPerSecond = 600
const timeConstant_s = 300
const watchdog = { least_s: 20, most_s: 1500 }

/** Answers as an IKA shaker does, on the clock that it is given. */
class SimulatedIka extends WithMount<InstrumentEnd<Settings>> implements Simulator {
  readonly #port = new TextPort({ ...this.at, answer_ms, longest, ending: ' \r\n', hear: (line) => this.#hear(line) })
  readonly #model = modelOf(this.at.settings)
  readonly #table = new Table(this.at.clock, rpmPerSecond)
  readonly #heater = new Heater(this.at.clock, timeConstant_s)
  readonly #dog = new Timers(this.at.clock)
  readonly #present = new Set<MechanicalFault>()
  #set = this.#firstSet()
  #watchdog_s = 0
  #tripped = false
  #direction: 'CW' | 'CCW' = 'CW'

  receive(bytes: Uint8Array): void {
    this.#port.receive(bytes)
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
    this.#port.clear()
    this.#dog.clear()
    this.#table.block()
    this.#heater.heatTo(undefined)
    this.#watchdog_s = 0
    this.#set = this.#firstSet()
  }

  /** The set points of channels 2 and 4 after power-on. Whether a real shaker keeps earlier ones is not known. */
  #firstSet(): Record<number, number> {
    return { 2: this.#model.temperature?.min ?? 0, 4: this.#model.rpm.min }
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

  /** Rearms the watchdog. The manuals disagree on other commands that feed it, so the simulator accepts only this one. */
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
      IN_NAME: this.at.settings.model,
      IN_TYPE: this.at.settings.model,
      [this.#model.version]: 'V0.0 simulated',
      IN_SOFTWARE_ID: 'ID 0 simulated',
      IN_PV_4: `${this.#table.speed.toFixed(1)} 4`,
      IN_SP_4: `${this.#set[4]!.toFixed(1)} 4`,
      IN_PV_2: this.#model.temperature && `${this.#heater.temperature.toFixed(1)} 2`,
      IN_SP_2: this.#model.temperature && `${this.#set[2]!.toFixed(1)} 2`,
    }
    const value = values[line]
    if (value !== undefined) this.#port.say(value)
  }

  #take(channel: number, value: number): void {
    const range = channel === 4 ? this.#model.rpm : this.#model.temperature
    if (!range || !(value >= range.min && value <= range.max)) return
    this.#set[channel] = value
    if (channel === 4 && this.#table.target > 0) this.#table.goTo(value)
    if (channel === 2 && this.#heater.on) this.#heater.heatTo(value)
  }

  /** Starts motor or heater. After a trip of the watchdog it needs RESET first; a real trip was never observed. */
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
    this.#port.say(`${seconds}`)
  }
}

export const simulate: Simulate<Settings> = (at) => new SimulatedIka(at)
