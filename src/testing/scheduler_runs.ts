// For tests of the scheduler: random journeys on random topologies, in a random order of events.

import type { Graph, Hop } from '../workflow/plans/graph.ts'
import type { Again, Candidate } from '../workflow/scheduler/request.ts'
import { Scheduler } from '../workflow/scheduler/scheduler.ts'
import { graphOf } from './scheduler.ts'

export type Shape = {
  seed: number
  arms: number
  bridge: 'shuttle' | 'plain' | 'pad'
  devices: number
  pads: number
  storages: number
  threads: number
}

/** A run of the scheduler. Each step is a random one of the possible next steps. */
export class Run {
  readonly graph: Graph
  readonly scheduler: Scheduler
  readonly stuck: string[] = []
  readonly holders = new Map<string, string>()
  readonly claimants: Claimant[] = []
  readonly random: (below: number) => number
  #pending: (() => void)[] = []

  constructor(shape: Shape, { partners, aborts }: { partners: boolean; aborts: boolean }) {
    this.random = randomFrom(shape.seed)
    this.graph = topology(shape, this.random)
    this.scheduler = new Scheduler(this.graph)
    for (let i = 0; i < shape.threads; i++) {
      const owner = new Claimant(`t${i}`, this)
      this.claimants.push(owner)
      if (partners && this.random(3) === 0) this.claimants.push(owner.partnered())
      if (aborts && this.random(6) === 0) this.later(() => owner.abort(), this.random(40))
    }
    for (const claimant of this.claimants) if (!claimant.isPartner) this.later(() => claimant.begin())
  }

  /** Schedules work, after at least `after` other steps. */
  later(work: () => void, after = 0): void {
    this.#pending.push(after > 0 ? () => this.later(work, after - 1) : work)
  }

  toTheEnd(): void {
    for (let steps = 0; this.#pending.length > 0; steps++) {
      if (steps > 20_000) throw new Error('the run does not end')
      const [work] = this.#pending.splice(this.random(this.#pending.length), 1)
      work!()
      this.check()
    }
    const open = this.claimants.filter(({ isOver }) => !isOver)
    if (open.length > 0) throw new Error(`stalled: ${open.map((claimant) => claimant.describe()).join('; ')}`)
  }

  check(): void {
    const pads = new Map<string, string>()
    for (const { name } of this.claimants) {
      const position = this.scheduler.whereIs(name)
      if (position === undefined) continue
      const pad = this.graph.sameZone(position)[0]!.name
      if (pads.has(pad)) throw new Error(`${name} and ${pads.get(pad)} stand at ${pad}`)
      pads.set(pad, name)
    }
  }

  devices(): string[] {
    return [...this.graph.devices]
  }

  storages(): string[] {
    return [...this.graph.positions.values()].filter(({ storage }) => storage).map(({ name }) => name)
  }
}

class Claimant {
  readonly name: string
  readonly #run: Run
  readonly #start: string
  readonly #steps: Candidate[][]
  readonly #end: Candidate[]
  partner: Claimant | undefined
  isPartner = false
  isOver = false
  #at = 0
  #doing = 'nothing yet'
  #idling: { withdraw(): void } | undefined

  constructor(name: string, run: Run) {
    this.name = name
    this.#run = run
    const { random } = run
    const [devices, storages] = [run.devices(), run.storages()]
    const some = (all: string[], most: number) => Array.from({ length: 1 + random(most) }, () => all[random(all.length)]!)
    this.#start = some(storages, 1)[0]!
    this.#steps = Array.from({ length: 1 + random(5) }, () => [...new Set(some(devices, 2))].map((device) => ({ device })))
    this.#end = [...new Set(some(storages, 2))].map((position) => ({ position }))
  }

  /** Adds a claimant that follows this one to each of its devices, and idles in between. */
  partnered(): Claimant {
    const partner = new Claimant(`${this.name}b`, this.#run)
    partner.isPartner = true
    this.partner = partner
    return partner
  }

  describe(): string {
    return `${this.name}: ${this.#doing}`
  }

  begin(): void {
    if (this.isOver) return
    this.#request([{ position: this.#start }], () => this.#run.later(() => this.#enter()), { resource: 'start' })
  }

  #enter(): void {
    if (this.isOver) return
    this.#run.scheduler.put(this.name, this.#start, this.name)
    if (this.isPartner) this.#look()
    else this.#next()
  }

