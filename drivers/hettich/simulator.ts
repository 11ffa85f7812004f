// A simulated Hettich robotic centrifuge: a rotor with six positions, a lid, a hatch in it, and a timer that begins with the acceleration.

import { Table, Timers } from '../simulated_parts.ts'
import type { InstrumentEnd, MechanicalFault, Simulator } from '../transports/simulator.ts'
import { WithMount } from '../with_mount.ts'

type Settings = { address: string }

/** The simulator, with the actions of a person in front of it. */
export type SimulatedHettich = Simulator & {
  /** Presses the STOP key. */
  pressStop(): void
  /** Turns the key switch to LOCK 2, or away from it. */
  turnKey(isRemote: boolean): void
  /** Interrupts its power for a moment. */
  cutPower(): void
}

export const simulate = (at: InstrumentEnd<Settings>): SimulatedHettich => new Centrifuge(at)

const speed_baud = 9600
const answer_ms = 30
const rpmPerSecond = 200
const highest_rpm = 4500
const runUp_s = 60
const hatch_ms = 3000
const positioning_ms = 4000
/** The tick of the timer of a run. */
const tick_ms = 1000
const positions = 6
const rotorNumber = 9
const jamError = 11
const fault = { powerOn: 0x01, check: 0x08, framing: 0x10, unknown: 0x20, readOnly: 0x40, notNow: 0x80 }
const [stx, etx, eot, enq, ack, nak] = [0x02, 0x03, 0x04, 0x05, 0x06, 0x15]
const longest = 15

class Centrifuge extends WithMount<InstrumentEnd<Settings>> implements SimulatedHettich {
  readonly #rotor = new Table(this.at.clock, rpmPerSecond)
  readonly #answers = new Timers(this.at.clock)
  readonly #hatchMotion = new Timers(this.at.clock)
  readonly #positioning = new Timers(this.at.clock)
  readonly #run = new Timers(this.at.clock)
  #input = Buffer.alloc(0)
  #isOff = false
  #faults = fault.powerOn
  #isRemote = true
  #lidClosed = true
  #jammed = false
  #error: number | null = null
  #hatch: 'open' | 'closed' | 'opening' | 'closing' = 'closed'
  #hatchFailed = false
  #position: 'free' | 'turning' | 'held' = 'free'
  #target = 2
  /** The values that a computer has set, and those in force. */
  #wanted = { time: 60, speed: 1000 }
  #nominal = { time: 60, speed: 1000 }
  #phase: 'standstill' | 'accelerating' | 'centrifuging' | 'braking' = 'standstill'
  #elapsed = 0

