// A simulated a4S: block, shuttle, press and roll, and the frames that report them.

import type { InstrumentEnd, MechanicalFault, Simulate, Simulator } from '../transports/simulator.ts'
import { WithMount } from '../with_mount.ts'
import { checksum, heaters, sensorBits, systems } from './protocol.ts'

const status_ms = 1000
const travel_ms = 3000
const press_ms = 1000
const finish_ms = 1000
/** The longest frame of a host; more characters without an end are noise. */
const longest = 64
const room = 25
/** The heater without regulation: final temperature in °C and time constants. It reaches 165 °C after about four minutes. */
const block = { hottest: 600, heats_s: 800, cools_s: 600 }
/** The heater with broken regulation: °C/s, and °C at most. */
const runaway = { rate: 10, hottest: 260 }
const errors = { none: '00', jam: '12', door: '03' }

type ShuttlePosition = 'open' | 'middle' | 'closed'
type AckCode = 'Y00' | 'N00' | 'N01' | 'X00'

export const simulate: Simulate<unknown> = (at) => new A4s(at)

class A4s extends WithMount<InstrumentEnd<unknown>> implements Simulator {
  readonly #faults = new Set<MechanicalFault>()
  #input = ''
  #temperature = room
  #setPoint = 0
  #heating = false
  #system: (typeof systems)[number] = 'idle'
  #error = errors.none
  #place: ShuttlePosition = 'closed'
  #pressed = false
  #moving = false
  #tenths = 30
  #seals = 0
  #endsAt = 0
  #cancelStatus = () => {}
  #cancelMotion = () => {}

  constructor(at: InstrumentEnd<unknown>) {
    super(at)
    this.#tick()
  }

  get world() {
    return {
      moving: this.#moving,
      heating: this.#heating,
      temperature: this.#temperature,
      set_point: this.#setPoint,
      shuttle: this.#place,
      pressed: this.#pressed,
      seals: this.#seals,
    }
  }

