// A simulated Opentrons Heater-Shaker: motor, latch and heater, each with its rules, behind G-codes.

import { Heater, Table, Timers } from '../simulated_parts.ts'
import { TextPort } from '../simulated_port.ts'
import type { InstrumentEnd, MechanicalFault, Simulate, Simulator } from '../transports/simulator.ts'
import { WithMount } from '../with_mount.ts'

const answer_ms = 3
const longest = 80
const rpmPerSecond = 1000
const homing_ms = 1500
/** The speed at which the shaker goes home. */
const homing_rpm = 200
const latch_ms = 1200
const timeConstant_s = 240

const texts: Record<number, string> = {
  3: 'unhandled gcode',
  111: 'main motor:unable to move',
  120: 'main motor:illegal speed',
  121: 'main motor:illegal ramp rate',
  123: 'main motor:not home (required)',
  124: 'main motor:not stopped (required)',
  126: 'main motor:plate lock not closed (required)',
  127: 'main motor:homing',
  203: 'heater:thermistor a overtemp',
  213: 'heater:illegal target temperature',
}

type Latch = 'IDLE_OPEN' | 'IDLE_CLOSED' | 'IDLE_UNKNOWN' | 'OPENING' | 'CLOSING'

/** Answers as an Opentrons Heater-Shaker does, on the clock that it is given. */
class SimulatedHeaterShaker extends WithMount<InstrumentEnd<unknown>> implements Simulator {
  readonly #port = new TextPort({ ...this.at, answer_ms, longest, ending: '\n', hear: (line) => this.#hear(line) })
  readonly #table = new Table(this.at.clock, rpmPerSecond)
  readonly #heater = new Heater(this.at.clock, timeConstant_s)
  readonly #motions = new Timers(this.at.clock)
  readonly #present = new Set<MechanicalFault>()
  /** Unknown after each start, as is the home position. */
  #latch: Latch = 'IDLE_UNKNOWN'
  #home = false
  #homing = false
  #target: number | undefined
  /** The error of a failed motor, which is all that it reports until power is cycled. */
  #motorError: number | undefined

  receive(bytes: Uint8Array): void {
    this.#port.receive(bytes)
  }

  setFault(fault: MechanicalFault, isPresent: boolean): boolean {
    if (isPresent) {
      this.#present.add(fault)
      this.#breakDown(fault)
    } else {
      this.#present.delete(fault)
      if (fault === 'overtemperature') this.#heater.setTooHot(false)
      // A jammed motor is freed with the power off, which clears the error.
      if (fault === 'jam') this.#motorError = undefined
    }
    return true
  }

  powerOff(): void {
    this.#port.clear()
    this.#motions.clear()
    this.#homing = false
    this.#table.block()
    this.#heater.heatTo(undefined)
    this.#target = undefined
    this.#latch = 'IDLE_UNKNOWN'
    this.#home = false
    this.#motorError = undefined
  }

  get world(): Simulator['world'] {
    return {
      moving: this.#table.moving || this.#homing || this.#latch === 'OPENING' || this.#latch === 'CLOSING',
      heating: this.#heater.on,
      speed: this.#speed(),
      temperature: this.#heater.temperature,
      latch: this.#latch,
      home: this.#home,
    }
  }

