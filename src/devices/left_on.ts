// Motion and heat that would continue if the service ended now: recorded before they begin, and crossed out when the device is known to be off.

import type { Log } from '../kit/log.ts'
import type { RunStore } from './operation_journal.ts'
import type { Leaves } from './operations.ts'
import type { Heating } from './records.ts'

type Known = {
  device_id: string
  /** A simulator ends with the service, so there is nothing to switch off later. */
  simulated: boolean
  /** Whether the instrument ends the motion by itself. */
  timesItself: boolean
  /** The lowest set point in °C of a heater that cannot be switched off. */
  lowest: number | undefined
}

/** The operations that leave heat on and no motion. */
const onlyHeat: ReadonlySet<string> = new Set(['set_temperature', 'set_lid_temperature', 'run_profile'])

export class LeftOn {
  readonly #known: Known
  readonly #journal: RunStore
  readonly #log: Log
  #heating: Heating | null = null
  /** The heat of a lid that has a heater of its own. */
  #lid: Heating | null = null
  /** Whether there may be motion: one that has begun, or an unknown one from before this start. */
  #mayMove: boolean
  /** Whether the instrument was seen off since it was last switched on; the journal may record that later. */
  #isOff = false
  /** Resolves when the journal has stored or refused all entries so far. */
  #written: Promise<void> = Promise.resolve()
  /** The state before the last operation began. */
  #before: { heating: Heating | null; lid: Heating | null; mayMove: boolean; fromBefore: boolean } = {
    heating: null,
    lid: null,
    mayMove: false,
    fromBefore: false,
  }

  constructor(known: Known, { journal, log }: { journal: RunStore; log: Log }) {
    this.#known = known
    this.#journal = journal
    this.#log = log
    this.#mayMove = this.fromBefore && !onlyHeat.has(journal.leftBy(known.device_id) ?? '')
  }

  /** The heat that this service switched on, or that of the lid if only the lid is on, or the lowest set point of a heater that cannot be switched off. */
  get heating(): Heating | null {
    return this.#heating?.is_lowest === false ? this.#heating : (this.#lid ?? this.#heating)
  }

  /** Whether this service switched the heater on, and not off since. */
  get hot(): boolean {
    return this.heating?.is_lowest === false
  }

  /** Whether it was on when the service last ended, and has not been seen off since. */
  get fromBefore(): boolean {
    return !this.#isOff && this.#journal.on.includes(this.#known.device_id)
  }

  /** Whether the device may be hot or move although no operation runs. */
  get mayBeOn(): boolean {
    return this.hot || this.fromBefore
  }

  /** Treats a device that was on when the service ended as hot, since no halt ends its heat. */
  keep(): void {
    if (this.fromBefore) this.#heating = { target: null, is_lowest: false }
  }

  /** Whether the service ended before the device had acknowledged its last halt. */
  get isHaltOwed(): boolean {
    return this.#journal.haltsOwed.includes(this.#known.device_id)
  }

  /** Records that the device has not acknowledged a halt, for the next start. */
  oweHalt(): void {
    const { device_id, simulated } = this.#known
    if (simulated) return
    const failed = `${device_id}: it could not be written down that it has not acknowledged its halt`
    void this.#inOrder(async () => {
      if (!this.isHaltOwed) await this.#journal.switchedOn(device_id, 'stop')
    }, failed)
  }

  /** Records an operation before its first byte. `heats_to` is the set point in °C, if known. Rejects with `storage`; the operation must not begin then. */
  async before(name: string, leaves_on: Leaves, heats_to: number | null = null): Promise<void> {
    const goesOn = this.#goesOn(leaves_on)
    await this.#written
    this.#before = { heating: this.#heating, lid: this.#lid, mayMove: this.#mayMove, fromBefore: this.fromBefore }
    if (goesOn && !this.#known.simulated) await this.#journal.switchedOn(this.#known.device_id, name)
    if (goesOn) this.#isOff = false
    if (goesOn === 'heat') this.#heating = { target: heats_to, is_lowest: false }
    if (goesOn === 'lid heat') this.#lid = { target: heats_to, is_lowest: false }
    if (goesOn === 'motion') this.#mayMove = true
  }

  /** Takes back the last record, because the operation was refused and nothing was done. */
  async refused(): Promise<void> {
    const wasHot = this.#before.heating?.is_lowest === false || this.#before.lid !== null
    this.#heating = this.#before.heating
    this.#lid = this.#before.lid
    this.#mayMove = this.#before.mayMove
    if (!wasHot && !this.#before.fromBefore) await this.#crossOut()
  }

  /** Records the good end of an operation. */
  after(leaves_on: Leaves): void {
    if (leaves_on === 'no heat') this.#heating = this.#coldest()
    if (leaves_on === 'no lid heat') this.#lid = null
    if (this.#goesOn(leaves_on) === 'motion') this.#mayMove = false
    const hasEnded = leaves_on === 'no heat' || leaves_on === 'no lid heat' || this.#goesOn(leaves_on) === 'motion'
    if (hasEnded && !this.hot && !this.#mayMove) void this.#crossOut()
  }

  /** Records that the device has acknowledged that it is at rest and cold. */
  off(): void {
    this.#heating = this.#coldest()
    this.#lid = null
    this.#mayMove = false
    void this.#crossOut()
  }

  #coldest(): Heating | null {
    const { lowest } = this.#known
    return lowest === undefined ? null : { target: lowest, is_lowest: true }
  }

  #crossOut(): Promise<void> {
    const { device_id, simulated } = this.#known
    // The acknowledgement of a simulator proves nothing about an instrument that was configured before.
    if (simulated) return Promise.resolve()
    this.#isOff = true
    const failed = `${device_id}: it could not be written down that it is off; it will be switched off once more`
    return this.#inOrder(() => this.#journal.switchedOff(device_id), failed)
  }

  /** Runs the writes one after the other, since an entry must be written before it is crossed out. */
  #inOrder(write: () => Promise<void>, failed: string): Promise<void> {
    this.#written = this.#written.then(write).catch((error) => this.#log.error(failed, error))
    return this.#written
  }

  #goesOn(leaves_on: Leaves): 'motion' | 'heat' | 'lid heat' | undefined {
    if (leaves_on === 'no heat' || leaves_on === 'no lid heat' || (leaves_on === 'motion' && this.#known.timesItself)) return undefined
    return leaves_on
  }
}
