// A simulated PlateLoc: block, stage and press, and the acknowledgements of its commands.

import { Heater } from '../simulated_parts.ts'
import { TextPort } from '../simulated_port.ts'
import { SimulatedPress } from '../simulated_press.ts'
import type { InstrumentEnd, MechanicalFault, Simulate, Simulator } from '../transports/simulator.ts'
import { WithMount } from '../with_mount.ts'

const answer_ms = 20
const stage_ms = 4000
/** The time of the press down and up. */
const press_ms = 2000
const timeConstant_s = 30
const tolerance = 2
const room = 22
const longest = 64

export const simulate: Simulate<unknown> = (at) => new SimulatedPlateLoc(at)

class SimulatedPlateLoc extends WithMount<InstrumentEnd<unknown>> implements Simulator {
  readonly #port = new TextPort({ ...this.at, answer_ms, longest, ending: '\r', speed: 19200, hear: (line) => this.#answer(line) })
  readonly #press = new SimulatedPress({
    clock: this.at.clock,
    place: 'in',
    carriage_ms: stage_ms,
    jammed: () => this.#jammed,
    fail: () => this.#fail(),
  })
  readonly #heater = new Heater(this.at.clock, timeConstant_s)
  readonly #words: Record<string, (payload: string) => string | undefined> = {
    ST: (payload) => this.#setTemperature(payload),
    SS: (payload) => this.#setTime(payload),
    GO: () => this.#unlessBusy(() => this.#cycle()),
    AS: () => this.#unlessBusy(() => this.#pressDown()),
    SO: () => this.#unlessBusy(() => this.#travel('out')),
    SI: () => this.#unlessBusy(() => this.#travel('in')),
    AC: () => this.#abort(),
    CL: () => this.#clear(),
    CC: () => (this.#inCycle ? '' : undefined),
  }
  #jammed = false
  #error = ''
  #setPoint = room
  #tenths = 30
  #inCycle = false

  get world() {
    return {
      moving: this.#press.moving,
      heating: this.#heater.on,
      temperature: this.#heater.temperature,
      set_point: this.#setPoint,
      stage: this.#press.place,
      pressed: this.#press.pressed,
      seals: this.#press.seals,
      error: this.#error,
    }
  }

  receive(bytes: Uint8Array): void {
    this.#port.receive(bytes)
  }

  setFault(fault: MechanicalFault, present: boolean): boolean {
    if (fault !== 'jam') return false
    this.#jammed = present
    if (present && this.#press.moving) this.#fail()
    return true
  }

  powerOff(): void {
    this.#port.powerOff()
    this.#rest()
    this.#heater.heatTo(undefined)
  }

  #answer(line: string): void {
    const [, verb = line.slice(0, 2), payload = ''] = /^([A-Z]{2}) (\d\S*)$/.exec(line) ?? []
    const word = this.#words[verb]
    const refusal = word && payload ? word(payload) : 'Unknown Command'
    this.#port.say(refusal === undefined ? `${verb}AK` : `${verb}NK${refusal && `(${refusal})`}`)
  }

  #setTemperature(payload: string): string | undefined {
    const celsius = Number(/^0\.(\d{3})$/.exec(payload)?.[1])
    if (!(celsius >= 20 && celsius <= 235)) return 'Desired Temperature is Out of Range'
    this.#setPoint = celsius
    this.#heater.heatTo(celsius > room ? celsius : undefined)
    return undefined
  }

  #setTime(payload: string): string | undefined {
    const tenths = Number(/^0\.(\d{2,3})$/.exec(payload)?.[1])
    if (!(tenths >= 5 && tenths <= 120)) return 'Desired Time is Out of Range'
    this.#tenths = tenths
    return undefined
  }

  #unlessBusy(begin: () => string | undefined): string | undefined {
    if (this.#error) return this.#error
    if (this.#press.moving) return 'Busy'
    return begin()
  }

  #cycle(): string | undefined {
    if (Math.abs(this.#heater.temperature - this.#setPoint) > tolerance) return 'Not at Temperature'
    this.#inCycle = true
    return this.#travel('in', () => this.#pressDown(() => this.#travel('out')))
  }

  #travel(to: 'in' | 'out', then = () => this.#rest()): undefined {
    this.#press.travel(to, then)
  }

  #pressDown(then = () => this.#rest()): undefined {
    this.#press.press(press_ms + this.#tenths * 100, then)
  }

  #rest(): void {
    this.#press.stand()
    this.#inCycle = false
  }

  /** Ends a cycle; a stage that moves by a command of its own finishes its motion. */
  #abort(): undefined {
    if (!this.#inCycle) return
    this.#rest()
    this.#press.lift()
  }

  /** A cycle that failed is not complete until the error is cleared. */
  #fail(): undefined {
    const inCycle = this.#inCycle
    this.#rest()
    this.#inCycle = inCycle
    this.#error = 'Stage Jammed'
  }

  #clear(): string | undefined {
    if (this.#jammed && this.#error) return this.#error
    this.#error = ''
    this.#rest()
    this.#press.lift()
    return undefined
  }
}
