// A simulated Sartorius balance with SBI, as far as README.md describes it.

import { capacity_g, least_g, WithPan, zeroRange_g } from '../simulated_pan.ts'
import { TextPort } from '../simulated_port.ts'
import type { Simulate, Simulator } from '../transports/simulator.ts'
import type { Settings } from './settings.ts'

const answer_ms = 40
/** How often it looks whether the value is stable, while a command waits for that. */
const look_ms = 100
const giveUp_ms = 20_000

export const simulate: Simulate<Settings> = (at) => new SimulatedBalance(at)

export class SimulatedBalance extends WithPan<Settings> implements Simulator {
  readonly #port = new TextPort({ ...this.at, longest: 32, answer_ms, ending: '\r\n', hear: (line) => this.#hear(line) })
  #waiting = () => {}

  receive(bytes: Uint8Array): void {
    this.#port.receive(bytes)
  }

  powerOff(): void {
    this.#waiting()
    this.#port.powerOff()
  }

  /** The escape is optional. It answers no command but those that ask. */
  #hear(line: string): void {
    const command = line.startsWith('\x1b') ? line.slice(1) : line
    if (command === 'P') this.#port.say(this.#shown())
    if (command === 'x1_') this.#port.say('ENTRIS224-1S')
    if (command === 'x2_') this.#port.say('00000000')
    if (command === 'x3_') this.#port.say('00-37-09')
    if (command === 'T' || command === 'U' || command === 'V') this.#whenStable(command, this.at.clock.now() + giveUp_ms)
  }

  #whenStable(command: string, until: number): void {
    this.#waiting()
    if (this.pan.isStable) this.#do(command)
    else if (this.at.clock.now() < until) this.#waiting = this.at.clock.after(look_ms, () => this.#whenStable(command, until))
  }

  /** Near zero, `T` sets the zero point; above it the tare. */
  #do(command: string): void {
    const isNearZero = Math.abs(this.pan.gross) <= zeroRange_g
    if (command === 'V' && isNearZero) this.pan.zero()
    if (command !== 'V' && this.pan.gross >= 0 && this.pan.gross <= capacity_g) this.pan.tare()
  }

  /** A line without its end: 14 characters, behind an identifier of 6 where lines have 22. A value that is not stable has no unit. */
  #shown(): string {
    const status = this.pan.gross > capacity_g ? 'High' : this.pan.gross < least_g ? 'Low' : undefined
    const long = this.at.settings.line === '22'
    if (status) return long ? `Stat  ${status.padStart(9).padEnd(14)}` : status.padStart(9).padEnd(14)
    const { net } = this.pan
    const value = `${net < 0 ? '-' : '+'}${Math.abs(net).toFixed(4).padStart(9)} ${this.pan.isStable ? 'g  ' : '   '}`
    return long ? `N     ${value}` : value
  }
}
