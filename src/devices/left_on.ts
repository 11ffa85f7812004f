// Motion and heat that would go on if the service ended now: recorded before they begin, and crossed out when the device is known to be off.

import type { Log } from '../kit/log.ts'
import type { RunStore } from './operation_journal.ts'

type Known = {
  device_id: string
  /** Ends with us: there is nothing to switch off later. */
  simulated: boolean
  /** The motion ends without us. */
  timesItself: boolean
}

/** The effect that an operation would leave on if this process ended. */
type Leaves = 'motion' | 'heat' | undefined

export class LeftOn {
  readonly #known: Known
  readonly #journal: RunStore
  readonly #log: Log
  #hot = false
  /** Whether the instrument was seen off since it was last switched on: the journal may say so a moment later. */
  #isOff = false
  /** Resolves when all that was to be written down so far is, or was refused. */
  #written: Promise<void> = Promise.resolve()
  /** The state before the last operation began. */
  #before = { hot: false, fromBefore: false }

  constructor(known: Known, { journal, log }: { journal: RunStore; log: Log }) {
    this.#known = known
    this.#journal = journal
    this.#log = log
  }

  /** Whether we switched its heater on, and not off since. */
  get hot(): boolean {
    return this.#hot
  }

  /** Whether it was on when the service ended, and has not been seen off since. */
  get fromBefore(): boolean {
    return !this.#isOff && this.#journal.on.includes(this.#known.device_id)
  }

  /** Whether it may be hot, or move, with nothing running. */
  get mayBeOn(): boolean {
    return this.#hot || this.fromBefore
  }

  /** Counts a device that was on when the service ended as hot: no halt ends that. */
  keep(): void {
    if (this.fromBefore) this.#hot = true
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

  /** Before the first byte. Rejects with `storage`: then it must not begin. */
  async before(name: string, leaves_on: Leaves): Promise<void> {
    const goesOn = this.#leaves(leaves_on)
    await this.#written
    this.#before = { hot: this.#hot, fromBefore: this.fromBefore }
    if (goesOn && !this.#known.simulated) await this.#journal.switchedOn(this.#known.device_id, name)
    if (goesOn) this.#isOff = false
    if (goesOn === 'heat') this.#hot = true
  }

  /** Takes back what was recorded last: the operation was refused, and nothing was done. */
  async refused(): Promise<void> {
    this.#hot = this.#before.hot
    if (!this.#before.hot && !this.#before.fromBefore) await this.#crossOut()
  }

  /** After its good end. */
  after(leaves_on: Leaves): void {
    if (this.#leaves(leaves_on) === 'motion' && !this.#hot) this.off()
  }

  /** Records that the device has acknowledged that it stands and is cold. */
  off(): void {
    this.#hot = false
    void this.#crossOut()
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

  #leaves(leaves_on: Leaves): Leaves {
    return leaves_on === 'motion' && this.#known.timesItself ? undefined : leaves_on
  }
}
