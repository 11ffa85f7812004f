// A simulated Opentrons Thermocycler of either generation: block, heated lid with a motor, and the firmware before them.

import { Heater, Timers } from '../simulated_parts.ts'
import { TextPort } from '../simulated_port.ts'
import type { InstrumentEnd, MechanicalFault, Simulate, Simulator } from '../transports/simulator.ts'
import { WithMount } from '../with_mount.ts'
import { SimulatedBlock } from './simulated_block.ts'

type Lid = 'open' | 'closed' | 'in_between'
type Settings = { model: 'GEN1' | 'GEN2' }

const answer_ms = 3
const longest = 100
const lidTimeConstant_s = 90
/** The lid of GEN1 turns by 4.5 °/s, that of GEN2 by 7.5 °/s and has a seal besides. */
const travel_ms = { GEN1: 22_000, GEN2: 12_000 }
const seal_ms = 4000
/** The difference from the target within which the firmware counts the time of a step. */
const near = { GEN1: 1.5, GEN2: 1 }
/** The time between two reports of an error of GEN1. */
const report_ms = 2000
const lidDefault_c = 105

const texts: Record<number, string> = {
  3: 'unhandled gcode',
  212: 'Front center thermistor overtemp',
  501: 'lid:Lid motor busy',
  502: 'lid:Lid motor fault',
  507: 'lid:Lid must be opened',
}

