// Whether an instrument is there and who it is: its link is opened, and it is looked at every two seconds while nothing runs.

import { LabError, messageOf } from '../errors.ts'
import type { Clock } from '../kit/clock.ts'
import type { Log } from '../kit/log.ts'
import type { Device, Identity, Link } from './device.ts'

/** Between two looks. */
export const watch_ms = 2000

type Known = {
  device_id: string
  device: Device
  link: Link
  /** The identity that the instrument must report; a member left out may be anything. */
  wanted: Partial<Identity>
}

type Owner = {
  /** Whether something runs on it, which sees for itself how it is. */
  isRunning(): boolean
  /**
   * Is called when the instrument is there again, before any question but the one for its identity, and before that one where a program
   * stands behind it. When this rejects it is called again at the next look.
   */
  connected(): Promise<void>
  /** Nothing runs on it: it is seen whether it is well. Rejects when it is not. */
  look(): Promise<void>
  /** Is called when the instrument does not answer as it should. */
  unwell(error: unknown): Promise<unknown>
}

export class Presence {
  readonly #known: Known
  readonly #owner: Owner
  readonly #clock: Clock
  readonly #log: Log
  #identity: Identity | null = null
  /** The serial number that the instrument must have where none is configured: the first one, or that of an instrument that was initialized in its place. */
  #accepted: string | null = null
  /** The serial number that the last initialize found. */
  #found: string | null = null
  /** Whether it has said who it is, and its owner has seen to it, since its link was opened. */
  #isMet = false
  #meeting: Promise<void> | undefined
  #opening: Promise<void> | undefined
  /** The reason why the device cannot be reached, as it was last reported. */
  #unreachable = ''
  #ended = false
  #cancelLook = () => {}

  constructor(known: Known, owner: Owner, { clock, log }: { clock: Clock; log: Log }) {
    this.#known = known
    this.#owner = owner
    this.#clock = clock
    this.#log = log
  }

  /** The identity that the instrument last reported. */
  get identity(): Identity | null {
    return this.#identity
  }

  /** While its link is being opened: resolves when it is open, or rejects. */
  get opening(): Promise<void> | undefined {
    return this.#opening
  }

  /** Looks now, and again every two seconds until it is ended. */
  async watch(): Promise<void> {
    await this.#look()
    if (!this.#ended) this.#cancelLook = this.#clock.after(watch_ms, () => void this.watch())
  }

  end(): void {
    this.#ended = true
    this.#cancelLook()
  }

  /** Before it is moved: it has been met, and is the one that the configuration names, as far as it can be asked. */
  async mustBeTheOne(): Promise<void> {
    // A person who initializes the device again has been told that another instrument is plugged in.
    if (this.#found !== null && this.#found === this.#serial) this.#accepted = this.#found
    try {
      if (!this.#isThere) await this.#meet()
      else if (this.#wanted.length) await this.#identify()
    } finally {
      this.#found = this.#serial
    }
    if (this.#identity) this.mustTell(this.#identity)
  }

  /**
   * The instrument must be the one that the configuration names, and where that names none, the one that was there before. Throws
   * `device_failed`.
   */
  recognise(identity: Identity): void {
    this.#identity = identity
    for (const [member, value] of this.#wanted) {
      if (identity[member] === null || identity[member] === value) continue
      const sentence = `another instrument is plugged in: its ${member} is ${identity[member]}, not ${value}; see the cables, or the configuration`
      throw new LabError('device_failed', sentence)
    }
    const { serial_number } = identity
    this.#accepted ??= serial_number
    if (serial_number === null || serial_number === this.#accepted || this.#wanted.length > 0) return
    const sentence =
      `another instrument is plugged in than before: its serial number is ${serial_number}, and was ${this.#accepted}; see the cables. ` +
      'To take the new one, initialize again; to take no other, name the serial number as identity in the configuration'
    throw new LabError('device_failed', sentence)
  }

  /** Throws `invalid` when the configuration names what the instrument does not tell: it could be any. */
  mustTell(identity: Identity | null): void {
    const unknown = this.#wanted.map(([member]) => member).filter((member) => (identity?.[member] ?? null) === null)
    if (!unknown.length) return
    const sentence = `it does not tell its ${unknown.join(' and ')}, so that nobody can see whether it is the right one; take that out of its identity in the configuration`
    throw new LabError('invalid', sentence)
  }

  /** Throws `disconnected` unless its link is open. */
  mustBeConnected(): void {
    const { device_id, link } = this.#known
    if (link.state === 'open') return
    const advice = link.advice ?? 'see its cable and power'
    throw new LabError('disconnected', `${device_id} is not connected; ${advice}, it is looked for every two seconds`)
  }

  async #look(): Promise<void> {
    const { link } = this.#known
    if (this.#owner.isRunning()) return
    try {
      if (this.#isThere) await this.#owner.look()
      else await this.#meet()
      this.#unreachable = ''
    } catch (error) {
      if (this.#owner.isRunning() || this.#ended) return
      if (link.state === 'open') await this.#owner.unwell(error)
      else this.#tellUnreachable(messageOf(error))
    }
  }

  get #isThere(): boolean {
    return this.#isMet && this.#known.link.state === 'open'
  }

  get #serial(): string | null {
    return this.#identity?.serial_number ?? null
  }

  get #wanted(): [keyof Identity, string][] {
    const entries = Object.entries(this.#known.wanted) as [keyof Identity, string | null | undefined][]
    return entries.filter((entry): entry is [keyof Identity, string] => typeof entry[1] === 'string')
  }

  /** Runs once at a time: the owner's work with the connection must not reach into work that is begun afterwards. */
  #meet(): Promise<void> {
    this.#meeting ??= this.#introduce().finally(() => {
      this.#meeting = undefined
    })
    return this.#meeting
  }

  /** Opens the link unless it is open, asks who is there, and leaves it to its owner. */
  async #introduce(): Promise<void> {
    const { device_id, link } = this.#known
    this.#isMet = false
    if (link.state !== 'open') {
      this.#opening = link.open()
      await this.#opening.finally(() => {
        this.#opening = undefined
      })
      this.#log.info(`${device_id}: connected`)
    }
    // A program is halted before it is asked anything: what it drives may have gone on when the one before it ended.
    const steps = [() => this.#identify(), () => this.#owner.connected()]
    for (const step of this.#known.device.described ? steps.reverse() : steps) await step()
    this.#isMet = true
  }

  async #identify(): Promise<void> {
    const identity = await this.#known.device.identify()
    if (identity) this.recognise(identity)
  }

  /** Reports each reason once, because the connection is tried again every two seconds. */
  #tellUnreachable(reason: string): void {
    if (reason !== this.#unreachable) this.#log.warn(`${this.#known.device_id} cannot be reached: ${reason}`)
    this.#unreachable = reason
  }
}
