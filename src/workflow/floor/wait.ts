// A request of a thread that waits or was granted, as the scheduler keeps it.

import type { Again, Ask, Asked, Candidate, Obstacle } from './asking.ts'
import type { Ground, Place, Walker } from './ground.ts'
import type { Ranked } from './line.ts'

/** Its functions are bound: they can be passed on alone. */
export class Wait implements Asked, Ranked {
  readonly ask: Ask
  readonly walker: Walker
  /** A thread with a deadline goes before all others. */
  readonly priority: number
  readonly sequence: number
  /** How often the labware was parked since the request was first made. */
  readonly parked: number
  /** The resources of the candidates, in the same order. */
  readonly places: readonly Place[]
  readonly withdraw: () => void
  readonly admit: (inputs: readonly string[]) => void
  readonly explain: () => Obstacle[]
  state: Asked['state'] = 'waiting'
  /** Labware that may stand at the requested resources already. */
  inputs: readonly string[]
  /** Whether the ticket is in the queues of its resources. */
  isInLine = false
  /** Whether the ticket is to be looked at again. */
  isFresh = false
  /** The index of the granted candidate, -1 for none. */
  granted = -1
  /** The index of a candidate that is free but unsafe to grant, -1 for none; of several the one that traps the fewest threads. */
  unsafe = -1
  /** The claimants that granting it would trap. */
  trapped: readonly Walker[] = []
  /** The index of a candidate that is free and safe, but reserved for others, or after which a deadline would be missed; -1 for none. */
  barred = -1
  /** When the action began at the granted device, in ms. */
  began: number | undefined
  /** Whether `stuck` was called. */
  isTold = false
  readonly #ground: Ground
  #wish: string | undefined
  #later: readonly (readonly Place[])[] | undefined

  constructor(
    ask: Ask,
    ground: Ground,
    { sequence, parked }: Again,
    calls: { withdraw(wait: Wait): void; admit(wait: Wait, inputs: readonly string[]): void; explain(wait: Wait): Obstacle[] },
  ) {
    this.ask = ask
    this.sequence = sequence
    this.parked = parked
    this.walker = ground.walker(ask.thread_id)
    this.priority = this.walker.hurries ? 2 : ask.priority
    this.places = ask.candidates.map((candidate) => ground.place(candidate))
    this.inputs = ask.inputs ?? []
    this.withdraw = () => calls.withdraw(this)
    this.admit = (inputs) => calls.admit(this, inputs)
    this.explain = () => calls.explain(this)
    this.#ground = ground
  }

  get isIdle(): boolean {
    return this.places.length === 0
  }

  get canPark(): boolean {
    return this.ask.park !== undefined
  }

  /** Cache key: two requests with the same key have the same set of candidates. */
  get wish(): string {
    const { after = [], alone = false } = this.ask
    this.#wish ??= `${alone} ${this.canPark} ${after.map((candidates) => candidates.map(nameOf).join()).join(';')}`
    return this.#wish
  }

  /** The resources of `after`. */
  get later(): readonly (readonly Place[])[] {
    this.#later ??= (this.ask.after ?? []).map((candidates) => candidates.map((candidate) => this.#ground.place(candidate)))
    return this.#later
  }
}

function nameOf(candidate: Candidate): string {
  return 'device' in candidate ? candidate.device : candidate.seat
}
