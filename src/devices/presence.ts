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
  /** What it must say it is; a member left out may be anything. */
  wanted: Partial<Identity>
}

type Owner = {
  /** Whether something runs on it, which sees for itself how it is. */
  isRunning(): boolean
  /** It is there again, after it was not; nothing has been asked but who it is. */
  connected(): Promise<void>
  /** It does not answer as it should. */
  unwell(error: unknown): Promise<unknown>
}

export class Presence {
  readonly #known: Known
  readonly #owner: Owner
  readonly #clock: Clock
  readonly #log: Log
  #identity: Identity | null = null
  /** Why it cannot be reached, as it was last told. */
  #unreachable = ''
  #ended = false
  #cancelLook = () => {}

  constructor(known: Known, owner: Owner, { clock, log }: { clock: Clock; log: Log }) {
    this.#known = known
    this.#owner = owner
    this.#clock = clock
    this.#log = log
  }

  /** What it last said it is. */
  get identity(): Identity | null {
    return this.#identity
  }

  /** Looks now, and again every two seconds until it is ended. Sends queries only. */
  async watch(): Promise<void> {
    await this.#look()
    if (!this.#ended) this.#cancelLook = this.#clock.after(watch_ms, () => void this.watch())
  }

  end(): void {
    this.#ended = true
    this.#cancelLook()
  }

  /** Opens the link and asks who is there. */
  async connect(): Promise<void> {
    const { device_id, device, link } = this.#known
    await link.open()
    this.#log.info(`${device_id}: connected`)
    const identity = await device.identify()
    if (identity) this.recognise(identity)
  }

  /** The instrument must be the one that the configuration names. Throws `device_failed`. */
  recognise(identity: Identity): void {
    this.#identity = identity
    const wanted = Object.entries(this.#known.wanted) as [keyof Identity, string | null | undefined][]
    for (const [member, value] of wanted) {
      if (value === undefined || value === identity[member]) continue
      const sentence = `another instrument is plugged in: its ${member} is ${identity[member]}, not ${value}; see the cables, or the configuration`
      throw new LabError('device_failed', sentence)
    }
  }

  /** Throws `disconnected` unless its link is open. */
  mustBeConnected(): void {
    const { device_id, link } = this.#known
    if (link.state === 'open') return
    throw new LabError('disconnected', `${device_id} is not connected; see its cable and power, it is looked for every two seconds`)
  }

  async #look(): Promise<void> {
    const { device, link } = this.#known
    if (this.#owner.isRunning()) return
    try {
      if (link.state === 'open') await device.check()
      else await this.#reconnect()
      this.#unreachable = ''
    } catch (error) {
      if (this.#owner.isRunning() || this.#ended) return
      if (link.state === 'open') await this.#owner.unwell(error)
      else this.#tellUnreachable(messageOf(error))
    }
  }

  async #reconnect(): Promise<void> {
    await this.connect()
    await this.#owner.connected()
  }

  /** Once for each reason: it is tried again every two seconds. */
  #tellUnreachable(reason: string): void {
    if (reason !== this.#unreachable) this.#log.warn(`${this.#known.device_id} cannot be reached: ${reason}`)
    this.#unreachable = reason
  }
}
