// A simulated Keyence BL barcode reader, which sees the codes of its settings in turn.

import { ShownCodes } from '../shown_codes.ts'
import { Timers } from '../simulated_parts.ts'
import { TextPort } from '../simulated_port.ts'
import type { InstrumentEnd, MechanicalFault, Simulate, Simulator } from '../transports/simulator.ts'
import { WithMount } from '../with_mount.ts'
import type { Settings } from './settings.ts'

const answer_ms = 20
const read_ms = 400

export const simulate: Simulate<Settings> = (at) => new SimulatedReader(at)

class SimulatedReader extends WithMount<InstrumentEnd<Settings>> implements Simulator {
  readonly #port = new TextPort({ ...this.at, longest: 64, answer_ms, ending: '\r', hear: (line) => this.#hear(line) })
  readonly #timers = new Timers(this.at.clock)
  readonly #codes = new ShownCodes(this.at.settings.codes)
  #isMotorOn = true
  #isReading = false

  receive(bytes: Uint8Array): void {
    this.#port.receive(bytes)
  }

  get world() {
    return { moving: false, heating: false, laser: this.#isReading, motor: this.#isMotorOn, seen: this.#codes.count }
  }

  show(barcode: string | null): boolean {
    return this.#codes.show(barcode)
  }

  /** A jam stops the motor. */
  setFault(fault: MechanicalFault, present: boolean): boolean {
    if (fault !== 'jam') return false
    this.#isMotorOn = !present
    if (present && this.#isReading) this.#end('NG')
    return true
  }

  powerOff(): void {
    this.#timers.clear()
    this.#port.powerOff()
    this.#isReading = false
  }

  /** Answers neither to LON and LOFF themselves nor to a command that it does not know. */
  #hear(command: string): void {
    if (command === 'RMOTOR') this.#port.say(this.#isMotorOn ? 'MOTORON' : 'MOTOROFF')
    if (command === 'LON') this.#begin()
    if (command === 'LOFF' && this.#isReading) this.#end('ERROR')
  }

  #begin(): void {
    this.#timers.clear()
    if (!this.#isMotorOn) {
      this.#port.say('NG')
      return
    }
    this.#isReading = true
    const code = this.#codes.next()
    if (code !== '') this.#timers.after(read_ms, () => this.#end(code))
  }

  #end(outcome: string): void {
    this.#timers.clear()
    this.#isReading = false
    this.#port.say(outcome)
  }
}
