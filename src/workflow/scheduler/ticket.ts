// A request of a thread that waits or was granted, as the scheduler keeps it.

import type { Claimant, Occupancy, Resource } from './occupancy.ts'
import type { Ranked } from './ranked_queue.ts'
import type { Again, Candidate, Obstacle, Request, RequestHandle } from './request.ts'

/** Its functions are bound: they can be passed on alone. */
export class Ticket implements RequestHandle, Ranked {
  readonly request: Request
  readonly claimant: Claimant
  /** A thread with a deadline goes before all others. */
  readonly priority: number
  readonly sequence: number
  /** How often the labware was parked since the request was first made. */
  readonly parked: number
  /** The resources of the candidates, in the same order. */
  readonly resources: readonly Resource[]
  readonly withdraw: () => void
  readonly admit: (inputs: readonly string[]) => void
  readonly explain: () => Obstacle[]
  state: RequestHandle['state'] = 'waiting'
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
  trapped: readonly Claimant[] = []
  /** The index of a candidate that is free and safe, but reserved for others, or after which a deadline would be missed; -1 for none. */
  barred = -1
  /** When the action began at the granted device, in ms. */
  began: number | undefined
  /** Whether `stuck` was called. */
  isTold = false
  readonly #occupancy: Occupancy
  #wish: string | undefined
  #later: readonly (readonly Resource[])[] | undefined

  constructor(
    request: Request,
    occupancy: Occupancy,
    { sequence, parked }: Again,
    calls: { withdraw(ticket: Ticket): void; admit(ticket: Ticket, inputs: readonly string[]): void; explain(ticket: Ticket): Obstacle[] },
  ) {
    this.request = request
    this.sequence = sequence
    this.parked = parked
    this.claimant = occupancy.claimant(request.thread_id)
    this.priority = this.claimant.hurries ? 2 : request.priority
    this.resources = request.candidates.map((candidate) => occupancy.resource(candidate))
    this.inputs = request.inputs ?? []
    this.withdraw = () => calls.withdraw(this)
    this.admit = (inputs) => calls.admit(this, inputs)
    this.explain = () => calls.explain(this)
    this.#occupancy = occupancy
  }

  get isIdle(): boolean {
    return this.resources.length === 0
  }

  get canPark(): boolean {
    return this.request.park !== undefined
  }

  /** Cache key: two requests with the same key have the same set of candidates. */
  get wish(): string {
    const { after = [], alone = false } = this.request
    this.#wish ??= `${alone} ${this.canPark} ${after.map((candidates) => candidates.map(nameOf).join()).join(';')}`
    return this.#wish
  }

  /** The resources of `after`. */
  get later(): readonly (readonly Resource[])[] {
    this.#later ??= (this.request.after ?? []).map((candidates) => candidates.map((candidate) => this.#occupancy.resource(candidate)))
    return this.#later
  }
}

function nameOf(candidate: Candidate): string {
  return 'device' in candidate ? candidate.device : candidate.seat
}
