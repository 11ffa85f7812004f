// A simulated METTLER TOLEDO balance with MT-SICS levels 0 and 1, as far as README.md describes it.

import { capacity_g, least_g, WithPan, zeroRange_g } from '../simulated_pan.ts'
import { Timers } from '../simulated_parts.ts'
import { TextPort } from '../simulated_port.ts'
import type { Simulate, Simulator } from '../transports/simulator.ts'
import type { Settings } from './settings.ts'

const answer_ms = 30
/** The time without a stable value after which the balance gives a command up. */
const giveUp_ms = 40_000
/** How often it looks whether the value is stable. */
const look_ms = 100

export const simulate: Simulate<Settings> = (at) => new SimulatedBalance(at)

export class SimulatedBalance extends WithPan<Settings> implements Simulator {
  readonly #port = new TextPort({ ...this.at, longest: 128, answer_ms, ending: '\r\n', hear: (line) => this.#hear(line) })
  readonly #waiting = new Timers(this.at.clock)
  #isWaiting = false

  receive(bytes: Uint8Array): void {
    this.#port.receive(bytes)
  }

  powerOff(): void {
    this.#waiting.clear()
    this.#port.powerOff()
  }

  #hear(line: string): void {
    const [word = ''] = line.split(' ')
    const at = this.#atOnce(line)
    if (at !== undefined) this.#port.say(at)
    else if (word === 'S' || word === 'T' || word === 'Z') this.#whenStable(line)
    else this.#port.say('ES')
  }

  /** Returns the answer to a command that waits for nothing. */
  #atOnce(line: string): string | undefined {
    if (line === '@') this.#cancel()
    if (line === '@' || line === 'I4') return 'I4 A "0000000000"'
    if (line === 'I2') return 'I2 A "XS204 Simulated 220.0090 g"'
    if (line === 'I3') return 'I3 A "5.00 11.28.0.493.142"'
    if (line === 'SI') return this.#weighed('S', this.#dynamic)
    if (line === 'TI') return this.#tared('TI', this.#dynamic)
    if (line === 'ZI') return this.#zeroed('ZI', this.#dynamic)
    if (line === 'TA') return `TA A ${inGrams(this.pan.tareWeight)}`
    if (line === 'TAC') this.pan.clearTare()
    return line === 'TAC' || line === 'DW' || line === 'M21 0 0' || /^D ".*"$/.test(line) ? `${line.split(' ')[0]} A` : undefined
  }

  get #dynamic(): 'S' | 'D' {
    return this.pan.isStable ? 'S' : 'D'
  }

  #cancel(): void {
    this.#waiting.clear()
    this.#isWaiting = false
  }

  /** Carries out S, T or Z at the next stable value. */
  #whenStable(line: string): void {
    if (line.length > 1) this.#port.say('ES')
    else if (this.#isWaiting) this.#port.say(`${line} I`)
    else {
      this.#isWaiting = true
      this.#waitOn(line, this.at.clock.now() + giveUp_ms)
    }
  }

  #waitOn(command: string, until: number): void {
    this.#waiting.after(look_ms, () => {
      if (!this.pan.isStable && this.at.clock.now() < until) {
        this.#waitOn(command, until)
        return
      }
      this.#isWaiting = false
      this.#port.say(this.pan.isStable ? this.#done(command) : `${command} I`)
    })
  }

  #done(command: string): string {
    if (command === 'T') return this.#tared('T', 'S')
    return command === 'Z' ? this.#zeroed('Z', 'A') : this.#weighed('S', 'S')
  }

  /** Out of its range the balance says `+` or `-` in place of the status. */
  #weighed(word: string, status: string): string {
    if (this.pan.gross > capacity_g) return `${word} +`
    if (this.pan.gross < least_g) return `${word} -`
    return `${word} ${status} ${inGrams(this.pan.net)}`
  }

  #tared(word: string, status: string): string {
    if (this.pan.gross > capacity_g) return `${word} +`
    if (this.pan.gross < 0) return `${word} -`
    this.pan.tare()
    return `${word} ${status} ${inGrams(this.pan.tareWeight)}`
  }

  #zeroed(word: string, status: string): string {
    if (Math.abs(this.pan.gross) > zeroRange_g) return `${word} ${this.pan.gross > 0 ? '+' : '-'}`
    this.pan.zero()
    return `${word} ${status}`
  }
}

/** Ten characters for the value, then the unit. */
function inGrams(grams: number): string {
  return `${grams.toFixed(4).padStart(10)} g`
}
