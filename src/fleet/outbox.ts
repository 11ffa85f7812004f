// Sends every event of the log to the broker, once and in order. The log is the queue, and the broker's newest message of this bench is
// the position: there is no file with a position that could be wrong. Nothing here ever delays the log.

import type { Hub } from '../events/hub.ts'
import { type Clock, sleep } from '../kit/clock.ts'
import { type Batch, Batches } from './batches.ts'
import { type Foreign, headerNames, standingAt } from './history.ts'
import type { Identity } from './identity.ts'
import type { Link } from './wire.ts'

/** The stream of the broker that holds the events of all benches. */
export const eventStream = 'BD_EVT'

export function eventSubject(lab: string, bench: string): string {
  return `bd.${lab}.evt.${bench}`
}

type OutboxOptions = {
  lab: string
  bench: string
  hub: Hub
  identity: Identity
  clock: Clock
}

/** The place of the next message: after the event `after`, and after the message number `expected` of the stream. */
type Position = { after: number; expected: number }

/** The time for which events are collected into a batch. */
const collect_ms = 20
/** The interval of the check whether another computer still has the name of this bench. */
const foreign_ms = 30_000
/** The pause after the broker has refused a message. */
const refused_ms = 100
/** Room for the headers of a message. */
const headerBytes = 1024

export class Outbox {
  readonly #options: OutboxOptions
  readonly #stop: () => void
  /** The last event that the broker has; undefined until the broker was asked. */
  #after: number | undefined
  #foreign: Foreign | undefined
  #lost = 0
  #sent = 0
  /** The monotonic time since which there is something to send. */
  #waitingSince_ms: number | undefined
  #lostUntold = 0
  /** Whether events were shown since the log was last read. */
  #isDue = false
  #wake: () => void = () => {}

  constructor(options: OutboxOptions) {
    this.#options = options
    this.#stop = options.hub.log.onShown(() => {
      this.#waitingSince_ms ??= options.clock.now()
      this.#isDue = true
      this.#wake()
    })
  }

  /** Events that the broker has not acknowledged; undefined before it was asked. */
  get waiting(): number | undefined {
    const { log } = this.#options.hub
    return this.#after === undefined ? undefined : log.givenBetween(this.#after, log.shown.seq + 1)
  }

  /** The time for which the oldest of them has been waiting. */
  get lag_s(): number {
    return this.#waitingSince_ms === undefined ? 0 : (this.#options.clock.now() - this.#waitingSince_ms) / 1000
  }

  /** Events that were acknowledged since the service began. */
  get sent(): number {
    return this.#sent
  }

  /** Events that were removed or lost here before they could be sent, since the service began. */
  get lost(): number {
    return this.#lost
  }

  close(): void {
    this.#stop()
  }

  /** Sends over this connection until the signal is aborted; rejects with a failure. Calls `onAnswer` when the position at the broker is known. */
  async run(link: Link, ended: AbortSignal, onAnswer: () => void): Promise<void> {
    const { clock, hub } = this.#options
    const batches = new Batches(hub.log, link.max_payload - headerBytes)
    const wake = () => this.#wake()
    ended.addEventListener('abort', wake)
    try {
      while (!ended.aborted) {
        const position = await this.#position(link)
        onAnswer()
        if (position) await this.#sendAfter(position, { link, batches, ended })
        await sleep(clock, position ? refused_ms : foreign_ms, ended).catch(() => undefined)
      }
    } finally {
      ended.removeEventListener('abort', wake)
    }
  }

  /** Asks the broker for its newest message. Resolves with undefined if that is of another history. */
  async #position(link: Link): Promise<Position | undefined> {
    const { lab, bench, identity, hub } = this.#options
    const last = await link.last(eventStream, eventSubject(lab, bench))
    const standing = last ? await standingAt(last, identity, hub.log) : { after: 0 }
    if ('foreign' in standing) {
      this.#refuse(standing.foreign)
      return undefined
    }
    this.#foreign = undefined
    if (last?.header(headerNames.epoch) === identity.epoch) await identity.begun()
    this.#reached(standing.after)
    return { after: standing.after, expected: last?.seq ?? 0 }
  }

  /** Sends from a position on, until the broker has another newest message than expected. */
  async #sendAfter(position: Position, { link, batches, ended }: { link: Link; batches: Batches; ended: AbortSignal }): Promise<void> {
    while (!ended.aborted) {
      this.#isDue = false
      for await (const batch of batches.after(position.after)) {
        const sent = ended.aborted ? undefined : await this.#send(batch, position, link)
        if (!sent) return
        position = sent
      }
      this.#tellLost()
      if (!this.#isDue) {
        this.#waitingSince_ms = undefined
        await new Promise<void>((resolve) => (this.#wake = resolve))
      }
      await sleep(this.#options.clock, collect_ms, ended).catch(() => undefined)
    }
  }

  /** Returns the position after the batch; undefined if the broker refused it, because its newest message is not the expected one. */
  async #send(batch: Batch, { after, expected }: Position, link: Link): Promise<Position | undefined> {
    const { lab, bench, identity, hub } = this.#options
    const { from, to, to_crc, count, payload } = batch
    const lost = after === 0 ? 0 : hub.log.givenBetween(after, to + 1) - count
    const headers = {
      [headerNames.bench]: bench,
      [headerNames.epoch]: identity.epoch,
      [headerNames.machine]: identity.machine,
      [headerNames.from]: String(from),
      [headerNames.to]: String(to),
      [headerNames.to_crc]: to_crc,
      ...(lost > 0 && { [headerNames.lost]: String(lost) }),
    }
    const id = `${bench}:${identity.epoch}:${from}`
    const published = await link.publish({ subject: eventSubject(lab, bench), payload, headers, id, expected })
    if (published === 'refused') return undefined
    if (!identity.isBegun) await identity.begun()
    this.#sent += count
    this.#reached(to)
    this.#lostUntold += lost
    return { after: to, expected: published.seq }
  }

  #reached(seq: number): void {
    this.#after = seq
    this.#options.hub.log.keepCrcOf(seq)
  }

  #tellLost(): void {
    const lost = this.#lostUntold
    if (lost === 0) return
    this.#lostUntold = 0
    this.#lost += lost
    const message = `${lost} events never reached the lab: they were removed here, or lost with the card, before they could be sent`
    this.#options.hub.incident('STORAGE', message, { severity: 'WARNING' })
  }

  #refuse(foreign: Foreign): void {
    const isKnown = this.#foreign?.epoch === foreign.epoch && this.#foreign.machine === foreign.machine
    this.#foreign = foreign
    if (isKnown) return
    const { hub } = this.#options
    hub.incident('OTHER', this.foreignSentence!, { stays: true })
  }

  /** A sentence with both computers if another one uses this bench's name. */
  get foreignSentence(): string | undefined {
    if (!this.#foreign) return undefined
    const { bench, identity } = this.#options
    const { machine, epoch } = this.#foreign
    const theirs = `machine ${machine || 'unknown'} (epoch ${epoch || 'unknown'})`
    return `the lab has events under the name ${bench} that are not in this bench's log: they are of ${theirs}, this is machine ${identity.machine} (epoch ${identity.epoch}). Nothing is sent. If the other one is switched off for good, run benchd lab new-epoch at a shell of this computer; if not, give this bench another name in fleet.name`
  }
}
