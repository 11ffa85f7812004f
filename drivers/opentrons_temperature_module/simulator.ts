// A simulated Opentrons Temperature Module: a plate with Peltier elements behind the plain firmware.

import { Heater, Timers } from '../simulated_parts.ts'
import { TextPort } from '../simulated_port.ts'
import type { InstrumentEnd, MechanicalFault, Simulate, Simulator } from '../transports/simulator.ts'
import { WithMount } from '../with_mount.ts'

const answer_ms = 3
const longest = 100
const timeConstant_s = 150
/** The reading of a plate that is too hot. */
const tooHot_c = 102
/** The firmware takes other targets, and replaces them by these. */
const range = { min: -9, max: 99 }
/** The time between two reports of an overheated module. */
const report_ms = 2000
const codes = /M105|M104|M115|M18/g

/** Answers as a Temperature Module does, on the clock that it is given. */
class SimulatedTemperatureModule extends WithMount<InstrumentEnd<unknown>> implements Simulator {
  readonly #port = new TextPort({ ...this.at, answer_ms, longest, ending: '\r\n', hear: (line) => this.#hear(line) })
  readonly #plate = new Heater(this.at.clock, timeConstant_s, tooHot_c, true)
  readonly #reports = new Timers(this.at.clock)
  #target: number | undefined
  #overheated = false

  receive(bytes: Uint8Array): void {
    this.#port.receive(bytes)
  }

  setFault(fault: MechanicalFault, isPresent: boolean): boolean {
    if (fault !== 'overtemperature') return false
    this.#overheated = isPresent
    this.#plate.setTooHot(isPresent)
    this.#reports.clear()
    if (isPresent) this.#report()
    return true
  }

  powerOff(): void {
    this.#port.clear()
    this.#reports.clear()
    this.#overheated = false
    this.#aim(undefined)
  }

  get world(): Simulator['world'] {
    return { moving: false, heating: this.#target !== undefined, temperature: this.#plate.temperature }
  }

  /** Switches off and says so, now and every two seconds. */
  #report(): void {
    this.#aim(undefined)
    this.#port.say('Temperature module overheated! Deactivating.')
    this.#reports.after(report_ms, () => this.#report())
  }

  #aim(target: number | undefined): void {
    this.#target = target
    this.#plate.heatTo(target)
  }

  /** Performs all codes of a line in their order. Unknown ones are skipped, and the line is acknowledged in any case. */
  #hear(text: string): void {
    const line = text.replaceAll(' ', '')
    const said = [...line.matchAll(codes)].flatMap((found) => this.#obey(found[0], line.slice(found.index + found[0].length)))
    this.#port.say([...said, 'ok', 'ok'].join('\r\n'))
  }

  #obey(code: string, rest: string): string[] {
    if (code === 'M105') return [`T:${this.#target?.toFixed(3) ?? 'none'} C:${this.#plate.temperature.toFixed(3)}`]
    if (code === 'M115') return ['serial:SIM-0001 model:temp_deck_v20 version:v0.0.0-simulated']
    if (code === 'M18') this.#aim(undefined)
    const [, number] = /S(-?\d+(?:\.\d+)?)/.exec(rest) ?? []
    return code === 'M104' && number !== undefined ? this.#set(Number(number)) : []
  }

  #set(asked: number): string[] {
    const target = Math.min(range.max, Math.max(range.min, asked))
    if (!this.#overheated) this.#aim(target)
    if (asked < range.min) return ['Target temperature too low, setting to TEMPERATURE_MIN degrees']
    return asked > range.max ? ['Target temperature too high, setting to TEMPERATURE_MAX degrees'] : []
  }
}

export const simulate: Simulate<unknown> = (at) => new SimulatedTemperatureModule(at)
