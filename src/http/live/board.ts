// The present state of the bench as values by key, and who is shown them: each connection gets the newest value of what changed, at its own pace.

import type { RuntimeEvent } from '../../events/event.ts'
import type { Hub } from '../../events/hub.ts'
import type { Outlet } from '../../events/streams.ts'
import type { Scope } from '../../keys/keys.ts'
import type { Clock } from '../../kit/clock.ts'
import type { Log } from '../../kit/log.ts'

/** The source of the values of one kind. */
export type Source = {
  kind: string
  /** The scope that a key needs to be shown them. */
  scope: Scope
  /** Every value of this kind at this moment, by id. */
  all(): Iterable<readonly [id: string, value: object]>
  /** How often all of them are looked at: at each look, after an event and every two seconds, or once, when `one` tells of every change. */
  looks: 'always' | 'after events' | 'once'
  /** The id of the one value that an event may have changed, and that value; without them an event may have changed any. */
  touched?(event: RuntimeEvent): string | undefined
  one?(id: string): object | undefined
}

/** A value as it is sent: `still` is its text without what moves by itself, and tells whether it has changed. */
type Shown = { frame: Buffer; still: string }

/** A kind that somebody is shown, with its values. */
type Collection = { source: Source; values: Map<string, Shown>; touched: Set<string>; readers: number; lookedAt: number }

type BoardOptions = { hub: Pick<Hub, 'registerSink' | 'unregisterSink'>; clock: Clock; warn(message: string): void }

/** The interval between looks: a connection gets a value at most five times a second. */
const look_ms = 200
const lookAtAll_ms = 2000
const beat_ms = 1000
const stalled_ms = 60_000
/** The approximate size of one write. */
const piece_bytes = 64 * 1024
/** Members that a reader counts on by itself, or that are computed anew each time: alone they are no change. */
const moving = new Set(['seconds_left', 'uptime_s', 'since', 'progress'])

/** The board of each bench, by its hub, so that each value is compared and serialized once for all connections. */
const boards = new WeakMap<object, LiveBoard>()

/** Has the live stream look at everything soon: not every change that a request makes fires an event. */
export function mayHaveChanged({ hub }: { hub: object }): void {
  boards.get(hub)?.heard()
}

/** Returns the board of a bench, and makes it at the first call. */
export function boardOf({ hub, clock, log }: { hub: Hub; clock: Clock; log: Pick<Log, 'warn'> }): LiveBoard {
  const known = boards.get(hub)
  if (known) return known
  const board = new LiveBoard({ hub, clock, warn: (message) => log.warn(message) })
  hub.closing.addEventListener('abort', () => board.close())
  boards.set(hub, board)
  return board
}

export class LiveBoard {
  readonly #options: BoardOptions
  readonly #collections = new Map<string, Collection>()
  readonly #readers = new Set<Reader>()
  #cancelLook: (() => void) | undefined
  #beatAt = 0
  #heard = false

  constructor(options: BoardOptions) {
    this.#options = options
  }