  #fail(error: number): void {
    this.#port.say(`ERR${String(error).padStart(3, '0')}:${texts[error]} OK`)
  }

  /** Sends an unsolicited error. */
  #tell(error: number): void {
    this.#port.say(`async ERR${error}:${texts[error]} OK`)
  }

  #hear(line: string): void {
    const [code = '', argument = ''] = line.split(/\s+/)
    const number = /^S-?\d+(\.\d+)?$/.test(argument) ? Number(argument.slice(1)) : undefined
    const commands: Record<string, (() => void) | undefined> = {
      M115: () => this.#port.say('M115 FW:v0.0.0-simulated HW:simulated SerialNo:SIM-0001 OK'),
      M123: () => this.#unlessFailed(() => this.#port.say(`M123 C:${Math.round(this.#speed())} T:${Math.round(this.#table.target)} OK`)),
      M105: () => this.#port.say(`M105 C:${this.#heater.temperature.toFixed(2)} T:${this.#target?.toFixed(2) ?? 'None'} OK`),
      M241: () => this.#port.say(`M241 STATUS:${this.#latch} OK`),
      M3: number === undefined ? undefined : () => this.#unlessFailed(() => this.#spin(number)),
      M204: number === undefined ? undefined : () => this.#port.say('M204 OK'),
      M104: number === undefined ? undefined : () => this.#warm(number),
      M106: () => this.#warm(undefined),
      M242: () => this.#moveLatch('M242', 'OPENING', 'IDLE_OPEN'),
      M243: () => this.#moveLatch('M243', 'CLOSING', 'IDLE_CLOSED'),
      G28: () => this.#unlessFailed(() => this.#goHome()),
    }
    const obey = commands[code]
    if (obey) obey()
    else this.#fail(3)
  }

  #unlessFailed(obey: () => void): void {
    if (this.#motorError === undefined) obey()
    else this.#fail(this.#motorError)
  }

  #speed(): number {
    return this.#homing ? Math.max(homing_rpm, this.#table.speed) : this.#table.speed
  }

  #spin(rpm: number): void {
    if (this.#homing) this.#fail(127)
    else if (rpm !== 0 && (rpm < 200 || rpm > 3000)) this.#fail(120)
    else if (rpm !== 0 && this.#latch !== 'IDLE_CLOSED') this.#fail(126)
    else {
      if (rpm !== 0 || this.#table.moving) this.#home = false
      if (!this.#present.has('jam')) this.#table.goTo(rpm)
      this.#port.say('M3 OK')
    }
  }

  #stopHoming(): void {
    this.#motions.clear()
    this.#homing = false
  }

  #goHome(): void {
    if (this.#latch !== 'IDLE_CLOSED') {
      this.#fail(126)
      return
    }
    if (this.#present.has('jam')) {
      this.#fail(111)
      return
    }
    this.#stopHoming()
    this.#table.goTo(0)
    this.#homing = true
    this.#motions.after(this.#table.seconds * 1000 + homing_ms, () => {
      this.#homing = false
      this.#home = true
      this.#port.say('G28 OK')
    })
  }

  #moveLatch(code: string, on: Latch, arrived: Latch): void {
    if (this.#table.moving || this.#homing) this.#fail(124)
    else if (on === 'OPENING' && !this.#home) this.#fail(123)
    else {
      this.#latch = on
      this.#motions.clear()
      this.#motions.after(latch_ms, () => {
        this.#latch = arrived
        this.#port.say(`${code} OK`)
      })
    }
  }

  #warm(to: number | undefined): void {
    if (to !== undefined && (to < 0 || to > 100)) {
      this.#fail(213)
      return
    }
    this.#target = to
    this.#heater.heatTo(this.#present.has('overtemperature') ? undefined : to)
    this.#port.say(to === undefined ? 'M106 OK' : 'M104 OK')
  }

  /** Simulates a fault. With a latch forced open it continues and reports the latch; a real one was never observed. */
  #breakDown(fault: MechanicalFault): void {
    if (fault === 'interlock_open') {
      this.#latch = 'IDLE_UNKNOWN'
    } else if (fault === 'jam') {
      if (!this.#table.moving && !this.#homing) return
      this.#stopHoming()
      this.#table.block()
      this.#motorError = 111
      this.#tell(111)
    } else {
      this.#heater.setTooHot(true)
      this.#heater.heatTo(undefined)
      this.#target = undefined
      this.#tell(203)
    }
  }
}

export const simulate: Simulate<unknown> = (at) => new SimulatedHeaterShaker(at)
