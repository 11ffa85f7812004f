// A simulated Inheco incubator shaker with a drawer, a heater and a table.

import { Heater, Table, Timers } from '../simulated_parts.ts'
import type { InstrumentEnd, MechanicalFault, Simulate, Simulator } from '../transports/simulator.ts'
import { WithMount } from '../with_mount.ts'
import { modelOf, type Settings } from './models.ts'
import { checksum, errors } from './protocol.ts'

const answer_ms = 10
const drawer_ms = 4000
const rpmPerSecond = 500
const timeConstant_s = 600
/** The bytes of text in a block; the real length is not known. */
const blockLength = 8
const mostBuffered = 256
const bad = { command: 2, operand: 3, protocol: 4, notNow: 8, drawer: 9 }

type Shaking = { amplitude: number; frequency: number; phase: number }

/** Answers as an Inheco incubator shaker does, on the clock that it is given. */
class SimulatedIncubatorShaker extends WithMount<InstrumentEnd<Settings>> implements Simulator {
  readonly #model = modelOf(this.at.settings)
  readonly #table = new Table(this.at.clock, rpmPerSecond)
  readonly #heater = new Heater(this.at.clock, timeConstant_s)
  readonly #answers = new Timers(this.at.clock)
  readonly #motions = new Timers(this.at.clock)
  readonly #present = new Set<MechanicalFault>()
  #buffer = Buffer.alloc(0)
  #initialized = false
  #drawer: 'open' | 'closed' | 'moving' = 'closed'
  #target = 37
  #wanted: Shaking = { amplitude: 20, frequency: 66, phase: 90 }
  /** The settings in force since the table last started from rest. */
  #latched = this.#wanted

