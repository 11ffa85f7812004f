// Keeps a connection to the broker of the lab for as long as the service runs. No event, stop or run ever waits for the broker;
// failures are reported in one sentence and tried again.

import type { FleetConfig } from '../config/fleet.ts'
import { messageOf } from '../errors.ts'
import type { Hub } from '../events/hub.ts'
import { type Clock, sleep, systemClock } from '../kit/clock.ts'
import type { Report } from '../kit/json_file.ts'
import type { Log } from '../kit/log.ts'
import { Identity } from './identity.ts'
import { Outbox } from './outbox.ts'
import { type About, type BenchPresence, mostPositions, Presence } from './presence.ts'
import { connectTo, type Link } from './wire.ts'

export type FleetStatus = {
  lab: string
  name: string
  servers: string[]
  /** `connected`: the position in the broker's stream is known. `foreign`: connected, but another computer uses this bench's name, so nothing is sent. */
  state: 'connected' | 'away' | 'foreign'
  /** A sentence about the failure; null without one. */
  failure: string | null
  epoch: string
  machine: string
  /** Events that wait to be sent; null while the position in the broker's stream is unknown. */
  waiting: number | null
  lag_s: number
  /** Events that were sent since the service began. */
  sent: number
  lost: number
}

export type FleetOptions = {
  config: FleetConfig
  /** The data folder. */
  folder: string
  hub: Hub
  log: Log
  report: Report
  /** Describes this bench for the others. */
  about(): About
  clock?: Clock
  /** The name of the computer, where a test has several. */
  machine?: string
}

const firstAgain_ms = 500
const longestAgain_ms = 30_000
/** The log reports an absent broker once in this time. */
const tellAgain_ms = 3_600_000

export class Fleet {
  readonly #options: FleetOptions & { clock: Clock }
  readonly #identity: Identity
  readonly #outbox: Outbox
  readonly #presence: Presence
  readonly #closing = new AbortController()
  readonly #running: Promise<void>
  #link: Link | undefined
  #failure: string | null = 'the broker was not reached yet'
  #reported = { sentence: '', at_ms: Number.NEGATIVE_INFINITY }
  #tryNow: () => void = () => {}

  static async open({ clock = systemClock, ...options }: FleetOptions): Promise<Fleet> {
    const { folder, report, machine } = options
    return new Fleet({ ...options, clock }, await Identity.open(folder, report, machine))
  }

  private constructor(options: FleetOptions & { clock: Clock }, identity: Identity) {
    const { config, hub, clock } = options
    this.#options = options
    this.#identity = identity
    this.#outbox = new Outbox({ lab: config.lab, bench: config.name, hub, identity, clock })
    const entry = () => {
      const { positions, ...about } = options.about()
      return { ...about, positions: positions.slice(0, mostPositions), epoch: identity.epoch, machine: identity.machine }
    }
    this.#presence = new Presence({ clock, own: { bench: config.name, entry } })
    this.#running = this.#run()
  }

  status(): FleetStatus {
    const { lab, name, servers } = this.#options.config
    const { epoch, machine } = this.#identity
    const { waiting = null, lag_s, sent, lost, foreignSentence } = this.#outbox
    const state = foreignSentence ? 'foreign' : this.#link && this.#failure === null ? 'connected' : 'away'
    return {
      lab,
      name,
      servers,
      state,
      failure: foreignSentence ?? this.#failure ?? this.#presence.failure,
      epoch,
      machine,
      waiting,
      lag_s,
      sent,
      lost,
    }
  }

  /** All benches of the lab, as far as this one has heard of them. */
  benches(): BenchPresence[] {
    return this.#presence.benches()
  }

  /** Draws a new epoch, and continues after the messages that the broker has under this bench's name. Rejects with `storage`. */
  async newEpoch(): Promise<FleetStatus> {
    await this.#identity.renew()
    this.#link?.close()
    this.#tryNow()
    return this.status()
  }

  /** Ends the connection at once; events that were not sent are sent after the next start. */
  async close(): Promise<void> {
    this.#closing.abort()
    this.#outbox.close()
    this.#link?.close()
    this.#tryNow()
    await this.#running
  }

  async #run(): Promise<void> {
    for (let again_ms = firstAgain_ms; !this.#closing.signal.aborted; ) {
      const { sent } = this.#outbox
      this.#fail(await this.#connected())
      if (this.#outbox.sent > sent) again_ms = firstAgain_ms
      await this.#pause(again_ms)
      again_ms = Math.min(2 * again_ms, longestAgain_ms)
    }
  }

  /** Connects and sends. Resolves with a sentence that says why the connection failed or ended. */
  async #connected(): Promise<string> {
    const { config } = this.#options
    const ended = new AbortController()
    try {
      const link = await connectTo(config)
      this.#link = link
      const closed = link.closed.then((sentence) => {
        ended.abort()
        return sentence
      })
      if (this.#closing.signal.aborted) link.close()
      void this.#presence.run(link, ended.signal)
      return await Promise.race([closed, this.#outbox.run(link, ended.signal, () => this.#succeed()).then(() => closed)])
    } catch (error) {
      return messageOf(error)
    } finally {
      ended.abort()
      this.#link?.close()
      this.#link = undefined
    }
  }

  /** Waits with random jitter, so that the benches of a lab do not reconnect at the same moment. */
  async #pause(ms: number): Promise<void> {
    if (this.#closing.signal.aborted) return
    const now = new AbortController()
    this.#tryNow = () => now.abort()
    await sleep(this.#options.clock, ms * (0.5 + Math.random()), now.signal).catch(() => undefined)
  }

  #succeed(): void {
    if (this.#failure === null) return
    const { log, config } = this.#options
    if (this.#reported.sentence) log.info(`fleet: connected to ${config.servers.join(', ')}`)
    this.#reported = { sentence: '', at_ms: Number.NEGATIVE_INFINITY }
    this.#failure = null
  }

  #fail(sentence: string): void {
    if (this.#closing.signal.aborted) return
    const { log, clock } = this.#options
    this.#failure = sentence
    const isKnown = this.#reported.sentence === sentence && clock.now() - this.#reported.at_ms < tellAgain_ms
    if (isKnown) return
    this.#reported = { sentence, at_ms: clock.now() }
    log.warn(`fleet: ${sentence}; events are kept and sent later`)
  }
}
