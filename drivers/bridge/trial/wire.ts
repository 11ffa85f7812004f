// Follows the messages between the bench and the program of a bridge: which questions are open, and how long the longest line was.

import type { BridgeLine } from '../../transports/line.ts'

export class Wire {
  /** Bytes of the longest line that the program wrote. */
  longest = 0
  readonly #open = new Map<number, string>()
  readonly #waiting = new Set<() => void>()
  readonly #halves = { to_device: '', to_host: '' }

  constructor(line: BridgeLine) {
    line.onWire((direction, bytes) => this.#came(direction, Buffer.from(bytes).toString('latin1')))
  }

  /** Resolves when the program has answered every question of this method; never, if it does not. */
  async answered(method: string): Promise<void> {
    while ([...this.#open.values()].includes(method)) await new Promise<void>((resolve) => this.#waiting.add(resolve))
  }

  #came(direction: 'to_device' | 'to_host', text: string): void {
    const lines = (this.#halves[direction] + text).split('\n')
    this.#halves[direction] = lines.pop()!
    for (const line of lines) {
      if (direction === 'to_host') this.longest = Math.max(this.longest, line.length)
      this.#note(direction, line)
    }
    for (const wake of this.#waiting) wake()
    this.#waiting.clear()
  }

  #note(direction: 'to_device' | 'to_host', line: string): void {
    // A line of the bench begins with its id and its method; the answer to it may be long, and names the id.
    if (direction === 'to_device') {
      const [, id, method] = /"id":(\d+),"method":"(\w+)"/.exec(line) ?? []
      if (id !== undefined) this.#open.set(Number(id), method!)
      return
    }
    try {
      this.#open.delete(JSON.parse(line).id)
    } catch {
      // The connection refuses a line that is no message.
    }
  }
}
