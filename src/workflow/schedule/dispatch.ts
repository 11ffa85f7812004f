// The simulation of dispatch on the compact model: whose turn it is at each place, which arm carries, and which labware methods send for.

import { VirtualTime } from '../../kit/virtual_time.ts'
import { degreesToHeat, heatingSeconds } from '../plans/timing.ts'
import type { Bring, DispatchProblem, Work } from './dispatch_problem.ts'
import { hears, joins, Runner, serving, type Visit } from './dispatch_runner.ts'

/** The most moments of a simulation. */
const mostMoments = 50_000
/** The most steps to come that are told of a lane. */
const mostNext = 8

export class Simulation {
  readonly runners: Runner[]
  isBrokenOff = false
  readonly #problem: DispatchProblem
  readonly #clock = new VirtualTime()
  readonly #goesOn: boolean
  readonly #armFree: number[]
  readonly #holders = new Map<number, Runner>()
  readonly #queues = new Map<number, Runner[]>()
  #order: Map<number, string[]>
  readonly #receivers = new Map<string, Runner>()
  readonly #devices: Map<number, DispatchProblem['devices'][number]>
  readonly #feeds = new Map<string, number>()
  readonly #events: (Work & { kind: 'emit' })[] = []

  constructor(problem: DispatchProblem, goesOn: boolean) {
    this.#problem = problem
    this.#goesOn = goesOn
    this.#armFree = [...problem.arm_free_s]
    this.#order = new Map(Object.entries(problem.order).map(([place, ids]) => [Number(place), [...ids]]))
    this.#devices = new Map(Object.entries(problem.devices).map(([place, device]) => [Number(place), device]))
    this.runners = problem.lanes.map((lane) => new Runner(lane))
  }

  get now_s(): number {
    return this.#clock.now() / 1000
  }

