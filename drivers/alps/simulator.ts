// A simulated sealer of the ALPS family: heater, press and, where the model has one, a shuttle.

import { Heater } from '../simulated_parts.ts'
import { TextPort } from '../simulated_port.ts'
import { SimulatedPress } from '../simulated_press.ts'
import type { InstrumentEnd, MechanicalFault, Simulate, Simulator } from '../transports/simulator.ts'
import { WithMount } from '../with_mount.ts'
import type { Flag, Model } from './models.ts'

const deaf_ms = 3000
const answer_ms = 20
const shuttle_ms = 2000
/** The time of the press in one direction. */
const press_ms = 1000
const reset_ms = 10_000
/** The time until a new set point shows in the status. Known hosts rely on it after 0.2 s. */
const heed_ms = 100
const timeConstant_s = 40
const tooHot_c = 240
const tolerance = 2
const longest = 32

/** `echo`: whether answers begin with the question. */
type Simulated = { model: Model; echo?: boolean }

export const simulate: Simulate<Simulated> = (at) => new SimulatedSealer(at)

class SimulatedSealer extends WithMount<InstrumentEnd<Simulated>> implements Simulator {
  readonly #model = this.at.settings.model
  readonly #port = new TextPort({ ...this.at, answer_ms, longest, ending: '\r', speed: 9600, hear: (command) => this.#answer(command) })
  readonly #press = new SimulatedPress({
    clock: this.at.clock,
    place: 'out',
    carriage_ms: shuttle_ms,
    jammed: () => this.#faults.has('jam'),
    fail: (part) => this.#fail(part === 'carriage' ? 3 : 1),
  })
  readonly #heater = new Heater(this.at.clock, timeConstant_s, tooHot_c)
  readonly #hearsAt = this.at.clock.now() + deaf_ms
  readonly #faults = new Set<MechanicalFault>()
  #error = 0
  #setPoint = this.#model.temperature.min
  #heedsAt = 0
  #tenths = 30
  #ready = true

  get world() {
    return {
      moving: this.#press.moving,
      heating: this.#heater.on,
      temperature: this.#heater.temperature,
      set_point: this.#setPoint,
      shuttle: this.#press.place,
      pressed: this.#press.pressed,
      seals: this.#press.seals,
    }
  }

  receive(bytes: Uint8Array): void {
    if (this.at.clock.now() >= this.#hearsAt) this.#port.receive(bytes)
  }

  setFault(fault: MechanicalFault, present: boolean): boolean {
    if (fault === 'interlock_open' && !this.#model.bits.door_open) return false
    if (present) this.#faults.add(fault)
    else this.#faults.delete(fault)
    if (fault === 'overtemperature') this.#heater.setTooHot(present)
    if (fault === 'interlock_open' && present && this.#press.moving) this.#fail(1)
    if (fault === 'jam' && present && this.#press.moving) this.#fail(this.#press.pressed ? 2 : 1)
    // A model without a reset is repaired at the instrument.
    if (!present && !this.#model.reset) this.#error = 0
    return true
  }

  powerOff(): void {
    this.#port.powerOff()
    this.#press.stand()
    this.#heater.heatTo(undefined)
  }

  #answer(command: string): void {
    const answer = this.#obey(command)
    if (answer === undefined) return
    const lines = Array.isArray(answer) ? answer.join('\r') : answer
    this.#port.say(`${this.at.settings.echo ? command : ''}${lines}`)
  }

  #obey(command: string): string | string[] | undefined {
    const { shuttle, reset, tells } = this.#model
    const digits = /^([AB])(\d+)$/.exec(command)
    if (digits) return digits[1] === 'A' ? this.#setTemperature(digits[2]!) : this.#setTime(digits[2]!)
    switch (command) {
      case '?':
        return this.#status().toString(16).padStart(2, '0')
      case 'E':
        return String(this.#error).padStart(2, '0')
      case 'C':
        return threeDigits(this.#setPoint)
      case 'D':
        return String(this.#tenths).padStart(2, '0')
      case 'F':
        return threeDigits(this.#heater.temperature)
      case 'S':
        return this.#seal()
      case 'V':
        return tells ? ['SIMULATED', 'V1.00'] : 'syntax error'
      case shuttle?.out:
        return this.#unlessBusy(() => this.#travel('out'))
      case shuttle?.in:
        return this.#unlessBusy(() => this.#travel('in'))
      case reset:
        return this.#reset()
      default:
        return this.#setting(command)
    }
  }

  /** Stores a setting such as `PS=20` or `ECO_OFF` without an effect. Returns the answer, if there is one. */
  #setting(command: string): string | undefined {
    const [, name = '', value = ''] = /^([A-Z]+)[=_](\d+|ON|OFF)$/.exec(command) ?? []
    const word = this.#model.words?.[name]
    if (!word) return 'syntax error'
    const number = value === 'ON' ? 1 : value === 'OFF' ? 0 : Number(value)
    if (number < word.min || number > word.max) return 'err'
    return word.isSilent ? undefined : 'ok'
  }

  #setTemperature(digits: string): string {
    const { min, max } = this.#model.temperature
    const celsius = Number(digits)
    if (digits.length !== 3 || celsius < min || celsius > max) return 'err'
    this.#setPoint = celsius
    this.#heedsAt = this.at.clock.now() + heed_ms
    this.#heater.heatTo(celsius > min ? celsius : undefined)
    return 'ok'
  }

  #setTime(digits: string): string {
    if (!/^\d\d$/.test(digits) || Number(digits) < 5) return 'err'
    this.#tenths = Number(digits)
    return 'ok'
  }

  #flags(): Record<Flag, boolean> {
    // A new set point takes effect after a moment.
    const heeds = this.at.clock.now() >= this.#heedsAt
    return {
      error: this.#error !== 0,
      busy: this.#press.moving,
      cold: heeds && this.#heater.on && Math.abs(this.#heater.temperature - this.#setPoint) > tolerance,
      no_foil: false,
      plate_absent: false,
      low_air: false,
      foil_load: false,
      door_open: this.#faults.has('interlock_open'),
      not_ready: !this.#ready,
      parked: this.#model.shuttle !== undefined && this.#press.place === 'in',
    }
  }

  #status(): number {
    const flags = this.#flags()
    const bits = Object.entries(this.#model.bits) as [Flag, number][]
    return bits.reduce((byte, [flag, bit]) => (flags[flag] ? byte | bit : byte), 0)
  }

  #seal(): string {
    const { error, cold, door_open, not_ready } = this.#flags()
    if (error || cold || door_open || not_ready) return 'err'
    return this.#unlessBusy(() => (this.#model.shuttle ? this.#travel('in', () => this.#pressDown()) : this.#pressDown()))
  }

  #unlessBusy(begin: () => void): string {
    if (this.#press.moving || this.#error || !this.#ready) return 'err'
    begin()
    return 'ok'
  }

  #pressDown(): void {
    this.#press.press(2 * press_ms + this.#tenths * 100, () => {
      if (this.#model.shuttle) this.#travel('out')
      else this.#press.stand()
    })
  }

  #travel(to: 'in' | 'out', then: () => void = () => this.#press.stand()): void {
    this.#press.travel(to, then)
  }

  /** The XT Pro stops in place; the other models home their parts, and refuse that while they move. */
  #reset(): string {
    if (!this.#model.stops && this.#press.moving) return 'err'
    this.#press.stand()
    this.#press.lift()
    this.#error = 0
    if (this.#faults.has('jam')) this.#fail(1)
    else if (!this.#model.stops) this.#press.takes(reset_ms, () => this.#homed())
    return 'ok'
  }

  #homed(): void {
    this.#press.standAt('out')
    this.#ready = true
  }

  #fail(error: number): void {
    this.#press.stand()
    this.#error = error
    this.#ready = this.#model.bits.not_ready === undefined
  }
}

function threeDigits(celsius: number): string {
  return String(Math.round(celsius)).padStart(3, '0')
}
