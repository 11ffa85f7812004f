// Sets and clears faults of a simulated device, now or later.

import type { Clock } from '../../src/kit/clock.ts'
import type { Fault } from './simulated_line.ts'
import type { Mechanism, Places } from './simulator.ts'

/** A simulated line, or a simulated board. */
export type Breakable = {
  readonly simulator: Mechanism
  setFault(fault: Fault): boolean
  canHave(fault: Fault): boolean
  clearFaults(): void
}

export class Simulation {
  readonly #it: Breakable
  readonly #clock: Clock
  readonly #pending = new Set<() => void>()

  constructor(it: Breakable, clock: Clock) {
    this.#it = it
    this.#clock = clock
  }

  /** The plates of a storage, for whoever plays the arm or the person in front of it; undefined for other instruments. */
  get places(): Places | undefined {
    return this.#it.simulator.places
  }

  /** Sets a fault after that many seconds. Returns false for a fault that this instrument cannot have. */
  setFault(fault: Fault, after: number): boolean {
    if (after === 0) return this.#it.setFault(fault)
    if (!this.#it.canHave(fault)) return false
    const cancel = this.#clock.after(after * 1000, () => {
      this.#pending.delete(cancel)
      this.#it.setFault(fault)
    })
    this.#pending.add(cancel)
    return true
  }

  /** Clears present and scheduled faults. */
  clearFaults(): void {
    for (const cancel of this.#pending) cancel()
    this.#pending.clear()
    this.#it.clearFaults()
  }

  /** Puts labware with this barcode before a simulated scanner; null for labware without one. Returns false if the simulator does not see it. */
  show(barcode: string | null): boolean {
    return this.#it.simulator.show?.(barcode) ?? false
  }

  powerOff(): void {
    this.clearFaults()
    this.#it.simulator.powerOff()
  }
}