  run(): void {
    const byId = new Map(this.runners.map((runner) => [runner.lane.id, runner]))
    for (const runner of this.runners) {
      this.#count(runner.lane.works, 1)
      this.#receivers.set(runner.lane.key, runner)
      const { isOn, at, ready_s, held, serves } = runner.lane
      const isHeld = held !== null && !this.#goesOn
      if (isOn && (isHeld || ready_s > 0) && !this.#holders.has(at)) this.#holders.set(at, runner)
      const owner = serves === null ? undefined : byId.get(serves)
      if (owner) {
        runner.serves = owner
        owner.helpers.set(runner.lane.key, runner)
      } else if (!isHeld) this.#after(ready_s, () => this.#ready(runner))
    }
    for (let moment = 0; moment < mostMoments; ) {
      if (this.#clock.ringNext()) moment++
      else if (!this.#force()) return
      else moment++
    }
    this.isBrokenOff = true
  }

  /** Says why a lane does not come to its end. */
  whyStands(runner: Runner): string {
    const { lane, waits, serves } = runner
    if (lane.held !== null) return lane.held
    if (waits?.kind === 'event') return `waits for the event ${waits.wait.name}, which nothing emits`
    const blocked = waits?.kind === 'place' ? waits.visit.options.map(({ place }) => this.#problem.blocked[place]).find(Boolean) : undefined
    if (blocked !== undefined) return blocked
    const ahead =
      serves ?? (waits?.kind === 'place' ? waits.visit.options.map(({ place }) => this.#holders.get(place)).find(Boolean) : undefined)
    const held = ahead?.lane.held ?? null
    if (ahead && ahead !== runner) return `waits for ${ahead.lane.name}${held === null ? '' : `, which ${held}`}`
    const other = this.runners.find((one) => one.end_s === null && (one.lane.held !== null || one.waits?.kind === 'event'))
    return other && other !== runner ? `waits for ${other.lane.name}` : 'waits for other labware'
  }

  #after(seconds: number, call: () => void): void {
    this.#clock.after(seconds * 1000, call)
  }

  #ready(runner: Runner): void {
    if (this.#holders.get(runner.at) === runner) this.#holders.delete(runner.at)
    const place = runner.at
    this.#advance(runner)
    this.#grant(place)
  }

  /** Goes through the works of a lane up to one that takes time. */
  #advance(runner: Runner): void {
    for (;;) {
      const top = runner.stack.at(-1)
      if (!top) {
        this.#finish(runner)
        return
      }
      if (top.index >= top.works.length) {
        if (top.isLoop && this.#hasMore(runner)) top.index = 0
        else {
          runner.stack.pop()
          const outer = runner.stack.at(-1)
          if (outer) outer.index++
        }
        continue
      }
      if (!this.#take(runner, top.works[top.index]!)) return
      top.index++
    }
  }

  /** Takes a work. Returns whether it is done at once. */
  #take(runner: Runner, work: Work): boolean {
    switch (work.kind) {
      case 'visit':
        if (work.isPark && runner.queue.length > 0) return true
        runner.waits = { kind: 'place', visit: work }
        for (const { place } of work.options) this.#queues.set(place, [...(this.#queues.get(place) ?? []), runner])
        this.#tryPlaces(runner, work)
        return false
      case 'over':
        for (const helper of runner.helpers.values()) this.#released(helper)
        runner.helpers.clear()
        this.#fed(work.feeds, -1)
        return true
      case 'pass':
        if (work.seconds === 0) return true
        this.#note(runner, work.name, null, work.seconds)
        this.#after(work.seconds, () => this.#done(runner))
        return false
      case 'emit':
        this.#emit(work)
        return true
      case 'wait':
        if (this.#events.some((emitted) => hears(work, emitted))) return true
        runner.waits = { kind: 'event', wait: work }
        return false
      case 'serve':
        return this.#serve(runner, work)
      case 'loop':
        if (!this.#hasMore(runner)) return true
        runner.stack.push({ works: work.body, index: 0, isLoop: true })
        this.#advance(runner)
        return false
    }
  }

  /** The present work of a lane is done: goes on with the next one. */
  #done(runner: Runner): void {
    runner.waits = null
    const top = runner.stack.at(-1)
    if (top) top.index++
    this.#advance(runner)
  }

  // Places.

  #tryPlaces(runner: Runner, { options }: Visit): void {
    const own = options.find(({ place }) => place === runner.at && this.#mayHave(runner, place))
    const free = own ?? options.find(({ place }) => this.#mayHave(runner, place))
    if (free) this.#occupy(runner, free.place, free.seconds)
  }

  #mayHave(runner: Runner, place: number): boolean {
    if (this.#problem.places[place]!.isStorage) return true
    if (this.#holders.has(place) || (!this.#goesOn && this.#problem.blocked[place] !== undefined)) return false
    const order = this.#order.get(place)
    if (!order?.includes(runner.lane.id)) return true
    return order[0] === runner.lane.id
  }

  /** Gives a place that is free to the labware whose turn it is. */
  #grant(place: number): void {
    const waiting = this.#queues.get(place) ?? []
    const able = waiting.filter((runner) => runner.waits?.kind === 'place' && this.#mayHave(runner, place))
    const first = able.reduce<Runner | undefined>((best, one) => (best && best.lane.priority >= one.lane.priority ? best : one), undefined)
    if (first?.waits?.kind !== 'place') return
    const option = first.waits.visit.options.find((one) => one.place === place)!
    this.#occupy(first, place, option.seconds)
  }

  #occupy(runner: Runner, place: number, seconds: number): void {
    const visit = runner.work as Visit
    for (const option of visit.options)
      this.#queues.set(
        option.place,
        (this.#queues.get(option.place) ?? []).filter((other) => other !== runner),
      )
    const order = this.#order.get(place)
    if (order?.[0] === runner.lane.id) order.shift()
    if (!this.#problem.places[place]!.isStorage) this.#holders.set(place, runner)
    runner.waits = null
    runner.place = place
    runner.awaited = 1 + visit.brings.length
    const arrived = () => {
      if (--runner.awaited > 0) return
      const work_s = seconds + this.#prepare_s(place, visit.temperature)
      this.#note(runner, visit.name, place, work_s)
      this.#after(work_s, () => this.#worked(runner, place))
    }
    this.#carry(runner, place, arrived)
    for (const bring of visit.brings) this.#bring(runner, visit, bring, arrived)
  }

  /** Returns the seconds in which a device is initialized and heated before its work. */
  #prepare_s(place: number, wanted: number | null): number {
    const device = this.#devices.get(place)
    if (!device) return 0
    const { initialize_s, temperature, heating_s } = device
    const degrees = wanted === null || temperature === null ? 0 : degreesToHeat(temperature, wanted)
    this.#devices.set(place, { heating_s, initialize_s: 0, temperature: wanted ?? temperature })
    return initialize_s + heatingSeconds(degrees, heating_s)
  }

  #worked(runner: Runner, place: number): void {
    if (this.#holders.get(place) === runner) this.#holders.delete(place)
    runner.place = null
    this.#done(runner)
    this.#grant(place)
  }

  #carry(runner: Runner, place: number, arrived: () => void): void {
    const end_s = this.#hop(runner.at, place)
    runner.at = place
    this.#after(end_s - this.now_s, arrived)
  }

  /** Returns when a carry that begins now ends, and takes the arms until then. */
  #hop(from: number, to: number): number {
    const { places, ways, groups } = this.#problem
    let now_s = this.now_s
    if (from === to) return now_s
    for (const { by } of ways[places[from]!.group * groups + places[to]!.group] ?? []) {
      let best = { arm: -1, end_s: Number.POSITIVE_INFINITY }
      for (const { arm, seconds } of by) {
        const end_s = Math.max(now_s, this.#armFree[arm]!) + seconds
        if (end_s < best.end_s) best = { arm, end_s }
      }
      if (best.arm < 0) continue
      this.#armFree[best.arm] = best.end_s
      now_s = best.end_s
    }
    return now_s
  }

  // Labware that methods send for.

  #bring(owner: Runner, { method }: Visit, { key, tips }: Bring, arrived: () => void): void {
    const there = owner.helpers.get(key)
    const come = (helper: Runner) => this.#carry(helper, owner.place!, arrived)
    if (there) {
      come(there)
      return
    }
    owner.calls.set(key, come)
    let bearer = this.#receivers.get(key)
    if (!bearer || !this.#canTakeOn(bearer, method!, tips)) bearer = this.#spawn(key)
    // Nobody brings it: the method goes on without it.
    if (!bearer) {
      arrived()
      return
    }
    bearer.tips -= tips
    bearer.taken++
    bearer.queue.push({ owner, method: method! })
    if (bearer.waits?.kind === 'work') this.#serveNext(bearer)
  }

  #canTakeOn({ lane, end_s, tips: left, taken, stack, queue, serves }: Runner, method: string, tips: number): boolean {
    if (end_s !== null || stack.length === 0 || left < tips || (lane.most !== null && taken >= lane.most)) return false
    const ahead = stack.reduce(
      (sum, { works, index, isLoop }) =>
        sum + (isLoop ? Number.POSITIVE_INFINITY * +serving(works, method) || 0 : joins(works.slice(index), method)),
      0,
    )
    return ahead > queue.length + (serves ? 1 : 0)
  }

  #spawn(key: string): Runner | undefined {
    const seed = this.#problem.seeds[key]
    if (!seed) return undefined
    const runner = new Runner(seed)
    this.runners.push(runner)
    this.#receivers.set(key, runner)
    this.#count(seed.works, 1)
    this.#after(0, () => this.#advance(runner))
    return runner
  }

  #serve(runner: Runner, { methods }: Work & { kind: 'serve' }): boolean {
    if (this.#receivers.get(runner.lane.key) !== runner && runner.queue.length === 0) return true
    const index = runner.queue.findIndex(({ method }) => methods.includes(method))
    if (index >= 0) {
      const { owner } = runner.queue.splice(index, 1)[0]!
      runner.serves = owner
      owner.helpers.set(runner.lane.key, runner)
      owner.calls.get(runner.lane.key)?.(runner)
      owner.calls.delete(runner.lane.key)
      return false
    }
    if (!this.#mayCome(runner)) {
      this.#leaveLoop(runner)
      return true
    }
    runner.waits = { kind: 'work' }
    return false
  }

  #serveNext(runner: Runner): void {
    runner.waits = null
    const top = runner.stack.at(-1)!
    if (this.#take(runner, top.works[top.index]!)) this.#done(runner)
  }

  #released(helper: Runner): void {
    helper.serves = null
    this.#after(0, () => this.#done(helper))
  }

  #mayCome(runner: Runner): boolean {
    const { key, most } = runner.lane
    const isFull = most !== null && runner.taken >= most
    return this.#receivers.get(key) === runner && !isFull && runner.tips > 0 && (this.#feeds.get(key) ?? 0) > 0
  }

  #hasMore(runner: Runner): boolean {
    return runner.queue.length > 0 || this.#mayCome(runner)
  }

  #leaveLoop(runner: Runner): void {
    const loop = runner.stack.findLastIndex(({ isLoop }) => isLoop)
    if (loop < 0) return
    runner.stack.length = loop + 1
    const top = runner.stack[loop]!
    top.index = top.works.length - 1
  }

