// Motion and heat that would go on if the service ended now: recorded before they begin, and crossed out when the device is known to be off.

import type { Log } from '../kit/log.ts'
import type { RunStore } from './operation_journal.ts'
import type { Leaves } from './operations.ts'
import type { Heating } from './records.ts'

type Known = {
  device_id: string
  /** Ends with us: there is nothing to switch off later. */
  simulated: boolean
  /** The motion ends without us. */
  timesItself: boolean
  /** The lowest set point in °C of a heater that cannot be switched off. */
  lowest: number | undefined
}

export class LeftOn {
  readonly #known: Known
  readonly #journal: RunStore
  readonly #log: Log
  #heating: Heating | null = null
  /** Whether something besides heat may be on: a motion that has begun, or whatever was on before this start. */
  #mayMove: boolean
  /** Whether the instrument was seen off since it was last switched on: the journal may say so a moment later. */
  #isOff = false
  /** Resolves when all that was to be written down so far is, or was refused. */
  #written: Promise<void> = Promise.resolve()
  /** The state before the last operation began. */
  #before: { heating: Heating | null; mayMove: boolean; fromBefore: boolean } = { heating: null, mayMove: false, fromBefore: false }

  constructor(known: Known, { journal, log }: { journal: RunStore; log: Log }) {
    this.#known = known
    this.#journal = journal
    this.#log = log
    this.#mayMove = this.fromBefore && journal.leftBy(known.device_id) !== 'set_temperature'
  }

  /** The heat that is on, as far as it was switched on here; also the lowest set point of a heater that cannot be switched off. */
  get heating(): Heating | null {
    return this.#heating
  }

  /** Whether we switched its heater on, and not off since. */
  get hot(): boolean {
    return this.#heating?.is_lowest === false
  }

  /** Whether it was on when the service ended, and has not been seen off since. */
  get fromBefore(): boolean {
    return !this.#isOff && this.#journal.on.includes(this.#known.device_id)
  }

  /** Whether it may be hot, or move, with nothing running. */
  get mayBeOn(): boolean {
    return this.hot || this.fromBefore
  }

  /** Counts a device that was on when the service ended as hot: no halt ends that. */
  keep(): void {
    if (this.fromBefore) this.#heating = { target: null, is_lowest: false }
  }

  /** Whether the service ended before the device had acknowledged its last halt. */
  get isHaltOwed(): boolean {
    return this.#journal.haltsOwed.includes(this.#known.device_id)
  }

  /** Writes down that the device has not acknowledged a halt, for whoever comes after us. */
  oweHalt(): void {
    const { device_id, simulated } = this.#known
    if (simulated) return
    const failed = `${device_id}: it could not be written down that it has not acknowledged its halt`
    void this.#inOrder(async () => {
      if (!this.isHaltOwed) await this.#journal.switchedOn(device_id, 'stop')
    }, failed)
  }

  /** Before the first byte. `heats_to` is the set point in °C, where it is known. Rejects with `storage`: then it must not begin. */
  async before(name: string, leaves_on: Leaves, heats_to: number | null = null): Promise<void> {
    const goesOn = this.#goesOn(leaves_on)
    await this.#written
    this.#before = { heating: this.#heating, mayMove: this.#mayMove, fromBefore: this.fromBefore }
    if (goesOn && !this.#known.simulated) await this.#journal.switchedOn(this.#known.device_id, name)
    if (goesOn) this.#isOff = false
    if (goesOn === 'heat') this.#heating = { target: heats_to, is_lowest: false }
    if (goesOn === 'motion') this.#mayMove = true
  }

  /** Takes back what was recorded last: the operation was refused, and nothing was done. */
  async refused(): Promise<void> {
    const wasHot = this.#before.heating?.is_lowest === false
    this.#heating = this.#before.heating
    this.#mayMove = this.#before.mayMove
    if (!wasHot && !this.#before.fromBefore) await this.#crossOut()
  }

  /** After its good end. */
  after(leaves_on: Leaves): void {
    if (leaves_on === 'no heat') this.#heating = this.#coldest()
    if (this.#goesOn(leaves_on) === 'motion') this.#mayMove = false
    const hasEnded = leaves_on === 'no heat' || this.#goesOn(leaves_on) === 'motion'
    if (hasEnded && !this.hot && !this.#mayMove) void this.#crossOut()
  }

  /** Records that the device has acknowledged that it stands and is cold. */
  off(): void {
    this.#heating = this.#coldest()
    this.#mayMove = false
    void this.#crossOut()
  }

  #coldest(): Heating | null {
    const { lowest } = this.#known
    return lowest === undefined ? null : { target: lowest, is_lowest: true }
  }

  #crossOut(): Promise<void> {
    const { device_id, simulated } = this.#known
    // The acknowledgement of a simulator says nothing of an instrument that was here before.
    if (simulated) return Promise.resolve()
    this.#isOff = true
    const failed = `${device_id}: it could not be written down that it is off; it will be switched off once more`
    return this.#inOrder(() => this.#journal.switchedOff(device_id), failed)
  }

  /** The journal crosses out only what it has written. */
  #inOrder(write: () => Promise<void>, failed: string): Promise<void> {
    this.#written = this.#written.then(write).catch((error) => this.#log.error(failed, error))
    return this.#written
  }

  #goesOn(leaves_on: Leaves): 'motion' | 'heat' | undefined {
    if (leaves_on === 'no heat' || (leaves_on === 'motion' && this.#known.timesItself)) return undefined
    return leaves_on
  }
}
