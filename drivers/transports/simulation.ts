// The hand that breaks a simulated device, now or later, and mends it.

import type { Clock } from '../../src/kit/clock.ts'
import { isLineFault } from './faults.ts'
import type { Fault, SimulatedLine } from './simulated_line.ts'

export class Simulation {
  readonly #line: SimulatedLine
  readonly #clock: Clock
  readonly #pending = new Set<() => void>()

  constructor(line: SimulatedLine, clock: Clock) {
    this.#line = line
    this.#clock = clock
  }

  /** Breaks it `after` so many seconds; false when this instrument cannot have that fault. */
  setFault(fault: Fault, after: number): boolean {
    if (after === 0) return this.#line.setFault(fault)
    if (!this.#canHave(fault)) return false
    const cancel = this.#clock.after(after * 1000, () => {
      this.#pending.delete(cancel)
      this.#line.setFault(fault)
    })
    this.#pending.add(cancel)
    return true
  }

  /** Mends it, and forgets what was to come. */
  clearFaults(): void {
    for (const cancel of this.#pending) cancel()
    this.#pending.clear()
    this.#line.clearFaults()
  }

  powerOff(): void {
    this.clearFaults()
    this.#line.simulator.powerOff()
  }

  #canHave(fault: Fault): boolean {
    return fault === 'unplug' || isLineFault(fault) || this.#line.simulator.setFault(fault, false)
  }
}