  receive(bytes: Uint8Array): void {
    this.#buffer = Buffer.concat([this.#buffer, bytes]).subarray(-mostBuffered)
    for (let frame = this.#next(); frame; frame = this.#next()) this.#take(frame)
  }

  setFault(fault: MechanicalFault, isPresent: boolean): boolean {
    if (isPresent) {
      this.#present.add(fault)
      this.#breakDown(fault)
    } else {
      this.#present.delete(fault)
      if (fault === 'overtemperature') this.#heater.setTooHot(false)
    }
    return true
  }

  powerOff(): void {
    this.#answers.clear()
    this.#motions.clear()
    if (this.#drawer === 'moving') this.#drawer = 'open'
    this.#table.block()
    this.#heater.heatTo(undefined)
  }

  get world(): Simulator['world'] {
    return {
      moving: this.#table.moving || this.#drawer === 'moving',
      heating: this.#heater.on,
      speed: this.#table.speed,
      amplitude_mm: this.#latched.amplitude / 10,
      temperature: this.#heater.temperature,
      drawer: this.#drawer,
      initialized: this.#initialized,
    }
  }

  #say(error: number, text = ''): void {
    const header = 0xb0 + this.at.settings.dip
    const blocks: number[] = [header]
    for (let from = 0; from < text.length; from += blockLength)
      blocks.push(...Buffer.from(text.slice(from, from + blockLength), 'latin1'), header)
    const frame = text ? [...blocks.slice(0, -1), header] : blocks
    this.#answers.after(answer_ms, () => this.at.send(Buffer.from([...frame, 0x20 + error, 0x60])))
  }

  /** Takes the next frame, whose first byte gives its length without the checksum. */
  #next(): Buffer | undefined {
    for (;;) {
      const length = this.#buffer[0]
      if (length === undefined) return undefined
      const plausible =
        length >= 6 && length <= 64 && (this.#buffer[1] ?? 0x30) >> 4 === 3 && (this.#buffer[2] ?? 0xc0 + length - 3) === 0xc0 + length - 3
      if (plausible && this.#buffer.length <= length) return undefined
      const frame = this.#buffer.subarray(0, length + 1)
      this.#buffer = this.#buffer.subarray(plausible ? length + 1 : 1)
      if (plausible) return frame
    }
  }

  #take(frame: Buffer): void {
    if (frame[1] !== 0x30 + this.at.settings.dip) return
    const body = frame.subarray(0, -1)
    const text = body.toString('latin1', 3)
    if (checksum(body) !== frame.at(-1)) this.#say(bad.protocol)
    else if (text.startsWith(`T0${this.at.settings.unit}`)) this.#hear(text.slice(3))
  }

  #hear(command: string): void {
    const asked = this.#readings()[command]
    if (asked !== undefined) this.#say(0, asked)
    else if (command === 'AID') this.#initialize()
    else if (!this.#initialized && command.startsWith('A')) this.#say(errors.notInitialized)
    else if (command === 'AOD') this.#moveDrawer('open')
    else if (command === 'ACD') this.#moveDrawer('closed')
    else if (this.#model.shakes && command === 'ASEND') this.#startShaking()
    else if (this.#model.shakes && command === 'ASE0') this.#done(() => this.#table.goTo(0))
    else if (command === 'SHE0' || command === 'SHE1') this.#done(() => this.#heater.heatTo(command === 'SHE1' ? this.#target : undefined))
    else if (command.startsWith('STT')) this.#setTarget(command.slice(3))
    else if (this.#model.shakes && command.startsWith('SSP')) this.#setShaking(command.slice(3))
    else this.#say(bad.command)
  }

  #readings(): Record<string, string | undefined> {
    const tenths = String(Math.round(this.#heater.temperature * 10))
    return {
      RFV0: 'V0.0 simulated',
      RFV2: 'SIM-0001',
      RTS: this.#model.type,
      'RDA0,0': '1',
      'RDA0,1': '1',
      RCM: '2020-01-01',
      RCD: '2020-01-01',
      RDM: '100',
      RDC1: '10',
      RDC2: '20',
      RPC1: '30',
      RPC2: '5',
      RMT: '850',
      RMT1: tenths,
      RDT: String(Math.round((this.#target - this.#heater.temperature) * 10)),
      ...(this.#model.shakes && this.#shaken()),
      REE: this.#initialized ? '0' : '1',
      RDS: this.#drawer === 'closed' ? '0' : '1',
      RLW: '1',
      RAT1: tenths,
      RAT2: tenths,
      RAT3: tenths,
      RTT: String(this.#target * 10),
      RHE: this.#heater.on ? '1' : '0',
      RSE: this.#model.shakes ? this.#shaking() : undefined,
    }
  }

  /** Returns frequencies and amplitudes: set (0), present (1), and of the middle (2). */
  #shaken(): Record<string, string> {
    const now = this.#table.moving ? this.#latched : { amplitude: 0, frequency: 0 }
    const axes = ['X', 'Y'].map((axis) => ({
      [`RF${axis}0`]: String(this.#wanted.frequency),
      [`RF${axis}1`]: String(now.frequency),
      [`RA${axis}0`]: String(this.#wanted.amplitude),
      [`RA${axis}1`]: String(now.amplitude),
      [`RA${axis}2`]: '0',
    }))
    const phase = String(this.#wanted.phase)
    return Object.assign({ RPS: phase, RPS0: phase, RPS1: phase }, ...axes)
  }

  #shaking(): string {
    if (this.#table.target > 0) return '1'
    return this.#table.speed > 0 ? '2' : '0'
  }

  #done(act: () => void): void {
    act()
    this.#say(0)
  }

  #initialize(): void {
    this.#table.goTo(0)
    this.#heater.heatTo(undefined)
    this.#initialized = true
    this.#moveDrawer('closed')
  }

  /** Moves the drawer, and sends the answer when it has arrived. */
  #moveDrawer(to: 'open' | 'closed'): void {
    if (this.#present.has('jam')) {
      this.#say(bad.drawer)
      return
    }
    if (this.#table.moving) {
      this.#say(bad.notNow)
      return
    }
    this.#motions.clear()
    if (this.#drawer === to) {
      this.#say(0)
      return
    }
    this.#drawer = 'moving'
    this.#motions.after(drawer_ms, () => {
      this.#drawer = to
      this.#say(0)
    })
  }

  #startShaking(): void {
    if (this.#drawer !== 'closed') this.#say(errors.drawerOpen)
    else {
      if (!this.#table.moving) this.#latched = this.#wanted
      if (!this.#present.has('jam')) this.#table.goTo(this.#latched.frequency * 6)
      this.#say(0)
    }
  }

  #setTarget(digits: string): void {
    const tenths = Number(digits)
    if (!/^\d+$/.test(digits) || tenths > 850) {
      this.#say(bad.operand)
      return
    }
    this.#target = tenths / 10
    if (this.#heater.on) this.#heater.heatTo(this.#target)
    this.#say(0)
  }

  #setShaking(values: string): void {
    const [ax = -1, ay = -1, fx = -1, fy = -1, phase = -1] = values.split(',').map(Number)
    const good = within(ax, 0, 30) && within(ay, 0, 30) && within(fx, 66, 300) && within(fy, 66, 300) && within(phase, 0, 360)
    if (!good) {
      this.#say(bad.operand)
      return
    }
    this.#wanted = { amplitude: ax, frequency: fx, phase }
    this.#say(0)
  }

  #breakDown(fault: MechanicalFault): void {
    if (fault === 'overtemperature') {
      this.#heater.setTooHot(true)
      return
    }
    this.#table.block()
    if (fault === 'interlock_open') {
      this.#motions.clear()
      this.#drawer = 'open'
    } else if (this.#drawer === 'moving') {
      this.#motions.clear()
      this.#drawer = 'open'
      this.#say(bad.drawer)
    }
  }
}

export const simulate: Simulate<Settings> = (at) => new SimulatedIncubatorShaker(at)

function within(value: number, least: number, most: number): boolean {
  return Number.isInteger(value) && value >= least && value <= most
}
