// The custom events of one run. Each name has a counter, the latest values, and the threads that wait for it.

import { LabError } from '../../errors.ts'
import { freezeMember } from '../../events/event.ts'
import { inSeconds } from '../../kit/seconds.ts'
import { Entry, type Fixed, type RunState } from '../state/entry.ts'
import type { ChannelState } from '../state/run.ts'
import type { ThreadOrigin, WaitFor } from './carrier.ts'

export type Published = { value: string | null; data: Record<string, unknown> }

/** The group to which an event belongs. Joined submissions may have groups of the same name. null: all groups. */
export type Scope = { submission_id: string; group_id: string } | null

/** The latest publication that a scope can hear. `count` is its number among all publications of the name. */
type Latest = Published & { count: number }

/** The custom events of one name. */
type Channel = {
  /** How often the event was published, in all scopes. */
  count: number
  /** The latest publication in each scope, by key. */
  published: Map<string, Entry<'channel'>>
  /** The latest of them; undefined if threads wait for the event and nobody has published it yet. */
  latest: Entry<'channel'> | undefined
  /** The waits of each scope, by key. */
  waiters: Map<string, Set<() => void>>
}

type ChannelsOptions = {
  /** Whether events have scopes. Without them each event reaches all groups, as in runs that an earlier version began. */
  isOfGroups: boolean
  /** Unix time, s. */
  now(): number
}

/** The most names of one run. It stops code that invents a new name for each event. */
const mostNames = 1000
/** The limit for the latest values of all names and groups together, in characters of JSON. */
const mostKept = 1_048_576
/** The key of `null`: published to all groups, or heard from all groups. */
const all = ''

/** Returns the scope of the events that a thread emits and hears. A thread that serves all groups has no scope of its own. */
export function scopeOf({ submission_id, group_id }: ThreadOrigin, isAcrossGroups = false): Scope {
  return group_id === null || isAcrossGroups ? null : { submission_id, group_id }
}

export class Channels {
  readonly #state: RunState
  readonly #isOfGroups: boolean
  readonly #now: () => number
  readonly #channels = new Map<string, Channel>()
  /** The size of the latest values together, in characters of JSON. */
  #size = 0

  constructor(state: RunState, { isOfGroups, now }: ChannelsOptions) {
    this.#state = state
    this.#isOfGroups = isOfGroups
    this.#now = now
  }

