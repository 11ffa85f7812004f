// A queue for each transporter. One thread uses it at a time: threads with a deadline first, then in the order of the plan, then of the priorities, then first
// come, first served.

import { SmallSet } from '../../kit/small_set.ts'
import type { Claimant } from './model.ts'
import type { Occupancy } from './occupancy.ts'
import type { Priorities } from './priorities.ts'

const nobody: readonly Claimant[] = []

type Turn = { readonly transporter: string; readonly thread_id: string; readonly granted: () => void }

export class TransporterQueue {
  readonly #holders = new Map<string, Turn>()
  readonly #queues = new Map<string, SmallSet<Turn>>()
  /** The turns in the queues, by thread, because there may be hundreds of transporters. */
  readonly #waiting = new Map<string, SmallSet<Turn>>()
  readonly #granted: Turn[] = []
  readonly #isPressed: ((thread_id: string) => boolean) | undefined
  readonly #startOf: ((thread_id: string) => number | undefined) | undefined
  readonly #priorities: Pick<Priorities, 'differ' | 'of'> | undefined
  #isCalling = false

  /** `isPressed`: whether a thread has a deadline. `startOf`: when the plan has its present move begin. */
  constructor(
    isPressed?: (thread_id: string) => boolean,
    startOf?: (thread_id: string) => number | undefined,
    priorities?: Pick<Priorities, 'differ' | 'of'>,
  ) {
    this.#priorities = priorities
    this.#isPressed = isPressed
    this.#startOf = startOf
  }

  /** Queues for a transporter. `granted` may be called before this returns. */
  take(transporter: string, thread_id: string, granted: () => void): { withdraw(): void } {
    const turn = { transporter, thread_id, granted }
    put(this.#queues, transporter, turn)
    put(this.#waiting, thread_id, turn)
    this.#goOn(transporter)
    return { withdraw: () => this.#withdraw(turn) }
  }

  holder(transporter: string): string | undefined {
    return this.#holders.get(transporter)?.thread_id
  }

  /**
   * Whether the claimant waits, directly or through others, for the transporter of one that `stands`. Every move asks this about all claimants with a
   * promise, most of which wait for no transporter, so nothing is allocated for those.
   */
  isBehind(claimant: Claimant, among: Pick<Occupancy, 'claimants'>, stands: (claimant: Claimant) => boolean, seen = nobody): boolean {
    const waiting = this.#waiting.get(claimant.thread_id)
    if (!waiting) return false
    for (const { transporter } of waiting) {
      const holder = among.claimants.get(this.#holders.get(transporter)?.thread_id ?? '')
      if (!holder || seen.includes(holder)) continue
      if (stands(holder)) return true
      if (this.#waiting.has(holder.thread_id) && this.isBehind(holder, among, stands, [...seen, claimant])) return true
    }
    return false
  }

  /** Ends the thread's turn. Does nothing if the thread does not have the transporter. */
  giveBack(transporter: string, thread_id: string): void {
    if (this.#holders.get(transporter)?.thread_id !== thread_id) return
    this.#holders.delete(transporter)
    this.#goOn(transporter)
  }

  forget(thread_id: string): void {
    for (const turn of [...(this.#waiting.get(thread_id) ?? [])]) this.#leave(turn)
    for (const transporter of this.#queues.keys()) {
      if (this.#holders.get(transporter)?.thread_id === thread_id) this.#holders.delete(transporter)
      this.#goOn(transporter)
    }
  }

  #withdraw(turn: Turn): void {
    this.#leave(turn)
    if (!this.#isHeld(turn)) return
    this.#holders.delete(turn.transporter)
    this.#goOn(turn.transporter)
  }

  #goOn(transporter: string): void {
    if (this.#holders.has(transporter)) return
    const queue = this.#queues.get(transporter)
    const turn = queue && this.#firstOf(queue)
    if (turn) {
      this.#leave(turn)
      this.#holders.set(transporter, turn)
      this.#granted.push(turn)
    }
    this.#call()
  }

  #leave(turn: Turn): void {
    this.#queues.get(turn.transporter)?.delete(turn)
    const waiting = this.#waiting.get(turn.thread_id)
    waiting?.delete(turn)
    if (waiting?.size === 0) this.#waiting.delete(turn.thread_id)
  }

  #firstOf(queue: SmallSet<Turn>): Turn | undefined {
    if (queue.size > 1 && this.#isPressed) for (const turn of queue) if (this.#isPressed(turn.thread_id)) return turn
    if (queue.size < 2 || !this.#startOf) return queue.first
    let first: Turn | undefined
    let [least, most] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
    for (const turn of queue) {
      const start = this.#startOf(turn.thread_id) ?? Number.NEGATIVE_INFINITY
      const steps = this.#priorities?.differ ? this.#priorities.of(turn.thread_id) : 0
      if (first && (start > least || (start === least && steps <= most))) continue
      first = turn
      least = start
      most = steps
    }
    return first
  }

  /** Calls `granted` of the granted turns in a loop, so that a chain of turns does not become a deep recursion. */
  #call(): void {
    if (this.#isCalling) return
    this.#isCalling = true
    try {
      for (let turn = this.#granted.shift(); turn; turn = this.#granted.shift()) if (this.#isHeld(turn)) turn.granted()
    } finally {
      this.#isCalling = false
    }
  }

  /** Whether the turn still has its transporter. It may have been withdrawn since the grant. */
  #isHeld(turn: Turn): boolean {
    return this.#holders.get(turn.transporter) === turn
  }
}

function put(turns: Map<string, SmallSet<Turn>>, key: string, turn: Turn): void {
  const there = turns.get(key) ?? new SmallSet()
  there.add(turn)
  turns.set(key, there)
}
