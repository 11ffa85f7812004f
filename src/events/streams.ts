// The live streams: every subscriber gets every event of its channel once, at its own pace, and delays nobody.

import { LabError, messageOf } from '../errors.ts'
import type { Clock } from '../kit/clock.ts'
import { textOf } from './event_texts.ts'
import type { EventLog } from './log.ts'
import type { Entry } from './log_batches.ts'
import { writeFrame } from './log_reader.ts'
import { Ring } from './ring.ts'

/** The receiver of a stream: a socket, for example. */
export interface Outlet {
  /** False when it wants no more until it has drained. What is written is not changed afterwards. */
  write(bytes: Buffer | string): boolean
  /** Registers `call`, which the outlet calls each time it has drained. Called once. */
  onDrain(call: () => void): void
  /** Nothing more comes. `cut`: without waiting for what it has not taken. */
  end(how: 'ended' | 'cut'): void
}

type Subscribing = {
  outlet: Outlet
  /** Goes on behind that sequence number; without it with what comes now. */
  after_seq?: number | undefined
  execution_id?: string | undefined
  /** A `: ping` so often, so that nothing on the way takes the line for dead. */
  heartbeat_s?: number | undefined
}

interface Subscription {
  /** Events it has lost because it was too slow. */
  readonly dropped: number
  /** Takes the subscriber out; its outlet is closed already. */
  close(): void
  /** Takes the subscriber out and ends its outlet. */
  end(): void
}

type StreamsOptions = {
  log: EventLog
  clock: Clock
  /** Events that wait for a subscriber at most; then the oldest is dropped. */
  queue: number
  subscribers: number
  /** Receives what went wrong inside, in words. */
  warn(message: string): void
}

export const usualHeartbeat_s = 15
const stalled_ms = 60_000
const tick_ms = 1000
/**
 * The number of readers that are written to before others may have the event loop: a stop waits for so many, however many there are. It waits for all
 * of them where half a queue of events has come since the first of them was written to.
 */
const mostAtOnce = 128

export class Streams {
  #options: StreamsOptions
  /** Keyed by execution; undefined is everything. There is none without a subscriber. */
  readonly #channels = new Map<string | undefined, Channel>()
  /** The readers whose turn in this round has not come yet: a round writes to each what it has not had. */
  #unserved: Iterator<Reader, undefined> | undefined
  /** The events that came before this round and since the one before it began, and those that came since this one began. */
  #came = { before: 0, since: 0 }
  #cancelTick: (() => void) | undefined
  #dropped = 0
  #others = 0
  #closed = false

