// A simulated barcode scanner: it sees the codes of its settings in turn, on a trigger or by itself.

import { ShownCodes } from '../shown_codes.ts'
import { Timers } from '../simulated_parts.ts'
import type { InstrumentEnd, Simulate, Simulator } from '../transports/simulator.ts'
import { WithMount } from '../with_mount.ts'
import { bytesOf } from './protocol.ts'
import type { Settings } from './settings.ts'

/** The time from the trigger to the code. */
const read_ms = 300
/** The time between two codes that a person or an arm brings in front of a scanner without a trigger. */
const shown_ms = 4000

export const simulate: Simulate<Settings> = (at) => new SimulatedScanner(at)

class SimulatedScanner extends WithMount<InstrumentEnd<Settings>> implements Simulator {
  readonly #timers = new Timers(this.at.clock)
  readonly #trigger = bytesOf(this.at.settings.trigger)
  readonly #release = bytesOf(this.at.settings.release)
  #received = Buffer.alloc(0)
  readonly #codes = new ShownCodes(this.at.settings.codes)
  #isOn = false

  constructor(at: InstrumentEnd<Settings>) {
    super(at)
    if (this.#trigger.length === 0) this.#showEach()
  }

  receive(bytes: Uint8Array): void {
    this.#received = Buffer.concat([this.#received, bytes]).subarray(-128)
    if (this.#hears(this.#release)) this.#end()
    if (this.#hears(this.#trigger)) this.#begin()
  }

  get world() {
    return { moving: false, heating: false, scanning: this.#isOn, shown: this.#codes.count }
  }

  show(barcode: string | null): boolean {
    return this.#codes.show(barcode)
  }

  setFault(): boolean {
    return false
  }

  powerOff(): void {
    this.#timers.clear()
    this.#isOn = false
  }

  /** Whether the bytes of the host end with a command. */
  #hears(command: Buffer): boolean {
    if (command.length === 0 || !this.#received.subarray(-command.length).equals(command)) return false
    this.#received = Buffer.alloc(0)
    return true
  }

  #begin(): void {
    this.#timers.clear()
    this.#isOn = true
    this.#timers.after(read_ms, () => this.#see())
  }

  #end(): void {
    this.#timers.clear()
    if (this.#isOn) this.#noRead()
    this.#isOn = false
  }

  #showEach(): void {
    this.#timers.after(shown_ms, () => {
      this.#see()
      this.#showEach()
    })
  }

  /** Sends the next code. It goes on looking for one where there is none. */
  #see(): void {
    const code = this.#codes.next()
    if (code === '') return
    this.#isOn = false
    this.#say(code)
  }

  #noRead(): void {
    if (this.at.settings.no_read !== '') this.#say(this.at.settings.no_read)
  }

  #say(text: string): void {
    const { prefix, suffix } = this.at.settings
    this.at.send(Buffer.concat([bytesOf(prefix), Buffer.from(text, 'utf8'), suffix === '' ? Buffer.from('\r\n') : bytesOf(suffix)]))
  }
}
