// A PlateLoc that is not there: block, stage and press, and the acknowledgements of what it was told.

import type { Clock } from '../../src/kit/clock.ts'
import { Heater, Timers } from '../simulated_parts.ts'
import { SimulatedPress } from '../simulated_press.ts'
import { lineReader } from '../text_lines.ts'
import type { MechanicalFault, Simulate, Simulator } from '../transports/simulator.ts'

const answer_ms = 20
const stage_ms = 4000
/** Down and up together. */
const press_ms = 2000
const timeConstant_s = 30
const tolerance = 2
const room = 22
const longest = 64

export const simulate: Simulate<unknown> = ({ send, clock, baud = () => 19200 }) => new SimulatedPlateLoc(send, clock, baud)

class SimulatedPlateLoc implements Simulator {
  readonly #send: (bytes: Uint8Array) => void
  readonly #baud: () => number
  readonly #lines = lineReader(longest)
  readonly #answers: Timers
  readonly #press: SimulatedPress
  readonly #heater: Heater
  readonly #words: Record<string, (payload: string) => string | undefined>
  #off = false
  #jammed = false
  #error = ''
  #setPoint = room
  #tenths = 30
  #inCycle = false

  constructor(send: (bytes: Uint8Array) => void, clock: Clock, baud: () => number) {
    this.#send = send
    this.#baud = baud
    this.#answers = new Timers(clock)
    this.#press = new SimulatedPress({ clock, place: 'in', carriage_ms: stage_ms, jammed: () => this.#jammed, fail: () => this.#fail() })
    this.#heater = new Heater(clock, timeConstant_s)
    this.#words = {
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
  }

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
    if (this.#off || this.#baud() !== 19200) return
    for (const line of this.#lines(bytes)) this.#answer(line)
  }

  setFault(fault: MechanicalFault, present: boolean): boolean {
    if (fault !== 'jam') return false
    this.#jammed = present
    if (present && this.#press.moving) this.#fail()
    return true
  }

  powerOff(): void {
    this.#off = true
    this.#answers.clear()
    this.#rest()
    this.#heater.heatTo(undefined)
  }

  #answer(line: string): void {
    const [, verb = line.slice(0, 2), payload = ''] = /^([A-Z]{2}) (\d\S*)$/.exec(line) ?? []
    const word = this.#words[verb]
    const refusal = word && payload ? word(payload) : 'Unknown Command'
    const text = refusal === undefined ? `${verb}AK` : `${verb}NK${refusal && `(${refusal})`}`
    this.#answers.after(answer_ms, () => this.#send(Buffer.from(`${text}\r`, 'latin1')))
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

  /** It ends a cycle; a stage that was sent by itself goes on to where it was sent. */
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
