// The live streams: every subscriber gets every event of its channel once, at its own pace, and delays nobody.

import { LabError, messageOf } from '../errors.ts'
import type { Clock } from '../kit/clock.ts'
import { textOf } from './event_texts.ts'
import type { EventLog } from './log.ts'
import type { Entry } from './log_batches.ts'
import { writeFrame } from './log_reader.ts'
import { Ring } from './ring.ts'

/** The receiver of a stream, such as a socket. */
export interface Outlet {
  /** Returns false if no more should be written until it has drained. Written bytes do not change afterwards. */
  write(bytes: Buffer | string): boolean
  /** Registers the function that the outlet calls each time it has drained. Called once. */
  onDrain(call: () => void): void
  /** Ends the stream. `cut`: without waiting for unsent bytes. */
  end(how: 'ended' | 'cut'): void
}

type Subscribing = {
  outlet: Outlet
  /** Continues after that sequence number; without it, with the next event. */
  after_seq?: number | undefined
  execution_id?: string | undefined
  /** The interval of `: ping`, which keeps proxies from closing the connection. */
  heartbeat_s?: number | undefined
}

interface Subscription {
  /** The number of events it has lost because it was too slow. */
  readonly dropped: number
  /** Removes the subscriber, whose outlet is closed already. */
  close(): void
  /** Removes the subscriber and ends its outlet. */
  end(): void
}

type StreamsOptions = {
  log: EventLog
  clock: Clock
  /** The most events that wait for a subscriber; then the oldest is dropped. */
  queue: number
  subscribers: number
  /** Logs an internal error. */
  warn(message: string): void
}

export const usualHeartbeat_s = 15
const stalled_ms = 60_000
const tick_ms = 1000
/**
 * The number of readers that are written to in one turn of the event loop. A stop waits for that many, however many readers there are; it waits for all
 * of them if half a queue of events has come since the first of them was written to.
 */
const mostAtOnce = 128

export class Streams {
  #options: StreamsOptions
  /** Keyed by execution; undefined is the channel of all events. A channel exists while it has a subscriber. */
  readonly #channels = new Map<string | undefined, Channel>()
  /** The readers that this round has not served yet. A round writes the missing events to each reader. */
  #unserved: Iterator<Reader, undefined> | undefined
  /** The number of events between the beginnings of the last round and this one, and since this one began. */
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

  /** Counts a stream of another kind among the subscribers until the returned function is called. Throws as `mustHaveRoom`. */
  enter(): () => void {
    this.mustHaveRoom()
    this.#others++
    let isIn = true
    return () => {
      if (isIn) this.#others--
      isIn = false
    }
  }

  /** The number of events that all subscribers have lost together. */
  get dropped(): number {
    return this.#dropped
  }

  /** Sets the limit of subscribers; open streams stay. */
  allow(subscribers: number): void {
    this.#options = { ...this.#options, subscribers }
  }

  /** Throws `overloaded` at the limit of subscribers, and `stopping` after `close`. */
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
    // Readers that were not served yet would lose the events that new ones displace. Half of the queue is left for readers that drain slowly.
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

  /** Begins another round if events came since the last one began. */
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

  /** Writes to the next `most` readers. Returns whether all readers are served. */
  #serve(most: number): boolean {
    for (let served = 0; this.#unserved && served < most; served++) {
      const { value: reader } = this.#unserved.next()
      if (reader) this.#pump(reader)
      else this.#beginRound()
    }
    return !this.#unserved
  }

  /** Writes the waiting frames of a reader until its outlet is full. */
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

  /** Replays events from the log at the reader's pace, until the ring has all later ones. */
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

  /** Sends heartbeats, and ends streams whose outlets take nothing. */
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
 * Returns the beginning of a stream. A new stream gets the id that it begins after, so that a client whose stream breaks off before the first
 * event misses none.
 */
function opening(behind: number | undefined): string {
  return `retry: 2000\n${behind === undefined ? '' : `id: ${behind}\n`}\n`
}

/** Drops the frames that all readers have had, except for readers that still replay the log. */
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

  /** Adds a comment before the next frame, once while it waits. */
  note(text: string): void {
    if (!this.#notes.includes(text)) this.#notes += text
  }

  /** Writes notes and frames until none is left or the outlet is full. Returns the number of lost events. */
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

  /** Writes bytes from the log. Resolves when the outlet takes more. */
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