  #next(): void {
    if (this.isOver) return
    const step = this.#steps[this.#at]
    if (step) this.#request(step, (candidate) => this.#got((candidate as { device: string }).device))
    else this.#leave()
  }

  #got(device: string): void {
    const { scheduler, holders } = this.#run
    if (holders.has(device)) throw new Error(`${device} is held by ${holders.get(device)} and ${this.name}`)
    for (const { labware_id } of this.#run.graph.positionsOf(device).map(({ name }) => scheduler.position(name))) {
      if (labware_id !== null && labware_id !== this.name && labware_id !== this.partner?.name) {
        throw new Error(`${this.name} got ${device} where ${labware_id} stands`)
      }
    }
    holders.set(device, this.name)
    this.#run.later(() => this.#come(device))
  }

  #come(device: string): void {
    if (this.isOver) return
    const position = this.#run.scheduler.holds.reserveSite(device, this.name)
    if (position === undefined) throw new Error(`${this.name} has ${device} and finds no position`)
    this.#goTo(position, () => {
      const { partner } = this
      if (!partner || partner.isOver || this.#run.graph.positionsOf(device).length === 1) return this.#run.later(() => this.#done(device))
      this.#doing = `waits for ${partner.name}`
      partner.called(device, () => this.#run.later(() => this.#done(device)))
      this.#run.scheduler.setAwaitedThreads(this.name, [partner.name])
    })
  }

  #done(device: string): void {
    if (this.isOver) return
    this.#run.scheduler.setAwaitedThreads(this.name, [])
    this.#run.holders.delete(device)
    this.#run.scheduler.holds.release(this.name, device)
    this.#at++
    this.partner?.uncalled()
    this.#run.later(() => this.#next())
  }

  #leave(): void {
    this.#is = 'under way'
    this.#request(this.#end, (candidate) => {
      const { position } = candidate as { position: string }
      this.#run.later(() => this.#goTo(position, () => this.#run.later(() => this.over())))
    })
  }

  over(): void {
    if (this.isOver) return
    this.isOver = true
    this.#run.scheduler.remove(this.name)
    this.#run.scheduler.forget(this.name)
    if (this.partner) this.#run.later(() => this.partner?.dismissed())
  }

  /** Ends the thread; an operator takes its labware away some time later. */
  abort(): void {
    if (this.isOver) return
    this.isOver = true
    for (const [device, holder] of this.#run.holders) if (holder === this.name) this.#run.holders.delete(device)
    this.#run.scheduler.forget(this.name)
    this.#visit?.()
    this.#run.later(() => this.#run.scheduler.remove(this.name), 5)
    if (this.partner) this.#run.later(() => this.partner?.dismissed())
  }

  // A partner

  #call: { device: string; here: () => void } | undefined
  #isDismissed = false
  /** Whether the partner has not been called yet. */
  #isAsleep = true
  #is: 'free' | 'idling' | 'under way' | 'with its owner' = 'free'
  #again: Again | undefined
  /** Ends the owner's wait. */
  #visit: (() => void) | undefined

  #look(): void {
    if (this.isOver || this.#is !== 'free') return
    if (this.#call) this.#answer(this.#call)
    else if (this.#isDismissed) this.#leave()
    else this.#idle()
  }

  #idle(): void {
    this.#is = 'idling'
    this.#doing = 'idles'
    this.#idling = this.#run.scheduler.request(
      { thread_id: this.name, priority: 1, candidates: [], granted: () => undefined, park: (...to) => this.#park(...to) },
      this.#again,
    )
  }

  #park(position: string, again: Again): void {
    this.#is = 'under way'
    this.#again = again
    this.#run.later(() => this.#goTo(position, () => this.#isFree()))
  }

  #isFree(): void {
    this.#is = 'free'
    this.#run.later(() => this.#look())
  }

  #wake(): void {
    if (this.#is !== 'idling') return
    this.#idling?.withdraw()
    this.#isFree()
  }

  called(device: string, here: () => void): void {
    this.#call = { device, here }
    this.#visit = here
    if (this.#isAsleep) this.#run.later(() => this.begin())
    this.#isAsleep = false
    this.#wake()
  }

  uncalled(): void {
    if (this.#is === 'with its owner') this.#isFree()
  }

  dismissed(): void {
    if (this.#isAsleep) this.isOver = true
    this.#isDismissed = true
    this.uncalled()
    this.#wake()
  }

  #answer({ device, here }: { device: string; here: () => void }): void {
    this.#call = undefined
    const position = this.#run.scheduler.holds.reserveSite(device, this.name, undefined, this.name.slice(0, -1))
    if (position === undefined) this.#look()
    else this.#follow(position, here)
  }

  #follow(position: string, here: () => void): void {
    this.#is = 'under way'
    this.#goTo(position, () => {
      this.#is = 'with its owner'
      this.#visit = undefined
      here()
      if (this.#isDismissed) this.uncalled()
    })
  }

  // Asking and going

  #request(
    candidates: Candidate[],
    granted: (candidate: Candidate) => void,
    { resource, again }: { resource?: 'start'; again?: Again } = {},
  ): void {
    if (this.isOver) return
    const after =
      resource === 'start' ? [...this.#steps, this.#end] : candidates === this.#end ? [] : [...this.#steps.slice(this.#at + 1), this.#end]
    this.#doing = `waits for ${JSON.stringify(candidates)}`
    const asked = this.#run.scheduler.request(
      {
        thread_id: this.name,
        priority: 1,
        candidates,
        after: this.isPartner ? [] : after,
        inputs: this.partner ? [this.partner.name] : [],
        granted: (candidate) => {
          if (this.isOver) throw new Error(`${this.name} has ended and gets ${JSON.stringify(candidate)}`)
          this.#doing = 'has what it asked for'
          granted(candidate)
        },
        park: (position, again) => {
          if (this.isOver) throw new Error(`${this.name} has ended and is to park`)
          this.#run.later(() => this.#goTo(position, () => this.#run.later(() => this.#request(candidates, granted, { again }))))
        },
        stuck: (why) => {
          this.#run.stuck.push(`${this.name}: ${why}`)
          this.#run.later(() => this.abort())
        },
      },
      again,
    )
    if (asked.state === 'waiting' && asked.explain().length === 0) throw new Error(`${this.name} waits for nothing`)
  }

  #goTo(position: string, there: () => void): void {
    if (this.isOver) return
    this.#doing = `wants to go to ${position}`
    this.#run.scheduler.requestRoute(this.name, this.name, position, (route) => this.#hop(route, 0, there))
  }

  #hop(route: readonly Hop[], i: number, there: () => void): void {
    if (this.isOver) throw new Error(`${this.name} has ended and gets its way`)
    const hop = route[i]
    if (!hop) {
      there()
      return
    }
    this.#doing = `goes from ${hop.from} to ${hop.to}`
    const { scheduler } = this.#run
    this.#run.later(() => {
      if (this.isOver) return
      scheduler.take(hop.transporter, this.name, () => {
        if (this.isOver) throw new Error(`${this.name} has ended and gets ${hop.transporter}`)
        this.#run.later(() => {
          if (this.isOver) return
          scheduler.arrive(this.name, hop.to)
          scheduler.transporters.giveBack(hop.transporter, this.name)
          this.#hop(route, i + 1, there)
        })
      })
    })
  }
}

