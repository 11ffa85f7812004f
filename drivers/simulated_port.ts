// The port of a simulated instrument that speaks lines of text.

import { Timers } from './simulated_parts.ts'
import { lineReader } from './text_lines.ts'
import type { InstrumentEnd } from './transports/simulator.ts'
import { WithMount } from './with_mount.ts'

type Port = Omit<InstrumentEnd<unknown>, 'settings'> & {
  /** The most characters of a line; longer ones are noise. */
  longest: number
  /** The delay of each answer. */
  answer_ms: number
  /** The characters at the end of each line of the instrument. */
  ending: string
  /** The only baud rate that the instrument understands; absent if it accepts any. */
  speed?: number
  /** Called with each line of the host, without its end. */
  hear(line: string): void
}

export class TextPort extends WithMount<Port> {
  readonly #lines = lineReader(this.at.longest)
  readonly #answers = new Timers(this.at.clock)
  #isOff = false

  receive(bytes: Uint8Array): void {
    const { speed, baud, hear } = this.at
    if (this.#isOff || (speed !== undefined && baud && baud() !== speed)) return
    for (const line of this.#lines(bytes)) hear(line)
  }

  /** Sends a line after the delay. */
  say(text: string): void {
    this.#answers.after(this.at.answer_ms, () => this.at.send(Buffer.from(`${text}${this.at.ending}`, 'latin1')))
  }

  /** Drops the delayed answers. */
  clear(): void {
    this.#answers.clear()
  }

  /** Ends both directions. */
  powerOff(): void {
    this.#isOff = true
    this.clear()
  }
}
