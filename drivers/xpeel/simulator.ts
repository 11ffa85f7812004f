// A simulated XPeel with conveyor, elevator, tape, and the buttons of its panel.

import { Timers } from '../simulated_parts.ts'
import { TextPort } from '../simulated_port.ts'
import type { InstrumentEnd, MechanicalFault, Simulator } from '../transports/simulator.ts'
import { WithMount } from '../with_mount.ts'

const answer_ms = 20
const home_ms = 6000
const elevator_ms = 2000
const step_ms = 400
/** The time of a step at the end of the travel. */
const noStep_ms = 100
const step_mm = 7
/** The travel from home to where a peel begins. */
const travel_mm = 150
const mmPerSecond = 50
/** The time of a peel without the pressing of the tape. */
const slowPeel_ms = 16_000
const fastPeel_ms = 11_000
const adhere_ms = [2500, 5000, 7500, 10_000]
const seals = 300
const longest = 64
const codes = { ok: 0, conveyor: 1, unknown: 5, stopButton: 9, fewLeft: 20, stop: 51 }

/** The simulator, with the actions of a person in front of it. */
export type SimulatedXPeel = Simulator & {
  /** Presses the button that peels. */
  pressPeel(): void
  /** Presses the stop button. */
  pressStop(): void
  /** Interrupts its power for a moment. */
  cutPower(): void
  /** Inserts a roll with that many seals. */
  putInRoll(seals: number): void
}

export const simulate = (at: InstrumentEnd<unknown>): SimulatedXPeel => new Peeler(at)

class Peeler extends WithMount<InstrumentEnd<unknown>> implements SimulatedXPeel {
  readonly #port = new TextPort({
    ...this.at,
    ...{ answer_ms, longest, ending: '\r\n', speed: 9600 },
    // Whether a real peeler reads commands during a motion is not known; this one does not.
    hear: (line) => !this.#moving && this.#obey(line),
  })
  readonly #motion = new Timers(this.at.clock)
  readonly #words: Readonly<Record<string, () => void>> = {
    '*stat': () => this.#ready(),
    '*version': () => this.#port.say('simulated 1.00'),
    '*tapeleft': () => {
      this.#port.say(`*tape:${this.#tape()}`)
      this.#ready()
    },
    '*reset': () => this.#acknowledged(() => this.#moves(home_ms, () => this.#home())),
    '*restart': () => this.#acknowledged(() => this.#start()),
    '*sealcheck': () => this.#acknowledged(() => this.#moves(home_ms, () => {})),
    '*movein': () => this.#acknowledged(() => this.#conveyor(travel_mm)),
    '*moveout': () => this.#acknowledged(() => this.#stepOut()),
    '*moveup': () => this.#acknowledged(() => this.#moves(step_ms, () => {})),
    '*movedown': () => this.#acknowledged(() => this.#moves(elevator_ms, () => {})),
    '*movespool': () => this.#acknowledged(() => this.#moves(step_ms, () => {})),
    '*sealstat': () => this.#acknowledged(() => this.#tellThreshold()),
    '*platecheck:y': () => this.#acknowledged(() => this.#ready()),
    '*platecheck:n': () => this.#acknowledged(() => this.#ready()),
  }
  /** The threshold of its seal sensor, in three digits. */
  #threshold = '500'
  #jammed = false
  #coverOpen = false
  #codes: number[] = []
  /** The inward position of the conveyor. */
  #in_mm = 0
  #moving = false
  #left = seals
  #taken = 0
  #peels = 0

  get world() {
    return {
      moving: this.#moving,
      heating: false,
      conveyor_mm: this.#in_mm,
      peels: this.#peels,
      seals_left: this.#left,
      codes: [...this.#codes],
    }
  }

  receive(bytes: Uint8Array): void {
    this.#port.receive(bytes)
  }

  setFault(fault: MechanicalFault, present: boolean): boolean {
    if (fault === 'overtemperature') return false
    if (fault === 'jam') this.#jammed = present
    else this.#coverOpen = present
    if (present && this.#moving) this.#ended(fault === 'jam' ? codes.conveyor : codes.stop)
    return true
  }

  powerOff(): void {
    this.#rest()
    this.#port.powerOff()
  }

  pressPeel(): void {
    this.#port.say('*manual')
    this.#port.say('*xpeel')
    this.#peel(4, 1)
  }

  pressStop(): void {
    if (this.#moving) this.#ended(codes.stopButton)
  }

  cutPower(): void {
    this.#rest()
    this.#port.clear()
    this.#start()
  }

  putInRoll(seals: number): void {
    this.#left = seals
  }

  #obey(line: string): void {
    const [, set, adhere] = /^\*xpeel:([1-9])([1-4])$/.exec(line) ?? []
    const [, threshold] = /^\*seal(?:higher|lower):(\d{3})$/.exec(line) ?? []
    if (set && adhere) this.#acknowledged(() => this.#peel(Number(set), Number(adhere)))
    else if (threshold) this.#acknowledged(() => this.#tellThreshold(threshold))
    else (this.#words[line] ?? (() => this.#refuse()))()
  }

  #tellThreshold(threshold = this.#threshold): void {
    this.#threshold = threshold
    this.#port.say(`*seal:${threshold}`)
    this.#ready()
  }

  #refuse(): void {
    this.#codes = [codes.unknown]
    this.#ready()
  }

  #acknowledged(then: () => void): void {
    this.#port.say('*ack')
    then()
  }

  #start(): void {
    this.#codes = []
    this.#port.say('*poweron')
    this.#port.say('*homing')
    this.#moves(home_ms, () => this.#home())
  }

  #home(): void {
    this.#in_mm = 0
  }

  #peel(set: number, adhere: number): void {
    const fast = set % 2 === 1 && set < 9
    this.#moves((fast ? fastPeel_ms : slowPeel_ms) + adhere_ms[adhere - 1]!, () => {
      this.#home()
      this.#peels++
      this.#taken++
      this.#left--
    })
  }

  #conveyor(to_mm: number): void {
    const way = Math.abs(to_mm - this.#in_mm)
    this.#moves((way / mmPerSecond) * 1000 + noStep_ms, () => {
      this.#in_mm = to_mm
    })
  }

  #stepOut(): void {
    this.#moves(this.#in_mm > 0 ? step_ms : noStep_ms, () => {
      this.#in_mm = Math.max(0, this.#in_mm - step_mm)
    })
  }

  #moves(ms: number, arrived: () => void): void {
    if (this.#coverOpen) {
      this.#ended(codes.stop)
      return
    }
    this.#moving = true
    this.#motion.after(this.#jammed ? Math.min(ms, 1000) : ms, () => {
      if (this.#jammed) return this.#ended(codes.conveyor)
      arrived()
      this.#ended(this.#left < 30 ? codes.fewLeft : codes.ok)
    })
  }

  /** Ends a motion; its codes stay until the next one. */
  #ended(code: number): void {
    this.#rest()
    this.#codes = [code]
    this.#ready()
  }

  #rest(): void {
    this.#motion.clear()
    this.#moving = false
  }

  /** The remaining seals in tens; 99 if unknown. */
  #tape(): string {
    if (!this.#taken) return '99,99'
    return [this.#left, seals - this.#taken].map((left) => twoDigits(Math.max(0, Math.floor(left / 10)))).join()
  }

  #ready(): void {
    this.#port.say(`*ready:${[0, 1, 2].map((place) => twoDigits(this.#codes[place] ?? 0)).join()}`)
  }
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0')
}