class SimulatedThermocycler extends WithMount<InstrumentEnd<Settings>> implements Simulator {
  readonly #isGen2 = this.at.settings.model === 'GEN2'
  readonly #port = new TextPort({
    ...{ ...this.at, answer_ms, longest },
    ending: this.#isGen2 ? '\n' : '\r\n',
    hear: (line) => this.#hear(line),
  })
  readonly #block = new SimulatedBlock(this.at.clock, near[this.at.settings.model])
  readonly #lidHeater = new Heater(this.at.clock, lidTimeConstant_s, 122)
  readonly #motions = new Timers(this.at.clock)
  readonly #reports = new Timers(this.at.clock)
  #lidTarget: number | undefined
  #lid: Lid = 'closed'
  #seal: 'engaged' | 'retracted' | 'in_between' = 'engaged'
  /** Ends the motion of the lid in the middle; undefined while it stands. */
  #stuck: (() => void) | undefined
  /** Lines that GEN1 hears when its lid stands again. */
  #unheard: string[] = []
  #isJammed = false
  #isTooHot = false

  receive(bytes: Uint8Array): void {
    this.#port.receive(bytes)
  }

  setFault(fault: MechanicalFault, isPresent: boolean): boolean {
    if (fault === 'jam') {
      this.#isJammed = isPresent
      if (isPresent) this.#stuck?.()
    } else if (fault === 'overtemperature') this.#overheat(isPresent)
    else if (isPresent && !this.#stuck) this.#lid = 'in_between'
    return true
  }

  powerOff(): void {
    this.#port.clear()
    this.#motions.clear()
    this.#reports.clear()
    this.#stuck = undefined
    this.#unheard = []
    this.#isTooHot = false
    this.#deactivate()
  }

  get world(): Simulator['world'] {
    return {
      moving: this.#stuck !== undefined,
      heating: this.#block.target !== undefined || this.#lidTarget !== undefined,
      temperature: this.#block.temperature,
      lid_temperature: this.#lidHeater.temperature,
      lid: this.#lid,
    }
  }

  #overheat(isPresent: boolean): void {
    this.#isTooHot = isPresent
    this.#block.setTooHot(isPresent)
    this.#reports.clear()
    if (!isPresent) return
    this.#block.aim(undefined)
    if (this.#isGen2) this.#port.say(`async ERR212:${texts[212]} OK`)
    else this.#report()
  }

  /** GEN1 switches everything off, and says why every two seconds. */
  #report(): void {
    this.#deactivate()
    const temperature = this.#block.temperature.toFixed(4)
    const values = ['T1', 'T2', 'T3', 'T4', 'T5', 'T6'].map((name) => `${name}: ${temperature}\t`)
    if (!this.#stuck) this.#port.say(`Error:System too hot. ${values.join('')}`)
    this.#reports.after(report_ms, () => this.#report())
  }

  #deactivate(): void {
    this.#block.aim(undefined)
    this.#heatLid(undefined)
  }

  #heatLid(target: number | undefined): void {
    this.#lidTarget = target
    this.#lidHeater.heatTo(target)
  }

  #hear(line: string): void {
    if (this.#isGen2) this.#hearCoded(line)
    else if (this.#stuck) this.#unheard.push(line)
    else this.#hearPlain(line)
  }

  // GEN2

  #fail(error: number): void {
    this.#port.say(`ERR${String(error).padStart(3, '0')}:${texts[error]} OK`)
  }

  #hearCoded(line: string): void {
    const [word = ''] = line.split(' ')
    const setPoint = argument(line, 'S')
    const ok = () => this.#port.say(`${word} OK`)
    const unlessHot = (obey: () => void) => (this.#isTooHot ? this.#fail(212) : obey())
    const commands: Record<string, (() => void) | undefined> = {
      M115: () => this.#port.say('M115 FW:v0.0.0-simulated HW:Opentrons-thermocycler-gen2 SerialNo:SIM-0001 OK'),
      M119: () => this.#port.say(`M119 Lid:${this.#lid} Seal:${this.#seal} OK`),
      M105: () => this.#port.say(`M105 ${this.#blockValues(2, (seconds) => seconds.toFixed(2))} OK`),
      M141: () => this.#port.say(`M141 ${heaterValues(this.#lidTarget, this.#lidHeater.temperature, 2)} OK`),
      M104: setPoint === undefined ? undefined : () => unlessHot(() => this.#aim(setPoint, argument(line, 'H') ?? 0, ok)),
      M140: setPoint === undefined ? undefined : () => this.#aimLid(setPoint, ok),
      M14: () => unlessHot(() => this.#aim(0, 0, ok)),
      M108: () => this.#aimLid(0, ok),
      M18: () => this.#allOff(ok),
      M126: () => this.#moveLid('open', ok),
      M127: () => this.#moveLid('closed', ok),
      M128: () => this.#liftPlate(ok),
    }
    const obey = commands[word]
    if (obey) obey()
    else this.#fail(3)
  }

  /** A set point of 0 switches off. */
  #aim(setPoint: number, hold: number, done: () => void): void {
    this.#block.aim(setPoint <= 0 ? undefined : setPoint, hold)
    done()
  }

  #aimLid(setPoint: number, done: () => void): void {
    this.#heatLid(setPoint <= 0 ? undefined : setPoint)
    done()
  }

  #allOff(done: () => void): void {
    this.#deactivate()
    done()
  }

  #liftPlate(done: () => void): void {
    if (this.#stuck) this.#fail(501)
    else if (this.#lid !== 'open') this.#fail(507)
    else this.#move(seal_ms, done, () => this.#fail(502))
  }

  // GEN1

  /** Performs all codes of a line in their order, and then acknowledges the line. A motion of the lid keeps everything else waiting. */
  #hearPlain(text: string): void {
    const line = text.replaceAll(' ', '')
    const found = [...line.matchAll(/M(?:140|141|104|105|108|115|119|126|127|14|18)/g)]
    const said: string[] = []
    const acknowledge = () => this.#port.say([...said, 'ok', 'ok'].join('\r\n'))
    for (const [i, { 0: code, index }] of found.entries()) {
      const its = line.slice(index + code.length, found[i + 1]?.index)
      if (code === 'M126' || code === 'M127') {
        // Nobody puts another code behind a motion here.
        this.#moveLid(code === 'M126' ? 'open' : 'closed', acknowledge)
        return
      }
      said.push(...this.#obeyPlain(code, its))
    }
    acknowledge()
  }

  #obeyPlain(code: string, its: string): string[] {
    const setPoint = argument(its, 'S')
    if (code === 'M115') return ['serial:SIM-0001 model:v02 version:v0.0.0-simulated']
    if (code === 'M119') return [`Lid:${this.#lid}`]
    if (code === 'M105') return [this.#blockValues(3, (seconds) => String(Math.floor(seconds)))]
    if (code === 'M141') return [heaterValues(this.#lidTarget, this.#lidHeater.temperature, 3)]
    if (code === 'M140') this.#heatLid(setPoint ?? lidDefault_c)
    if (code === 'M108') this.#heatLid(undefined)
    if (code === 'M14') this.#block.aim(undefined)
    if (code === 'M18') this.#deactivate()
    if (code !== 'M104') return []
    if (this.#isTooHot) return ['Error:Cannot set temperature when system is in error']
    if (setPoint === undefined) return ['ERROR:Arg error']
    this.#block.aim(setPoint, argument(its, 'H') ?? 0)
    return []
  }

  // Both

  #blockValues(digits: number, written: (seconds: number) => string): string {
    const { target, temperature, left, total, isNear } = this.#block
    const heater = heaterValues(target, temperature, digits)
    if (target === undefined) return `${heater} H:none Total_H:none At_target?:0`
    return `${heater} H:${written(left)} Total_H:${written(total)} At_target?:${isNear ? 1 : 0}`
  }

  #moveLid(to: 'open' | 'closed', done: () => void): void {
    if (this.#stuck) this.#fail(501)
    else if (this.#lid === to) done()
    else {
      if (this.#isGen2) this.#seal = 'in_between'
      const seal = this.#isGen2 ? seal_ms : 0
      const { model } = this.at.settings
      // GEN1 acknowledges a lid that is stuck as if it had arrived.
      this.#move(travel_ms[model] + seal, () => this.#lidArrives(to, done), this.#isGen2 ? () => this.#fail(502) : done)
      // While the seal of GEN2 is released, the lid is still where it was.
      if (this.#stuck) this.#motions.after(seal, () => this.#leave())
    }
  }

  #leave(): void {
    if (this.#stuck) this.#lid = 'in_between'
  }

  #lidArrives(to: 'open' | 'closed', done: () => void): void {
    this.#lid = to
    this.#seal = to === 'open' ? 'retracted' : 'engaged'
    done()
  }

  /** Moves for a while. Stuck, it ends in between with `failed`. */
  #move(ms: number, arrived: () => void, failed: () => void): void {
    const end = (how: () => void) => {
      this.#motions.clear()
      this.#stuck = undefined
      how()
      for (const line of this.#unheard.splice(0)) this.#hear(line)
    }
    this.#stuck = () =>
      end(() => {
        this.#lid = 'in_between'
        failed()
      })
    this.#motions.after(ms, () => end(arrived))
    if (this.#isJammed) this.#motions.after(ms / 2, () => this.#stuck?.())
  }
}

function heaterValues(target: number | undefined, temperature: number, digits: number): string {
  return `T:${target?.toFixed(digits) ?? 'none'} C:${temperature.toFixed(digits)}`
}

/** Returns the number behind a letter: 30 of `M104 S95 H30` for H. */
function argument(line: string, letter: string): number | undefined {
  const [, number] = new RegExp(`${letter}(-?\\d+(?:\\.\\d+)?)`).exec(line.replace(/^M\d+/, '')) ?? []
  return number === undefined ? undefined : Number(number)
}

export const simulate: Simulate<Settings> = (at) => new SimulatedThermocycler(at)
