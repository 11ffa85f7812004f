// The custom events of one execution: each name a counter with its latest value, and those who wait for it.

import { LabError } from '../../errors.ts'

export type Published = { value: string | null; data: Record<string, unknown> }

type Latest = Published & { name: string; count: number }
type Channel = Published & { count: number; size: number; waiters: Set<() => void> }

/** Of a run that names each event anew nobody could wait for one. */
const mostNames = 1000
/** Of the latest values of all names together, in characters of JSON. */
const mostKept = 1_048_576

export class Channels {
  readonly #channels = new Map<string, Channel>()
  /** Names whose entry in the journal is out of date. */
  readonly dirty = new Set<string>()
  /** Of all of them. */
  #size = 0

  /** Keeps the latest, and releases those who wait. Throws `conflict` for one name too many, and for values that are too long together. */
  publish(name: string, { value, data }: Published): void {
    const channel = this.#channel(name)
    this.#makeRoom(name, channel, sizeOf({ value, data }))
    channel.count++
    channel.value = value
    channel.data = data
    this.dirty.add(name)
    const waiters = [...channel.waiters]
    channel.waiters.clear()
    for (const wake of waiters) wake()
  }

  /** How often it was published. */
  count(name: string): number {
    return this.#channels.get(name)?.count ?? 0
  }

  /**
   * Calls `released` with the latest once it was published more often than `seen`; at once if it was. Several in between
   * count as one. The answer calls it off.
   */
  wait(name: string, seen: number, released: (latest: Published & { count: number }) => void): () => void {
    const channel = this.#channel(name)
    const tell = () => released({ value: channel.value, data: channel.data, count: channel.count })
    if (channel.count > seen) {
      tell()
      return () => {}
    }
    channel.waiters.add(tell)
    return () => channel.waiters.delete(tell)
  }

  list(): Latest[] {
    return [...this.#channels].filter(([, { count }]) => count > 0).map(([name, channel]) => latestOf(name, channel))
  }

  /** The dirty ones, in the form of `list`. */
  changed(): Latest[] {
    return [...this.dirty].map((name) => latestOf(name, this.#channels.get(name)!))
  }

  restore({ name, ...latest }: { name: string; count: number } & Published): void {
    const size = sizeOf(latest)
    Object.assign(this.#channel(name), latest, { size })
    this.#size += size
  }

  #makeRoom(name: string, channel: Channel, size: number): void {
    const all = this.#size - channel.size + size
    if (all > mostKept)
      throw new LabError(
        'conflict',
        `the latest values of the custom events of this run would be ${all} characters with ${name}, and may be ${mostKept}`,
      )
    channel.size = size
    this.#size = all
  }

  #channel(name: string): Channel {
    let channel = this.#channels.get(name)
    if (!channel) {
      if (this.#channels.size >= mostNames)
        throw new LabError(
          'conflict',
          `there are ${mostNames} custom events in this run already, and ${name} is none of them; take a name again`,
        )
      channel = { count: 0, size: 0, value: null, data: {}, waiters: new Set() }
      this.#channels.set(name, channel)
    }
    return channel
  }
}

function latestOf(name: string, { count, value, data }: Channel): Latest {
  return { name, count, value, data }
}

function sizeOf({ value, data }: Published): number {
  return (value?.length ?? 0) + JSON.stringify(data).length
}
