// The presence of the benches of a lab: each writes its entry at the broker every ten seconds, and all others receive it. The time since a
// bench was heard is counted from the arrival on the receiver's monotonic clock; clocks of other computers are not compared.

import * as v from 'valibot'
import { messageOf } from '../errors.ts'
import { type Clock, sleep } from '../kit/clock.ts'
import type { Link } from './wire.ts'

/** The key-value bucket of the benches, and the stream that holds it. */
export const benchBucket = 'bd_bench'
const bucketStream = `KV_${benchBucket}`

/** The most positions in the entry of a bench, so that it stays short. */
export const mostPositions = 32

const Text = v.pipe(v.string(), v.maxLength(256))
const Count = v.pipe(v.number(), v.integer(), v.minValue(0))

/** The entry of a bench. Others may be of another version, so members that are not known are left out. */
const Entry = v.object({
  url: v.pipe(Text, v.regex(/^https?:\/\/[^\s"'<>]+$/)),
  fingerprint: v.nullable(Text),
  version: Text,
  epoch: Text,
  machine: Text,
  health: Text,
  /** How many devices are in each state. */
  devices: v.record(v.pipe(v.string(), v.maxLength(32)), Count),
  /** Incidents that nobody has acknowledged. */
  incidents: Count,
  /**
   * The positions to which carriers bring labware and from which they take it, of all topologies of the bench. Older versions do not send
   * them.
   */
  positions: v.optional(v.pipe(v.array(Text), v.maxLength(mostPositions)), []),
})
type Entry = v.InferOutput<typeof Entry>

/** The part of an entry that other rooms of the service provide. */
export type About = Omit<Entry, 'epoch' | 'machine'>

/**
 * A bench as seen by this one. `silent`: not heard for 35 s or more. `unknown`: this bench has not listened for long enough to tell.
 * `heard_s` is null if no entry has arrived since this bench began to listen.
 */
export type BenchPresence = Entry & { name: string; state: 'here' | 'silent' | 'unknown'; heard_s: number | null }

const beat_ms = 10_000
/** The time after which a bench is `silent`: three entries were missed. */
const silent_ms = 35_000
/** The most benches that are shown. */
const mostBenches = 1000
const longestEntry = 24_576
const benchName = /^[\w-]{1,64}$/

/** Entries that are parsed in each slice of time, since a client of the broker may send them as fast as the network allows. */
const readAtOnce = 10
const read_ms = 100
/** Entries that wait to be parsed, one for each name. If there are more, a new name is skipped until its next entry. */
const mostUnread = 200

type PresenceOptions = {
  clock: Clock
  /** The entry to announce, and its name; without it the others are only listened to. */
  own?: { bench: string; entry(): Entry } | undefined
}

export class Presence {
  readonly #options: PresenceOptions
  readonly #known = new Map<string, { entry: Entry; heard_ms: number | undefined }>()
  /** The newest entry of each name that was not parsed yet. */
  readonly #unread = new Map<string, { payload: Uint8Array; heard_ms: number }>()
  #cancelReading: (() => void) | undefined
  /** The time since which the broker sends the entries of others; undefined while it is away. */
  #listening_ms: number | undefined
  #failure: string | null = null

  constructor(options: PresenceOptions) {
    this.#options = options
  }

  /** The error of the last announcement of this bench. */
  get failure(): string | null {
    return this.#failure
  }

  /** All benches that were ever announced at the broker, by name. */
  benches(): BenchPresence[] {
    const now_ms = this.#options.clock.now()
    const listened_ms = this.#listening_ms === undefined ? 0 : now_ms - this.#listening_ms
    return [...this.#known]
      .map(([name, { entry, heard_ms }]): BenchPresence => {
        const ago_ms = heard_ms === undefined ? undefined : now_ms - heard_ms
        const isHere = ago_ms !== undefined && ago_ms < silent_ms
        const state = isHere ? 'here' : listened_ms >= silent_ms ? 'silent' : 'unknown'
        return { name, state, heard_s: ago_ms === undefined ? null : ago_ms / 1000, ...entry }
      })
      .sort((one, other) => (one.name < other.name ? -1 : 1))
  }

  /** Announces this bench, if it has a name, and listens to the others until the signal is aborted. Never rejects: failures are tried again. */
  async run(link: Link, ended: AbortSignal): Promise<void> {
    const { own, clock } = this.#options
    link.listen(subjectOf('*'), (subject, payload) => this.#hear(nameOf(subject), payload))
    this.#listening_ms = clock.now()
    let isRead = false
    while (!ended.aborted) {
      try {
        if (!isRead) await this.#readAll(link)
        isRead = true
        if (own) await link.put(subjectOf(own.bench), new TextEncoder().encode(JSON.stringify(own.entry())))
        this.#failure = null
      } catch (error) {
        this.#failure = messageOf(error)
      }
      await sleep(clock, beat_ms, ended).catch(() => undefined)
    }
    this.#listening_ms = undefined
    this.#cancelReading?.()
    this.#cancelReading = undefined
    this.#unread.clear()
  }

  /** Reads the stored entries, whose age is unknown. */
  async #readAll(link: Link): Promise<void> {
    const names = (await link.subjects(bucketStream)).map(nameOf).filter((name) => benchName.test(name))
    for (const name of names.slice(0, mostBenches)) {
      const last = await link.last(bucketStream, subjectOf(name))
      if (last) this.#read(name, last.payload, undefined)
    }
  }

  /** Keeps the newest entry of a bench until it is parsed. Does no work here, since a flood of entries may arrive. */
  #hear(name: string, payload: Uint8Array): void {
    if (payload.length > longestEntry || !benchName.test(name)) return
    if (this.#unread.size >= mostUnread && !this.#unread.has(name)) return
    const { clock } = this.#options
    // A copy, because the payload is a view of a larger buffer and would keep all of it in memory.
    this.#unread.set(name, { payload: payload.slice(), heard_ms: clock.now() })
    this.#cancelReading ??= clock.after(read_ms, () => this.#readSome())
  }

  #readSome(): void {
    const some = [...this.#unread].slice(0, readAtOnce)
    for (const [name, { payload, heard_ms }] of some) {
      this.#unread.delete(name)
      this.#read(name, payload, heard_ms)
    }
    const isMore = this.#unread.size > 0
    this.#cancelReading = isMore ? this.#options.clock.after(read_ms, () => this.#readSome()) : undefined
  }

  #read(name: string, payload: Uint8Array, heard_ms: number | undefined): void {
    const known = this.#known.get(name)
    if (!known && this.#known.size >= mostBenches) return
    const entry = entryOf(payload)
    if (entry) this.#known.set(name, { entry, heard_ms: heard_ms ?? known?.heard_ms })
  }
}

function nameOf(subject: string): string {
  return subject.slice(subjectOf('').length)
}

function subjectOf(bench: string): string {
  return `$KV.${benchBucket}.${bench}`
}

/** Parses an entry; undefined for an invalid one. */
function entryOf(payload: Uint8Array): Entry | undefined {
  if (payload.length > longestEntry) return undefined
  try {
    const { success, output } = v.safeParse(Entry, JSON.parse(new TextDecoder().decode(payload)))
    return success ? output : undefined
  } catch {
    return undefined
  }
}
