// The custom events of one run. Each name has a counter, the latest value, and the threads that wait for it.

import { LabError } from '../../errors.ts'
import { freezeMember } from '../../events/event.ts'
import { Entry, type RunState } from '../state/entry.ts'
import type { ChannelState } from '../state/run.ts'

export type Published = { value: string | null; data: Record<string, unknown> }

/** `published` is undefined if threads wait for the event and nobody has published it yet. */
type Channel = { published: Entry<'channel'> | undefined; size: number; waiters: Set<() => void> }

/** The most names of one run. It stops code that invents a new name for each event. */
const mostNames = 1000
/** The limit for the latest values of all names together, in characters of JSON. */
const mostKept = 1_048_576

export class Channels {
  readonly #state: RunState
  readonly #channels = new Map<string, Channel>()
  /** The size of the latest values of all names together, in characters of JSON. */
  #size = 0

  constructor(state: RunState) {
    this.#state = state
  }

  /** Stores the latest value and releases the waits. Throws `invalid` for data that is not JSON, `conflict` above the limits, and then changes nothing. */
  publish(name: string, { value, data }: Published): void {
    freezeMember(data, name)
    const channel = this.#channel(name)
    this.#makeRoom(name, channel, sizeOf({ value, data }))
    channel.published ??= new Entry(this.#state, 'channel', { name, count: 0, value: null, data: {} }, name)
    channel.published.set({ count: channel.published.state.count + 1, value, data })
    const waiters = [...channel.waiters]
    channel.waiters.clear()
    for (const wake of waiters) wake()
  }

  /** How often a custom event was published. */
  count(name: string): number {
    return this.#channels.get(name)?.published?.state.count ?? 0
  }

  /**
   * Calls `released` with the latest value when the event has been published more than `seen` times, which may be at once. Several events in
   * between count as one. The returned function cancels the wait.
   */
  wait(name: string, seen: number, released: (latest: Published & { count: number }) => void): () => void {
    const channel = this.#channel(name)
    const tell = () => released({ ...channel.published!.state })
    if (this.count(name) > seen) {
      tell()
      return () => {}
    }
    channel.waiters.add(tell)
    return () => channel.waiters.delete(tell)
  }

  restore(saved: ChannelState): void {
    freezeMember(saved.data, saved.name)
    const channel = this.#channel(saved.name)
    channel.published = new Entry(this.#state, 'channel', saved, saved.name)
    channel.size = sizeOf(saved)
    this.#size += channel.size
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
      channel = { published: undefined, size: 0, waiters: new Set() }
      this.#channels.set(name, channel)
    }
    return channel
  }
}

function sizeOf({ value, data }: Published): number {
  return (value?.length ?? 0) + JSON.stringify(data).length
}