  constructor(options: StreamsOptions) {
    this.#options = options
    options.log.onShown((entries) => this.#publish(entries))
    options.log.onNotStored = () => this.#tellAll(': not stored\n\n')
  }

  get subscribers(): number {
    return this.#all().length + this.#others
  }

  /** Counts a stream of another kind among the subscribers until the answer is called. Throws as `mustHaveRoom`. */
  enter(): () => void {
    this.mustHaveRoom()
    this.#others++
    let isIn = true
    return () => {
      if (isIn) this.#others--
      isIn = false
    }
  }

  /** Events that subscribers have lost, all together. */
  get dropped(): number {
    return this.#dropped
  }

  /** Sets the bound of subscribers; streams that are open stay. */
  allow(subscribers: number): void {
    this.#options = { ...this.#options, subscribers }
  }

  /** Throws `overloaded` when there are as many subscribers as may be, and `stopping` after `close`. */
  mustHaveRoom(): void {
    const { subscribers } = this.#options
    if (this.#closed) throw new LabError('stopping', 'the service is stopping; ask again when it is back', { retry_after_s: 5 })
    if (this.subscribers < subscribers) return
    throw new LabError('overloaded', `${subscribers} streams are open already; close one, or ask GET /events`, { retry_after_s: 10 })
  }

  /** Throws as `mustHaveRoom`. */
  subscribe({ outlet, after_seq, execution_id, heartbeat_s = usualHeartbeat_s }: Subscribing): Subscription {
    const { log, clock } = this.#options
    this.mustHaveRoom()
    const channel = this.#channelOf(execution_id)
    const reader = new Reader(outlet, channel, { clock, heartbeat_ms: heartbeat_s * 1000 })
    channel.readers.add(reader)
    outlet.onDrain(() => this.#onDrain(reader))
    reader.note(opening(after_seq === undefined ? log.shown.seq : undefined))
    if (log.failing) reader.note(': not stored\n\n')
    if (after_seq !== undefined && log.isGapBehind(after_seq)) reader.note(': gap\n\n')
    if (after_seq !== undefined && after_seq < log.shown.seq) void this.#replay(reader, after_seq, execution_id)
    this.#pump(reader)
    this.#cancelTick ??= clock.after(tick_ms, () => this.#tick())
    return {
      get dropped() {
        return reader.dropped
      },
      close: () => void this.#remove(reader),
      end: () => this.#end(reader, 'ended'),
    }
  }

  /** Ends them all at once. */
  close(): void {
    this.#closed = true
    this.#serve(Number.POSITIVE_INFINITY)
    for (const reader of this.#all()) this.#end(reader, 'ended')
  }

  #all(): Reader[] {
    return [...this.#channels.values()].flatMap(({ readers }) => [...readers])
  }

  #channelOf(execution_id: string | undefined): Channel {
    const known = this.#channels.get(execution_id)
    if (known) return known
    const channel = {
      execution_id,
      ring: new Ring(this.#options.queue, this.#options.log.shown.seq, writeFrame),
      readers: new Set<Reader>(),
    }
    this.#channels.set(execution_id, channel)
    return channel
  }

  #publish(entries: readonly Entry[]): void {
    const isServing = this.#unserved !== undefined
    // Readers whose turn has not come yet would lose what the new events push out. Half of the queue is for those who take what they are given in parts.
    if (this.#came.before + this.#came.since + entries.length > this.#options.queue / 2) this.#serve(Number.POSITIVE_INFINITY)
    if (this.#channels.size === 0) return
    const common = this.#channels.get(undefined)
    for (const entry of entries) {
      const own = this.#channels.get(entry.event.execution_id)
      if (!common && !own) continue
      const text = textOf(entry)
      common?.ring.push(text, entry.seq)
      own?.ring.push(text, entry.seq)
    }
    this.#came.since += entries.length
    if (!this.#unserved) this.#beginRound()
    if (!isServing) this.#serveSome()
  }

  /** Begins another round, if anything came since the one before began. */
  #beginRound(): void {
    this.#unserved = this.#came.since > 0 ? this.#eachReader() : undefined
    this.#came = { before: this.#came.since, since: 0 }
  }

  *#eachReader(): Generator<Reader, undefined> {
    for (const channel of this.#channels.values()) {
      yield* channel.readers
      release(channel)
    }
  }

  #serveSome(): void {
    if (!this.#serve(mostAtOnce)) setImmediate(() => this.#serveSome())
  }

  /** Writes to so many readers, in turn. Returns whether each has had everything. */
  #serve(most: number): boolean {
    for (let served = 0; this.#unserved && served < most; served++) {
      const { value: reader } = this.#unserved.next()
      if (reader) this.#pump(reader)
      else this.#beginRound()
    }
    return !this.#unserved
  }

  /** Writes what waits for the reader, as long as it takes more. */
  #pump(reader: Reader): void {
    try {
      this.#dropped += reader.pump()
    } catch (error) {
      this.#options.warn(`a stream was closed: ${messageOf(error)}`)
      this.#end(reader, 'cut')
    }
  }

  #onDrain(reader: Reader): void {
    reader.drained()
    this.#pump(reader)
    release(reader.channel)
  }

  /** From the log, at the reader's pace, until the ring has all that follows. */
  async #replay(reader: Reader, after_seq: number, execution_id: string | undefined): Promise<void> {
    let through = after_seq
    reader.replaying = true
    try {
      for (let place = reader.channel.ring.placeAfter(through); !reader.ended; place = reader.channel.ring.placeAfter(through)) {
        if (place !== undefined) return this.#goLive(reader, place)
        for await (const piece of this.#options.log.read({ after_seq: through, execution_id }, 'frames')) {
          through = Math.max(through, piece.through)
          if (reader.ended) return
          if (piece.bytes.length) await reader.take(Buffer.from(piece.bytes))
        }
      }
    } catch (error) {
      this.#options.warn(`a stream could not be taken up again from the log: ${messageOf(error)}`)
      this.#end(reader, 'cut')
    }
  }