  /** Stores the latest value and releases the waits that hear it. Throws `invalid` for data that is not JSON, `conflict` above the limits, and then changes nothing. */
  publish(name: string, { value, data }: Published, asked: Scope = null): void {
    freezeMember(data, name)
    const scope = this.#isOfGroups ? asked : null
    const key = keyOf(scope)
    const channel = this.#channel(name)
    const before = channel.published.get(key)
    this.#makeRoom(name, sizeOf({ name, value, data }) - (before ? sizeOf(before.state) : 0))
    const entry = before ?? this.#add(channel, { name, count: 0, value: null, data: {}, ...(scope ?? ofAll), at: 0 })
    entry.set({ count: channel.count + 1, value, data, at: this.#now() })
    this.#note(channel, entry)
    this.#release(channel, scope === null ? [...channel.waiters.keys()] : [all, key])
  }

  /** How often a custom event was published, to any group. */
  count(name: string): number {
    return this.#channels.get(name)?.count ?? 0
  }

  /** Returns the latest publication that the scope hears; undefined without one. */
  latest(name: string, scope: Scope): Fixed<ChannelState> | undefined {
    const channel = this.#channels.get(name)
    return channel && latestOf(channel, this.#isOfGroups ? scope : null)?.state
  }

  /**
   * Calls `released` with the latest publication that the scope hears, when that is newer than number `seen`, which may be at once. Several
   * events in between count as one. The returned function cancels the wait.
   */
  wait(name: string, { seen, scope }: { seen: number; scope: Scope }, released: (latest: Latest) => void): () => void {
    const channel = this.#channel(name)
    const hears = this.#isOfGroups ? scope : null
    const latest = latestOf(channel, hears)
    if (latest && latest.state.count > seen) {
      released({ ...latest.state })
      return () => {}
    }
    const tell = () => released({ ...latestOf(channel, hears)!.state })
    const key = keyOf(hears)
    const waiters = channel.waiters.get(key) ?? new Set()
    channel.waiters.set(key, waiters.add(tell))
    return () => {
      if (waiters.delete(tell) && waiters.size === 0 && channel.waiters.get(key) === waiters) channel.waiters.delete(key)
    }
  }

  /** Describes a wait for an event. Its note names the latest publication if that went to another group. */
  describeWait(name: string, scope: Scope): WaitFor {
    if (scope === null || !this.#isOfGroups) return { kind: 'event', what: `custom event ${name}` }
    const notes = () => {
      const channel = this.#channels.get(name)
      if (!channel?.latest || channel.latest === latestOf(channel, scope)) return []
      const { group_id, at } = channel.latest.state
      const ago = inSeconds(Math.max(0, Math.round(this.#now() - at)))
      return [`${group_id} emitted it ${ago} ago, which reaches ${group_id} alone; "across_groups": true hears all groups`]
    }
    return { kind: 'event', what: `custom event ${name} of ${scope.group_id}`, notes }
  }

  restore(saved: ChannelState): void {
    freezeMember(saved.data, saved.name)
    const channel = this.#channel(saved.name)
    this.#note(channel, this.#add(channel, saved))
    this.#size += sizeOf(saved)
  }

  #add(channel: Channel, state: ChannelState): Entry<'channel'> {
    const key = keyOf(scopeIn(state))
    // A name has no control character, so the id of one event is never the id of another.
    const entry = new Entry(this.#state, 'channel', state, key === all ? state.name : `${state.name}\n${key}`)
    channel.published.set(key, entry)
    return entry
  }

  /** Notes the count of an entry, and whether it is the latest of its name. */
  #note(channel: Channel, entry: Entry<'channel'>): void {
    if (entry.state.count < channel.count) return
    channel.count = entry.state.count
    channel.latest = entry
  }

  #release(channel: Channel, keys: readonly string[]): void {
    const released = keys.flatMap((key) => [...(channel.waiters.get(key) ?? [])])
    for (const key of keys) channel.waiters.delete(key)
    for (const wake of released) wake()
  }

  #makeRoom(name: string, more: number): void {
    const size = this.#size + more
    if (size > mostKept)
      throw new LabError(
        'conflict',
        `the latest values of the custom events of this run would be ${size} characters with ${name}, and may be ${mostKept}`,
      )
    this.#size = size
  }

  #channel(name: string): Channel {
    let channel = this.#channels.get(name)
    if (!channel) {
      if (this.#channels.size >= mostNames)
        throw new LabError(
          'conflict',
          `there are ${mostNames} custom events in this run already, and ${name} is none of them; take a name again`,
        )
      channel = { count: 0, published: new Map(), latest: undefined, waiters: new Map() }
      this.#channels.set(name, channel)
    }
    return channel
  }
}

/** Returns the latest publication that the scope hears: all of them without a scope, else those of its group and those to all groups. */
function latestOf({ published, latest }: Channel, scope: Scope): Entry<'channel'> | undefined {
  if (scope === null) return latest
  const [own, common] = [published.get(keyOf(scope)), published.get(all)]
  return own && common ? (own.state.count > common.state.count ? own : common) : (own ?? common)
}

const ofAll = { submission_id: null, group_id: null }

function scopeIn({ submission_id, group_id }: ChannelState): Scope {
  return submission_id === null || group_id === null ? null : { submission_id, group_id }
}

function keyOf(scope: Scope): string {
  return scope === null ? all : `${scope.submission_id} ${scope.group_id}`
}

function sizeOf({ name, value, data }: Published & { name: string }): number {
  return name.length + (value?.length ?? 0) + JSON.stringify(data).length
}