function topology({ arms, bridge, devices, pads, storages }: Shape, random: (below: number) => number): Graph {
  const zones: string[][] = Array.from({ length: arms }, () => [])
  const translators: Record<string, [string, string]> = {}
  for (let i = 1; i < arms; i++) {
    if (bridge === 'shuttle') {
      zones[i - 1]!.push(`h${i}a`)
      zones[i]!.push(`h${i}b`)
      translators[`shuttle${i}`] = [`h${i}a`, `h${i}b`]
    } else {
      const hand = bridge === 'plain' ? `h${i}` : `ph${i}`
      zones[i - 1]!.push(hand)
      zones[i]!.push(hand)
    }
  }
  const put = (name: string) => zones[random(arms)]!.push(name)
  for (let i = 1; i <= devices; i++) put(random(3) === 0 ? `d${i}*2` : `d${i}`)
  for (let i = 1; i <= pads; i++) put(`p${i}`)
  for (let i = 1; i <= storages; i++) put(`s${i}`)
  return graphOf(Object.fromEntries(zones.map((zone, i) => [`arm${i}`, zone.join(' ')]).filter(([, zone]) => zone !== '')), translators)
}

/** Returns the same numbers for the same seed (mulberry32). */
export function randomFrom(seed: number): (below: number) => number {
  let state = seed | 0
  return (below) => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
}