  #goLive(reader: Reader, place: number): void {
    reader.place = place
    reader.replaying = false
    this.#pump(reader)
    release(reader.channel)
  }

  #tellAll(comment: string): void {
    for (const reader of this.#all()) {
      reader.note(comment)
      this.#pump(reader)
    }
  }

  /** Heartbeats, and the end of those that take nothing. */
  #tick(): void {
    for (const reader of this.#all()) {
      if (reader.isStalled) this.#end(reader, 'cut')
      else if (reader.takesPing()) this.#ping(reader)
    }
    this.#cancelTick = this.#channels.size ? this.#options.clock.after(tick_ms, () => this.#tick()) : undefined
  }

  #ping(reader: Reader): void {
    reader.note(': ping\n\n')
    this.#pump(reader)
  }

  #end(reader: Reader, how: 'ended' | 'cut'): void {
    if (!this.#remove(reader)) return
    reader.outlet.end(how)
  }

  #remove(reader: Reader): boolean {
    if (!reader.channel.readers.delete(reader)) return false
    reader.leave()
    if (reader.channel.readers.size === 0) this.#channels.delete(reader.channel.execution_id)
    if (this.#channels.size === 0) {
      this.#cancelTick?.()
      this.#cancelTick = undefined
    }
    return true
  }
}

type Channel = { execution_id: string | undefined; ring: Ring; readers: Set<Reader> }

/**
 * Returns the beginning of a stream. A new stream gets the id it begins behind, so that a client whose stream breaks off before the first
 * event misses none.
 */
function opening(behind: number | undefined): string {
  return `retry: 2000\n${behind === undefined ? '' : `id: ${behind}\n`}\n`
}

/** Frames that all have stay only for those who are on their way from the log. */
function release({ ring, readers }: Channel): void {
  let place = ring.head
  for (const reader of readers) {
    if (reader.replaying) return
    place = Math.min(place, reader.place)
  }
  ring.release(place)
}

class Reader {
  readonly outlet: Outlet
  readonly channel: Channel
  readonly #clock: Clock
  readonly #heartbeat_ms: number
  /** The place in the channel's ring. */
  place: number
  replaying = false
  ended = false
  dropped = 0
  #notes = ''
  #blockedSince: number | undefined
  #pingedAt: number
  #onDrained: (() => void) | undefined

  constructor(outlet: Outlet, channel: Channel, { clock, heartbeat_ms }: { clock: Clock; heartbeat_ms: number }) {
    this.outlet = outlet
    this.channel = channel
    this.#clock = clock
    this.#heartbeat_ms = heartbeat_ms
    this.#pingedAt = clock.now()
    this.place = channel.ring.head
  }

  get isStalled(): boolean {
    return this.#blockedSince !== undefined && this.#clock.now() - this.#blockedSince >= stalled_ms
  }

  /** Whether a ping is due; the next one is due a heartbeat later. */
  takesPing(): boolean {
    if (this.#blockedSince !== undefined || this.#clock.now() - this.#pingedAt < this.#heartbeat_ms) return false
    this.#pingedAt = this.#clock.now()
    return true
  }

  /** A comment, to be written before the next frame. Said once while it waits. */
  note(text: string): void {
    if (!this.#notes.includes(text)) this.#notes += text
  }

  /** Writes notes and frames until there are none, or no more is wanted. Returns how many events were lost. */
  pump(): number {
    let lost = 0
    while (this.#blockedSince === undefined && !this.ended) {
      if (!this.replaying) lost += this.#countLost()
      if (this.#notes) this.#writeNotes()
      else if (!this.replaying && this.place < this.channel.ring.head) this.#writeFrames()
      else break
    }
    return lost
  }

  /** Writes what comes from the log; resolves when more is wanted. */
  async take(bytes: Buffer): Promise<void> {
    this.#write(bytes)
    while (this.#blockedSince !== undefined && !this.ended) await new Promise<void>((resolve) => (this.#onDrained = resolve))
  }

  drained(): void {
    this.#blockedSince = undefined
    this.#onDrained?.()
  }

  leave(): void {
    this.ended = true
    this.#onDrained?.()
  }

  #countLost(): number {
    const oldest = this.channel.ring.oldest(this.place)
    const lost = oldest - this.place
    if (lost === 0) return 0
    this.place = oldest
    this.dropped += lost
    this.#notes += `: dropped ${lost}\n\n`
    return lost
  }

  #writeNotes(): void {
    const notes = this.#notes
    this.#notes = ''
    this.#write(notes)
  }

  #writeFrames(): void {
    const { bytes, next } = this.channel.ring.join(this.place)
    this.place = next
    this.#write(bytes)
  }

  #write(bytes: Buffer | string): void {
    if (!this.outlet.write(bytes)) this.#blockedSince = this.#clock.now()
  }
}
