// A queue for each transporter: one thread uses it at a time, first come, first served, threads with a deadline before the others.

import { SmallSet } from '../../kit/small_set.ts'

type Turn = { readonly transporter: string; readonly thread_id: string; readonly granted: () => void }

export class TransporterQueue {
  readonly #holders = new Map<string, Turn>()
  readonly #queues = new Map<string, SmallSet<Turn>>()
  readonly #granted: Turn[] = []
  readonly #isPressed: ((thread_id: string) => boolean) | undefined
  #isCalling = false

  constructor(isPressed?: (thread_id: string) => boolean) {
    this.#isPressed = isPressed
  }

  /** `granted` may be called before this returns. */
  take(transporter: string, thread_id: string, granted: () => void): { withdraw(): void } {
    const turn = { transporter, thread_id, granted }
    let queue = this.#queues.get(transporter)
    if (!queue) {
      queue = new SmallSet()
      this.#queues.set(transporter, queue)
    }
    queue.add(turn)
    this.#goOn(transporter)
    return { withdraw: () => this.#withdraw(turn) }
  }

  holder(transporter: string): string | undefined {
    return this.#holders.get(transporter)?.thread_id
  }

  /** Whether the thread waits for a transporter that one of the threads has which `stands` names. */
  waitsFor(thread_id: string, stands: (thread_id: string) => boolean): boolean {
    for (const [transporter, queue] of this.#queues) {
      const holder = this.#holders.get(transporter)
      // The question about the holder may be a long one: it is asked where the thread is in the queue.
      if (holder && isIn(queue, thread_id) && stands(holder.thread_id)) return true
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
    for (const [transporter, queue] of this.#queues) {
      for (const turn of [...queue]) if (turn.thread_id === thread_id) queue.delete(turn)
      if (this.#holders.get(transporter)?.thread_id === thread_id) this.#holders.delete(transporter)
      this.#goOn(transporter)
    }
  }

  #withdraw(turn: Turn): void {
    this.#queues.get(turn.transporter)?.delete(turn)
    if (!this.#isHeld(turn)) return
    this.#holders.delete(turn.transporter)
    this.#goOn(turn.transporter)
  }

  #goOn(transporter: string): void {
    if (this.#holders.has(transporter)) return
    const queue = this.#queues.get(transporter)
    const turn = queue && this.#firstOf(queue)
    if (turn) {
      queue.delete(turn)
      this.#holders.set(transporter, turn)
      this.#granted.push(turn)
    }
    this.#call()
  }

  #firstOf(queue: SmallSet<Turn>): Turn | undefined {
    if (queue.size > 1 && this.#isPressed) for (const turn of queue) if (this.#isPressed(turn.thread_id)) return turn
    for (const turn of queue) return turn
    return undefined
  }

  /** Calls the granted ones in a loop, so that a chain of turns does not become a deep recursion. */
  #call(): void {
    if (this.#isCalling) return
    this.#isCalling = true
    try {
      for (let turn = this.#granted.shift(); turn; turn = this.#granted.shift()) if (this.#isHeld(turn)) turn.granted()
    } finally {
      this.#isCalling = false
    }
  }

  /** Whether the turn still holds its transporter: it may have been withdrawn since it was granted. */
  #isHeld(turn: Turn): boolean {
    return this.#holders.get(turn.transporter) === turn
  }
}

function isIn(queue: SmallSet<Turn>, thread_id: string): boolean {
  for (const turn of queue) if (turn.thread_id === thread_id) return true
  return false
}