  /**
   * Shows the outlet the values of these sources from now on; `name` is the same for the same source. Returns the functions that take it out
   * again: `close` where the outlet is closed already.
   */
  show(outlet: Outlet, sources: readonly (readonly [name: string, Source])[]): { close(): void; end(): void } {
    if (this.#readers.size === 0) this.#options.hub.registerSink(this)
    const collections = sources.map(([name, source]) => this.#collectionOf(name, source))
    const reader = new Reader(outlet, collections, this.#options.clock)
    // The others get the changes first: together with them, the new one would get the values in the order in which they changed.
    for (const collection of collections) this.#lookAtAll(collection)
    this.#readers.add(reader)
    for (const collection of collections) for (const [id, { frame }] of refreshed(collection)) reader.changed(keyOf(collection, id), frame)
    outlet.onDrain(() => reader.drained())
    reader.pump()
    this.#cancelLook ??= this.#options.clock.after(look_ms, () => this.#tick())
    return { close: () => this.#remove(reader), end: () => this.#end(reader, 'ended') }
  }

  /** Ends all connections. */
  close(): void {
    for (const reader of [...this.#readers]) this.#end(reader, 'ended')
  }

  /** Looks at all values soon that events change. */
  heard(): void {
    this.#heard = true
  }

  onEvent(event: RuntimeEvent): void {
    this.heard()
    for (const { source, touched } of this.#collections.values()) {
      const id = source.touched?.(event)
      if (id !== undefined) touched.add(id)
    }
  }

  #collectionOf(name: string, source: Source): Collection {
    const known = this.#collections.get(name)
    const collection = known ?? { source, values: new Map(), touched: new Set<string>(), readers: 0, lookedAt: Number.NEGATIVE_INFINITY }
    if (!known) this.#collections.set(name, collection)
    collection.readers++
    return collection
  }

  #tick(): void {
    const { clock, warn } = this.#options
    const now = clock.now()
    this.#cancelLook = clock.after(look_ms, () => this.#tick())
    for (const collection of this.#collections.values()) {
      try {
        this.#look(collection, now)
      } catch (error) {
        warn(`the values of kind ${collection.source.kind} cannot be shown: ${error instanceof Error ? error.message : error}`)
      }
    }
    this.#heard = false
    const beats = now - this.#beatAt >= beat_ms
    if (beats) this.#beatAt = now
    for (const reader of this.#readers) {
      if (beats) reader.beat()
      reader.pump()
      if (reader.isStalled(now)) this.#end(reader, 'cut')
    }
  }

  #look(collection: Collection, now: number): void {
    const { source, touched, lookedAt } = collection
    const afterEvent = source.looks === 'after events' && ((this.#heard && !source.one) || now - lookedAt >= lookAtAll_ms)
    if (source.looks === 'always' || afterEvent) this.#lookAtAll(collection)
    else for (const id of touched) this.#put(collection, id, source.one?.(id))
    touched.clear()
  }

  #lookAtAll(collection: Collection): void {
    collection.lookedAt = this.#options.clock.now()
    const gone = new Set(collection.values.keys())
    for (const [id, value] of collection.source.all()) {
      gone.delete(id)
      this.#put(collection, id, value)
    }
    for (const id of gone) this.#put(collection, id, undefined)
  }

  #put(collection: Collection, id: string, value: object | undefined): void {
    const before = collection.values.get(id)
    if (value === undefined && before === undefined) return
    const still = value && JSON.stringify(value, (key, member) => (moving.has(key) ? undefined : member))
    if (before && before.still === still) return
    const frame = frameOf(collection, id, value)
    if (still === undefined) collection.values.delete(id)
    else collection.values.set(id, { frame, still })
    for (const reader of this.#readers) if (reader.shows(collection)) reader.changed(keyOf(collection, id), frame)
  }

  #end(reader: Reader, how: 'ended' | 'cut'): void {
    this.#remove(reader)
    reader.outlet.end(how)
  }

  #remove(reader: Reader): void {
    if (!this.#readers.delete(reader)) return
    for (const [name, collection] of this.#collections)
      if (reader.shows(collection) && --collection.readers === 0) this.#collections.delete(name)
    if (this.#readers.size > 0) return
    this.#options.hub.unregisterSink(this)
    this.#cancelLook?.()
    this.#cancelLook = undefined
  }
}

/** A connection: the newest frame of each key that it has not been shown yet. */
class Reader {
  readonly outlet: Outlet
  readonly #collections: ReadonlySet<Collection>
  readonly #clock: Clock
  /** Sorted in the order in which they changed first. */
  readonly #dirty = new Map<string, Buffer>()
  #isReady = false
  #blockedSince: number | undefined

  constructor(outlet: Outlet, collections: readonly Collection[], clock: Clock) {
    this.outlet = outlet
    this.#collections = new Set(collections)
    this.#clock = clock
    this.#write(Buffer.from('retry: 2000\n\n'))
  }

  shows(collection: Collection): boolean {
    return this.#collections.has(collection)
  }

  changed(key: string, frame: Buffer): void {
    this.#dirty.set(key, frame)
  }

  pump(): void {
    while (this.#dirty.size > 0 && this.#blockedSince === undefined) this.#write(this.#piece())
    if (this.#isReady || this.#dirty.size > 0) return
    this.#isReady = true
    this.#write(Buffer.from('event: ready\ndata: {}\n\n'))
  }

  beat(): void {
    if (this.#blockedSince === undefined) this.#write(Buffer.from(`event: beat\ndata: {"time":${Date.now() / 1000}}\n\n`))
  }

  drained(): void {
    this.#blockedSince = undefined
    this.pump()
  }

  isStalled(now: number): boolean {
    return this.#blockedSince !== undefined && now - this.#blockedSince > stalled_ms
  }

  #piece(): Buffer {
    const frames: Buffer[] = []
    let bytes = 0
    for (const [key, frame] of this.#dirty) {
      if (bytes > 0 && bytes + frame.length > piece_bytes) break
      frames.push(frame)
      bytes += frame.length
      this.#dirty.delete(key)
    }
    return frames.length === 1 ? frames[0]! : Buffer.concat(frames)
  }

  #write(bytes: Buffer): void {
    if (!this.outlet.write(bytes)) this.#blockedSince ??= this.#clock.now()
  }
}

/** The values as they are now, with what moves by itself. */
function refreshed(collection: Collection): Iterable<[string, Shown]> {
  if (collection.source.looks === 'once') return collection.values
  for (const [id, value] of collection.source.all()) {
    const shown = collection.values.get(id)
    if (shown) shown.frame = frameOf(collection, id, value)
  }
  return collection.values
}

function keyOf({ source }: Collection, id: string): string {
  return `${source.kind} ${id}`
}

function frameOf({ source: { kind } }: Collection, id: string, value: object | undefined): Buffer {
  return Buffer.from(`event: state\ndata: ${JSON.stringify({ kind, id, value: value ?? null })}\n\n`)
}
