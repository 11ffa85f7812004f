// For tests of the scheduler: short topologies, and threads that use their grants at once.

import * as v from 'valibot'
import { smcTopology } from '../examples/smc_assay.ts'
import { VirtualClock } from '../kit/clock.ts'
import { Graph, type Hop } from '../workflow/plans/graph.ts'
import { Hops } from '../workflow/plans/timing.ts'
import { TopologyDocument, type TopologyInput } from '../workflow/plans/topology_schema.ts'
import type { Visit } from '../workflow/scheduler/advice.ts'
import type { Again, Candidate, Request, RequestHandle } from '../workflow/scheduler/request.ts'
import type { Ahead } from '../workflow/scheduler/reservations.ts'
import { Scheduler } from '../workflow/scheduler/scheduler.ts'
import { severalArms } from './documents.ts'

/**
 * Returns a graph; `arms` lists what each arm reaches. A name that begins with `d` is a device (`d1*3` has three sites), `p` a parking position, `s` a
 * storage, any other letter a hand-over position.
 */
export function graphOf(arms: Record<string, string>, translators: Record<string, [string, string]> = {}): Graph {
  return new Graph(documentOf(arms, translators))
}

function documentOf(arms: Record<string, string>, translators: Record<string, [string, string]> = {}): TopologyDocument {
  const words = [...new Set(Object.values(arms).flatMap((arm) => arm.split(' ')))].map((word) => word.split('*') as [string, string?])
  const those = (letter: string) => words.filter(([name]) => name.startsWith(letter))
  const named = (letter: string) => those(letter).map(([name]) => name)
  const sites = Object.fromEntries(those('d').map(([name, count = '1']) => [name, Number(count)]))
  const reach = Object.fromEntries(
    Object.entries(arms).map(([arm, reached]) => [arm, reached.split(' ').map((word) => word.split('*')[0]!)]),
  )
  return v.parse(TopologyDocument, severalArms(reach, { nests: named('d'), sites, parking: named('p'), storages: named('s'), translators }))
}

export function graphOn(topology: TopologyInput): Graph {
  return new Graph(v.parse(TopologyDocument, topology))
}

/** Returns the graph of the assay: three arms, two shuttles, 53 positions. */
export const smc = () => graphOn(smcTopology)

/** Parses candidates: `d1 d2` are two devices, `p1` and `bravo/site-1` are positions. */
export function resources(words: string): Candidate[] {
  return words
    .split(' ')
    .filter((word) => word !== '')
    .map((word) => (word.startsWith('d') && !word.includes('/') ? { device: word } : { position: word }))
}

type Wish = Partial<Omit<Request, 'candidates' | 'after'>> & { after?: string[]; stays?: boolean }

/** A scheduler with test threads. Every thread has labware of the same name. `log` lists the scheduler's callbacks, in order. */
export class Stage {
  readonly scheduler: Scheduler
  readonly log: string[] = []
  /** The decisions about deadlocks, in order. */
  readonly decisions: string[] = []
  readonly asked = new Map<string, RequestHandle>()
  readonly #wishes = new Map<string, { words: string; wish: Wish }>()
  readonly #parks = new Map<string, { position: string; again: Again }>()
  readonly #granted = new Map<string, Candidate>()

  /** With `ahead` it plans in time. */
  constructor(graph: Graph, ahead?: Ahead) {
    this.scheduler = new Scheduler(graph, {
      ...(ahead && { ahead }),
      onDecision: ({ kind, thread_ids, thread_id, granted }) => {
        if (kind === 'parked') this.log.push(`deadlock of ${[...thread_ids].sort().join(' ')}: ${thread_id}`)
        this.decisions.push(`${kind} ${thread_id}${granted ? ` ${granted}` : ''}`)
      },
    })
  }

  /** Returns the lines of the log since this was last called. */
  get news(): string[] {
    return this.log.splice(0)
  }

