// Watches whether an instrument is there, and which one: opens its link, and checks it every two seconds while nothing runs.

import { LabError, messageOf } from '../errors.ts'
import type { Clock } from '../kit/clock.ts'
import type { Log } from '../kit/log.ts'
import type { Device, Identity, Link } from './device.ts'

/** The interval of the checks. */
export const watch_ms = 2000

type Known = {
  device_id: string
  device: Device
  link: Link
  /** The identity that the instrument must report; an absent member may have any value. */
  wanted: Partial<Identity>
}

type Owner = {
  /** Whether an operation runs, which watches the instrument itself. */
  isRunning(): boolean
  /**
   * Called when the instrument is connected again, before any question except the one for its identity, and before that one too if a program
   * is behind it. If it rejects, it is called again at the next check.
   */
  connected(): Promise<void>
  /** Checks the instrument while nothing runs. Rejects if it has a fault. */
  look(): Promise<void>
  /** Called when the instrument does not answer correctly. */
  unwell(error: unknown): Promise<unknown>
}

export class Presence {
  readonly #known: Known
  readonly #owner: Owner
  readonly #clock: Clock
  readonly #log: Log
  #identity: Identity | null = null
  /** The serial number that the instrument must have if none is configured: the first one, or that of a replacement that a person has initialized twice. */
  #accepted: string | null = null
  /** The serial number that the last `initialize` found. */
  #found: string | null = null
  /** Whether it was identified, and `connected` has resolved, since its link was opened. */
  #isMet = false
  #meeting: Promise<void> | undefined
  #opening: Promise<void> | undefined
  /** The last reported reason why the device cannot be reached. */
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

  /** Set while the link is being opened: resolves when it is open, or rejects. */
  get opening(): Promise<void> | undefined {
    return this.#opening
  }

  /** Checks now, and again every two seconds until `end`. */
  async watch(): Promise<void> {
    await this.#look()
    if (!this.#ended) this.#cancelLook = this.#clock.after(watch_ms, () => void this.watch())
  }

  end(): void {
    this.#ended = true
    this.#cancelLook()
  }

  /** Called before a motion. Rejects unless the instrument was identified as the configured one, as far as it can be asked. */
  async mustBeTheOne(): Promise<void> {
    // A person who initializes the device again has been told that another instrument is plugged in.
    if (this.#found !== null && this.#found === this.#serial) this.#accepted = this.#found
    try {
      if (!this.isThere) await this.#meet()
      else if (this.#wanted.length) await this.#identify()
    } finally {
      this.#found = this.#serial
    }
    if (this.#identity) this.mustTell(this.#identity)
  }

  /**
   * Checks that the instrument is the one of the configuration, or, if that names none, the previous one. Throws
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

  /** Throws `invalid` if the configuration names a member that the instrument does not report. */
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
      if (this.isThere) await this.#owner.look()
      else await this.#meet()
      this.#unreachable = ''
    } catch (error) {
      if (this.#owner.isRunning() || this.#ended) return
      if (link.state === 'open') await this.#owner.unwell(error)
      else this.#tellUnreachable(messageOf(error))
    }
  }

  /** Whether its link is open, and the instrument on it was identified as the configured one. */
  get isThere(): boolean {
    return this.#isMet && !this.#ended && this.#known.link.state === 'open'
  }

  get #serial(): string | null {
    return this.#identity?.serial_number ?? null
  }

  get #wanted(): [keyof Identity, string][] {
    const entries = Object.entries(this.#known.wanted) as [keyof Identity, string | null | undefined][]
    return entries.filter((entry): entry is [keyof Identity, string] => typeof entry[1] === 'string')
  }

  /** Runs once at a time, so that the owner's work with the connection does not overlap with later work. */
  #meet(): Promise<void> {
    this.#meeting ??= this.#introduce().finally(() => {
      this.#meeting = undefined
    })
    return this.#meeting
  }

  /** Opens the link unless it is open, identifies the instrument, and calls `connected`. */
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
    // A program is halted before it is asked anything, because its device may have continued when the previous program ended.
    const steps = [() => this.#identify(), () => this.#owner.connected()]
    for (const step of this.#known.device.described?.isProgram ? steps.reverse() : steps) await step()
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