  receive(bytes: Uint8Array): void {
    this.#input += Buffer.from(bytes).toString('latin1')
    for (let frame = this.#nextFrame(); frame !== undefined; frame = this.#nextFrame()) this.#answer(this.#obey(frame))
  }

  setFault(fault: MechanicalFault, present: boolean): boolean {
    if (present) this.#faults.add(fault)
    else this.#faults.delete(fault)
    if (present && fault === 'interlock_open') this.#fail(errors.door)
    if (present && fault === 'jam' && this.#moving) this.#fail(errors.jam)
    return true
  }

  powerOff(): void {
    this.#heating = false
    this.#moving = false
    this.#cancelStatus()
    this.#cancelMotion()
  }

  /** Takes the text from the last star to `!`; the two frames of the heater end without it. */
  #nextFrame(): string | undefined {
    const found = /\*([^*!]*)!|\*(00H[01]ZZ)/.exec(this.#input)
    if (!found) {
      const last = this.#input.lastIndexOf('*')
      this.#input = last < 0 ? '' : this.#input.slice(last, last + longest)
      return undefined
    }
    this.#input = this.#input.slice(found.index + found[0].length)
    return found[1] ?? found[2]
  }

  #obey(frame: string): AckCode {
    const body = frame.slice(0, -2)
    const trailer = frame.slice(-2)
    if (trailer.toLowerCase() !== 'zz' && trailer !== checksum(body)) return 'N01'
    const found = /^00([A-Z][A-Z0-9])=?(\d*)$/.exec(body)
    if (!found) return 'N01'
    return this.#command(found[1]!, found[2]!)
  }

  #command(name: string, digits: string): AckCode {
    switch (name) {
      case 'SR':
        return this.#reset()
      case 'DH':
        return this.#set(digits, 50, 200, (value) => {
          this.#setPoint = value
          this.#heating = true
        })
      case 'DT':
        return this.#set(digits, 0, 9999, (value) => {
          this.#tenths = value
        })
      case 'H0':
        this.#heating = false
        return 'Y00'
      case 'H1':
        this.#heating = this.#setPoint > 0
        return 'Y00'
      case 'GS':
        return this.#unlessBusy(() => this.#cycle())
      case 'MO':
        return this.#unlessBusy(() => this.#travel('open', () => {}))
      case 'MC':
        return this.#unlessBusy(() => this.#travel('closed', () => {}))
      default:
        return 'N00'
    }
  }

  #set(digits: string, least: number, most: number, take: (value: number) => void): AckCode {
    const value = Number(digits)
    if (!/^\d{3,4}$/.test(digits) || value < least || value > most) return 'N01'
    take(value)
    return 'Y00'
  }

  #unlessBusy(begin: () => void): AckCode {
    if (this.#moving || this.#system === 'error') return 'X00'
    this.#cancelMotion()
    this.#system = 'idle'
    begin()
    return 'Y00'
  }

  #reset(): AckCode {
    this.#cancelMotion()
    this.#moving = false
    this.#system = 'idle'
    this.#error = errors.none
    this.#pressed = false
    if (this.#faults.has('interlock_open')) this.#fail(errors.door)
    else if (this.#place !== 'closed') this.#home()
    this.#say(`D515A=${String(this.#seals).padStart(10, '0')},0000000000`)
    return 'Y00'
  }

  #home(): void {
    this.#system = 'finish'
    this.#travel('closed', () => {
      this.#system = 'idle'
    })
  }

  #cycle(): void {
    this.#system = 'single cycle'
    this.#endsAt = this.at.clock.now() + 2 * travel_ms + 2 * press_ms + this.#tenths * 100
    this.#travel('closed', () => this.#press())
  }

  #press(): void {
    this.#pressed = true
    this.#after(2 * press_ms + this.#tenths * 100, () => {
      this.#pressed = false
      this.#seals++
      this.#travel('open', () => this.#finish())
    })
  }

  #finish(): void {
    this.#system = 'finish'
    this.#cancelMotion = this.at.clock.after(finish_ms, () => {
      this.#system = 'idle'
    })
  }

  #travel(to: ShuttlePosition, arrived: () => void): void {
    if (this.#place === to) arrived()
    else if (this.#faults.has('jam')) this.#fail(errors.jam)
    else {
      this.#place = 'middle'
      this.#after(travel_ms, () => {
        this.#place = to
        arrived()
      })
    }
  }

  #after(ms: number, then: () => void): void {
    this.#moving = true
    this.#cancelMotion = this.at.clock.after(ms, () => {
      this.#moving = false
      then()
    })
  }

  #fail(error: string): void {
    this.#cancelMotion()
    this.#moving = false
    this.#system = 'error'
    this.#error = error
  }

  #tick(): void {
    this.#temperature = this.#nextTemperature()
    this.at.send(Buffer.from(`${framed(this.#status())}\r`, 'latin1'))
    this.#cancelStatus = this.at.clock.after(status_ms, () => this.#tick())
  }

  #nextTemperature(): number {
    const seconds = status_ms / 1000
    const now = this.#temperature
    const cooler = now + ((room - now) * seconds) / block.cools_s
    if (!this.#heating) return cooler
    if (this.#faults.has('overtemperature')) return Math.min(runaway.hottest, now + runaway.rate * seconds)
    if (now > this.#setPoint) return Math.max(this.#setPoint, cooler)
    return Math.min(this.#setPoint, now + ((block.hottest - now) * seconds) / block.heats_s)
  }

  /** Sends the answer in one group with a status, as captures show it. */
  #answer(answer: AckCode): void {
    this.#say(this.#status(), answer)
  }

  #say(...bodies: string[]): void {
    this.at.send(Buffer.from(`${bodies.map(framed).join('')}\r`, 'latin1'))
  }

  #status(): string {
    const seconds = Math.floor(this.at.clock.now() / 1000)
    const time = [seconds / 3600, (seconds / 60) % 60, seconds % 60].map((part) => String(Math.floor(part)).padStart(2, '0')).join(':')
    const left = this.#system === 'single cycle' ? Math.max(0, Math.round((this.#endsAt - this.at.clock.now()) / 100)) : 0
    const fields = [
      String(Math.round(this.#temperature * 10)).padStart(4, '0'),
      systems.indexOf(this.#system),
      heaters.indexOf(this.#heaterState()),
      this.#error,
      '00',
      String(this.#sensors()).padStart(3, '0'),
      String(left).padStart(3, '0'),
    ]
    return `T${time}=${fields.join(',')}`
  }

  #heaterState(): (typeof heaters)[number] {
    if (!this.#heating) return 'off'
    const above = this.#temperature - this.#setPoint
    if (Math.abs(above) < 0.5) return 'ready'
    if (above > 0) return 'cooling'
    return above > -5 ? 'converging' : 'heating'
  }

  #sensors(): number {
    const { middle, open, closed, door_closed, roll, motor_up, motor_down, not_connected } = sensorBits
    const shuttle = { middle, open, closed }[this.#place]
    const door = this.#faults.has('interlock_open') ? 0 : door_closed
    return shuttle + door + roll + (this.#pressed ? motor_down : motor_up) + not_connected
  }
}

function framed(body: string): string {
  return `*${body}${checksum(body)}!`
}