  stand(...pairs: [thread: string, position: string][]): this {
    for (const [thread, position] of pairs) this.scheduler.put(thread, position, thread)
    return this
  }

  /** Makes a request; with empty `words`, the thread idles. */
  wish(thread: string, words: string, wish: Wish = {}, again?: Again): RequestHandle {
    this.#wishes.set(thread, { words, wish })
    const { after, stays = false, ...rest } = wish
    const asked = this.scheduler.request(
      {
        thread_id: thread,
        priority: 1,
        candidates: resources(words),
        ...(after ? { after: after.map(resources) } : {}),
        granted: (candidate) => {
          this.#granted.set(thread, candidate)
          this.log.push(`${thread} gets ${'device' in candidate ? candidate.device : candidate.position}`)
        },
        stuck: () => this.log.push(`${thread} is stuck`),
        ...(stays ? {} : { park: (position, again) => this.#toldToPark(thread, position, again) }),
        ...rest,
      },
      again,
    )
    this.asked.set(thread, asked)
    return asked
  }

  #toldToPark(thread: string, position: string, again: Again): void {
    this.#parks.set(thread, { position, again })
    this.log.push(`${thread} is to park at ${position}`)
  }

  /** Moves the thread to its last grant, or to another position that is reserved for it. */
  go(thread: string, to?: string): void {
    const granted = this.#granted.get(thread)!
    const position = to ?? ('position' in granted ? granted.position : this.scheduler.holds.reserveSite(granted.device, thread)!)
    this.scheduler.requestRoute(thread, thread, position, (route) => this.ride(thread, route))
  }

  ride(thread: string, route: readonly Hop[]): void {
    for (const { to } of route) this.scheduler.arrive(thread, to)
  }

  /** Moves the thread to its parking position, and repeats its request. */
  park(thread: string): RequestHandle {
    const { position, again } = this.#parks.get(thread)!
    this.#parks.delete(thread)
    const { words, wish } = this.#wishes.get(thread)!
    this.scheduler.requestRoute(thread, thread, position, (route) => this.ride(thread, route))
    return this.wish(thread, words, wish, again)
  }

  /** Does the thread's action: goes to the device and releases it. */
  visit(thread: string): void {
    this.go(thread)
    const granted = this.#granted.get(thread)!
    if ('device' in granted) this.scheduler.holds.release(thread, granted.device)
  }

  reasons(thread: string): string[] {
    return this.asked
      .get(thread)!
      .explain()
      .map(({ wanted, reason, thread_id, labware_id }) => `${wanted} ${reason} ${thread_id} ${labware_id}`)
  }
}

/** A stage on a clock. Each hop takes 12 s. For the letters of the positions see `graphOf`. */
export class TimedStage extends Stage {
  readonly clock: VirtualClock

  constructor(arms: Record<string, string>, translators: Record<string, [string, string]> = {}) {
    const document = documentOf(arms, translators)
    const clock = new VirtualClock()
    super(new Graph(document), { clock, hops: new Hops(document) })
    this.clock = clock
  }

  /** Gives a thread a device, at whose work it stays for so many seconds; without `seconds` nobody knows for how long. */
  work(thread: string, device: string, seconds?: number): void {
    this.wish(thread, device, { use: { seconds: () => seconds, stays: () => seconds } })
    this.go(thread)
    this.scheduler.began(thread, device)
  }
}

/** Parses visits: `a d1 20` is the visit of thread a at d1, which begins after 20 s; `a p1 30 waits` is one where it only waits. */
export function visitsOf(...lines: string[]): Visit[] {
  return lines.map((line) => {
    const [thread_id, place, start = '0', ...words] = line.split(' ') as [string, string, ...string[]]
    const start_ms = Number(start) * 1000
    return { thread_id, place, start_ms, ready_ms: start_ms, isBuffer: words.includes('waits'), isTimed: words.includes('timed') }
  })
}