  #count(works: readonly Work[], more: number): void {
    for (const work of works) if (work.kind === 'over') this.#fed(work.feeds, more)
  }

  #fed(keys: readonly string[], more: number): void {
    for (const key of keys) {
      const left = (this.#feeds.get(key) ?? 0) + more
      this.#feeds.set(key, left)
      const receiver = this.#receivers.get(key)
      if (left === 0 && receiver?.waits?.kind === 'work') this.#after(0, () => receiver.waits?.kind === 'work' && this.#serveNext(receiver))
    }
  }

  #emit(emitted: Work & { kind: 'emit' }): void {
    this.#events.push(emitted)
    for (const runner of this.runners) {
      if (runner.waits?.kind !== 'event' || !hears(runner.waits.wait, emitted)) continue
      runner.waits = null
      this.#after(0, () => this.#done(runner))
    }
  }

  #finish(runner: Runner): void {
    const { ends, at } = { ends: runner.lane.ends, at: runner.at }
    const end = ends.includes(at) ? at : (ends.find((place) => !this.#holders.has(place)) ?? ends[0])
    const end_s = end === undefined ? this.now_s : this.#hop(at, end)
    if (end !== undefined && runner.lane.stays && !this.#problem.places[end]!.isStorage && ends.length > 1) this.#holders.set(end, runner)
    if (end !== undefined) runner.at = end
    runner.end_s = end_s
    if (this.#receivers.get(runner.lane.key) === runner && runner.queue.length === 0) this.#receivers.delete(runner.lane.key)
  }

  #note(runner: Runner, name: string, place: number | null, seconds: number): void {
    if (runner.next.length < mostNext) runner.next.push({ name, place, from_s: this.now_s, to_s: this.now_s + seconds })
  }

  /** Lets something go on where nothing does any more. Returns false if nothing can. */
  #force(): boolean {
    if (this.#order.size > 0) {
      this.#order = new Map()
      for (const place of this.#queues.keys()) this.#grant(place)
      return true
    }
    const open = this.runners.filter(({ end_s }) => end_s === null)
    const idle = open.find(({ waits }) => waits?.kind === 'work')
    if (idle) {
      this.#feeds.set(idle.lane.key, 0)
      this.#serveNext(idle)
      return true
    }
    if (!this.#goesOn) return false
    const waiting = open.find(({ waits }) => waits?.kind === 'event')
    if (waiting?.waits?.kind === 'event') {
      const { event, scope } = waiting.waits.wait
      this.#emit({ kind: 'emit', event, scope })
      return true
    }
    const stuck = open.find(({ waits }) => waits?.kind === 'place')
    if (stuck?.waits?.kind !== 'place') return false
    this.#holders.delete(stuck.waits.visit.options[0]!.place)
    this.#grant(stuck.waits.visit.options[0]!.place)
    return true
  }
}