  get world() {
    return {
      moving: this.#rotor.moving || this.#position === 'turning' || this.#hatch === 'opening' || this.#hatch === 'closing',
      heating: false,
      rpm: Math.round(this.#rotor.speed),
      hatch: this.#hatch,
      position: this.#position,
      elapsed_s: this.#elapsed,
    }
  }

  receive(bytes: Uint8Array): void {
    const { baud } = this.at
    if (this.#isOff || (baud && baud() !== speed_baud)) return
    for (const byte of bytes) {
      // The check character may be any byte.
      const isCheck = this.#input.length === 13 && this.#input[1] === stx
      if (byte === eot && !isCheck) this.#input = Buffer.alloc(0)
      else if (this.#input.length < longest) this.#input = Buffer.concat([this.#input, Buffer.from([byte])])
      this.#hear()
    }
  }

  setFault(name: MechanicalFault, present: boolean): boolean {
    if (name === 'overtemperature') return false
    if (name === 'interlock_open') {
      this.#lidClosed = !present
      if (present && this.#phase !== 'standstill') this.#brake(jamError)
      // A person who closes it acknowledges the error too.
      if (!present) this.#error = null
      return true
    }
    this.#jammed = present
    if (!present) {
      this.#error = null
      this.#hatchFailed = false
    } else if (this.#phase === 'accelerating' || this.#phase === 'centrifuging') this.#brake(jamError)
    return true
  }

  powerOff(): void {
    this.#isOff = true
    this.#rest()
  }

  pressStop(): void {
    if (this.#phase === 'accelerating' || this.#phase === 'centrifuging') this.#brake(null)
  }

  turnKey(isRemote: boolean): void {
    this.#isRemote = isRemote
  }

  cutPower(): void {
    this.#rest()
    this.#rotor.block()
    this.#phase = 'standstill'
    this.#position = 'free'
    this.#input = Buffer.alloc(0)
    this.#faults |= fault.powerOn
  }

  #rest(): void {
    for (const timers of [this.#answers, this.#hatchMotion, this.#positioning, this.#run]) timers.clear()
  }

  /** Takes the telegram after an EOT, once it is whole. */
  #hear(): void {
    const telegram = this.#input
    if (telegram[0] === undefined || telegram[0] !== this.at.settings.address.charCodeAt(0)) return
    const code = telegram.subarray(1, 6).toString('latin1')
    if (telegram.length === 7 && telegram[6] === enq) this.#ended(() => this.#tell(code))
    if (telegram[1] === stx && telegram.length === 14) this.#ended(() => this.#take(telegram))
  }

  #ended(obey: () => void): void {
    obey()
    this.#input = Buffer.alloc(0)
  }

  #take(telegram: Buffer): void {
    const body = telegram.subarray(2, 13)
    const isFramed = body[5] === 0x3d && body[10] === etx
    const isWhole = body.reduce((check, byte) => check ^ byte, 0) === telegram[13]
    const code = body.subarray(0, 5).toString('latin1')
    const value = () => Number.parseInt(body.subarray(6, 10).toString('latin1'), 16)
    if (!isFramed) this.#refuse(fault.framing)
    else if (!isWhole) this.#refuse(fault.check)
    else if (this.#faults & fault.powerOn) this.#say([nak])
    else if (!this.#isRemote) this.#refuse(fault.notNow)
    else this.#answer(this.#set(code, value()))
  }

  #answer(refusal: number | undefined): void {
    if (refusal === undefined) this.#say([ack])
    else this.#refuse(refusal)
  }

  #refuse(why: number): void {
    this.#faults |= why
    this.#say([nak])
  }

  #say(bytes: number[]): void {
    const whole = Buffer.from([this.at.settings.address.charCodeAt(0), ...bytes])
    this.#answers.after(answer_ms, () => this.at.send(whole))
  }

  #tell(code: string): void {
    const value = this.#valueOf(code)
    if (value === undefined) {
      this.#refuse(fault.unknown)
      return
    }
    if (code === '00685') this.#faults = 0
    const body = Buffer.from(`${code}=${value.toString(16).toUpperCase().padStart(4, '0')}\x03`, 'latin1')
    this.#say([stx, ...body, body.reduce((check, byte) => check ^ byte, 0)])
  }

  #valueOf(code: string): number | undefined {
    const values: Readonly<Record<string, () => number>> = {
      '00524': () => (positions << 8) | this.#target,
      '00528': () => this.#hatchValue(),
      '00537': () => 0xc901,
      '00600': () => 0x1234,
      '00601': () => this.#wanted.time,
      '00602': () => this.#elapsed,
      '00603': () => this.#wanted.speed,
      '00604': () => Math.round(this.#rotor.speed),
      '00605': () => highest_rpm,
      '00614': () => runUp_s,
      '00634': () => this.#stateValue(),
      '00635': () => (((this.#lidClosed ? 0x02 : 0) | 0x20) << 8) | (rotorNumber << 4) | (this.#isRemote ? 2 : 1),
      '00636': () => 0x0121,
      '00685': () => this.#faults,
    }
    return values[code]?.()
  }

  #stateValue(): number {
    const phases = { standstill: 0x02, accelerating: 0x04, centrifuging: 0x08, braking: 0x10 }
    const mayNotStart = this.#phase === 'standstill' && (this.#hatch !== 'closed' || !this.#lidClosed || this.#position !== 'free')
    const high = this.#error === null ? 1 : 0x80 | this.#error
    return (high << 8) | 0x60 | phases[this.#phase] | (mayNotStart ? 0x01 : 0)
  }

  #hatchValue(): number {
    const hatches = { open: 0x20, closed: 0x18, opening: 0x06, closing: 0x05 }
    const places = { free: 0, turning: 0x03, held: 0x06 }
    return ((hatches[this.#hatch] | (this.#hatchFailed ? 0x40 : 0)) << 8) | places[this.#position]
  }

  /** Carries a setting out. Returns why not, as a bit of the fault register. */
  #set(code: string, value: number): number | undefined {
    const settings: Readonly<Record<string, () => number | undefined>> = {
      '00521': () => (value === 2 ? this.#start() : value === 1 ? this.#stop() : fault.notNow),
      '00522': () => this.#activate(value),
      '00524': () => this.#setTarget(value),
      '00526': () => this.#command(value),
      '00601': () => this.#want({ time: value }, value >= 1 && value <= 59_999),
      '00603': () => this.#want({ speed: value }, value >= 50 && value <= highest_rpm),
    }
    const known = settings[code]
    if (known) return known()
    return this.#valueOf(code) === undefined ? fault.unknown : fault.readOnly
  }

  #want(members: Partial<{ time: number; speed: number }>, isFit: boolean): number | undefined {
    if (!isFit) return fault.notNow
    this.#wanted = { ...this.#wanted, ...members }
    return undefined
  }

  #activate(value: number): number | undefined {
    if (value !== 1) return fault.notNow
    this.#nominal = { ...this.#wanted }
    return undefined
  }

  #setTarget(value: number): number | undefined {
    const position = value & 0xff
    if (value >> 8 !== positions || position < 1 || position > positions) return fault.notNow
    if (this.#target !== position && this.#position === 'held') this.#position = 'free'
    this.#target = position
    return undefined
  }

  #command(value: number): number | undefined {
    if (this.#phase !== 'standstill' || !this.#lidClosed) return fault.notNow
    // A second command while the first one is carried out is acknowledged, and ignored.
    if (this.#position === 'turning' || this.#hatch === 'opening' || this.#hatch === 'closing') return undefined
    if (value === 0x01 || value === 0x02) this.#turn()
    else if (value === 0x60) this.#moveHatch('opening', 'open')
    else if (value === 0x70) this.#moveHatch('closing', 'closed')
    else if (value === 0x80) this.#position = 'free'
    else return fault.notNow
    return undefined
  }

  #turn(): void {
    this.#position = 'turning'
    this.#positioning.after(positioning_ms, () => {
      this.#position = this.#jammed ? 'free' : 'held'
      if (this.#jammed) this.#hatchFailed = true
    })
  }

  #moveHatch(motion: 'opening' | 'closing', end: 'open' | 'closed'): void {
    if (this.#hatch === end) return
    const before = this.#hatch
    this.#hatch = motion
    this.#hatchMotion.after(hatch_ms, () => {
      this.#hatch = this.#jammed ? before : end
      if (this.#jammed) this.#hatchFailed = true
    })
  }

  #start(): number | undefined {
    if (this.#stateValue() & 0x01 || this.#phase !== 'standstill') return fault.notNow
    this.#elapsed = 0
    this.#phase = 'accelerating'
    this.#rotor.goTo(this.#nominal.speed)
    this.#run.after(tick_ms, () => this.#tick())
    if (this.#jammed) this.#brake(jamError)
    return undefined
  }

  #tick(): void {
    this.#elapsed++
    if (this.#phase === 'accelerating' && this.#rotor.speed >= this.#nominal.speed) this.#phase = 'centrifuging'
    if (this.#elapsed >= this.#nominal.time) this.#brake(null)
    else this.#run.after(tick_ms, () => this.#tick())
  }

  #stop(): number | undefined {
    this.pressStop()
    return undefined
  }

  #brake(error: number | null): void {
    this.#run.clear()
    this.#error = error
    this.#phase = 'braking'
    this.#rotor.goTo(0)
    this.#run.after(this.#rotor.seconds * 1000, () => {
      this.#phase = 'standstill'
    })
  }
}
