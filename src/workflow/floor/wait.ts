// An ask as the floor keeps it.

import type { Again, Ask, Asked, Candidate, Obstacle } from './asking.ts'
import type { Ground, Place, Walker } from './ground.ts'
import type { Ranked } from './line.ts'

/** Its functions can be called without it. */
export class Wait implements Asked, Ranked {
  readonly ask: Ask
  readonly walker: Walker
  /** One that hurries goes before all others. */
  readonly priority: number
  readonly sequence: number
  /** How often it was parked since it was first asked. */
  readonly parked: number
  /** Those of its candidates. */
  readonly places: readonly Place[]
  readonly withdraw: () => void
  readonly admit: (inputs: readonly string[]) => void
  readonly explain: () => Obstacle[]
  state: Asked['state'] = 'waiting'
  /** Labware that may stand at its places already. */
  inputs: readonly string[]
  /** It stands in the lines of its places. */
  isInLine = false
  /** It is to be considered. */
  isFresh = false
  /** Which candidate it was granted. */
  granted = -1
  /** Which candidate is free, but not safe to grant; -1 for none. Of several the one that locks in the fewest. */
  unsafe = -1
  /** Whom that would lock in. */
  trapped: readonly Walker[] = []
  /** Which candidate is free and safe, but kept for others, or so that what comes after it would be late; -1 for none. */
  barred = -1
  /** When its action began at the device that it was granted, ms. */
  began: number | undefined
  /** `stuck` was called. */
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

  /** All that others would have to want too to be the same. */
  get wish(): string {
    const { after = [], alone = false } = this.ask
    this.#wish ??= `${alone} ${this.canPark} ${after.map((candidates) => candidates.map(nameOf).join()).join(';')}`
    return this.#wish
  }

  /** The places of `after`. */
  get later(): readonly (readonly Place[])[] {
    this.#later ??= (this.ask.after ?? []).map((candidates) => candidates.map((candidate) => this.#ground.place(candidate)))
    return this.#later
  }
}

function nameOf(candidate: Candidate): string {
  return 'device' in candidate ? candidate.device : candidate.seat
}
