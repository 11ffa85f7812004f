// Time that jumps to the next thing that is due as soon as nothing is left to do: what a simulated run goes by.

import type { Clock } from './clock.ts'
import type { StepQueue } from './steps.ts'

/** `isOff`: it has rung, or was called off. */
type Timer = { at: number; order: number; call: () => void; isOff: boolean }

/** Fewer that were called off are not worth taking out. */
const fewOff = 64

export class VirtualTime implements Clock {
  #now = 0
  #order = 0
  /** A binary heap: the first that is due is at its top. */
  #heap: Timer[] = []
  /** How many of them were called off. */
  #off = 0
  #steps: StepQueue | undefined

  /** Ties the clock to the queue whose turns tell when nothing is left to do. The queue's `onIdle` is to be `ringNext`. */
  drive(steps: StepQueue): void {
    this.#steps = steps
  }

  now(): number {
    return this.#now
  }

  after(ms: number, call: () => void): () => void {
    const timer = { at: this.#now + Math.max(0, ms), order: this.#order++, call, isOff: false }
    this.#push(timer)
    this.#steps?.wake()
    return () => this.#callOff(timer)
  }

  /** Goes on to the next moment at which something is due, and rings all that is due then. Returns whether there was any. */
  ringNext(): boolean {
    let timer = this.#pop()
    while (timer?.isOff) timer = this.#pop()
    if (!timer) return false
    this.#now = timer.at
    for (let due: Timer | undefined = timer; due; due = this.#heap[0]?.at === this.#now ? this.#pop() : undefined) {
      if (due.isOff) continue
      due.isOff = true
      due.call()
    }
    return true
  }

  /** Forgets a timer that was called off long before its time: each call of a device has a deadline that hardly ever comes. */
  #callOff(timer: Timer): void {
    if (timer.isOff) return
    timer.isOff = true
    // The call is let go of at once, with the call of the device that it belongs to.
    timer.call = nothing
    if (++this.#off < fewOff || this.#off * 2 < this.#heap.length) return
    // An array in order is a heap.
    this.#heap = this.#heap.filter(({ isOff }) => !isOff).sort((a, b) => a.at - b.at || a.order - b.order)
    this.#off = 0
  }

  #push(timer: Timer): void {
    const heap = this.#heap
    let at = heap.length
    heap.push(timer)
    while (at > 0) {
      const above = (at - 1) >> 1
      if (!isBefore(timer, heap[above]!)) break
      heap[at] = heap[above]!
      at = above
    }
    heap[at] = timer
  }

  #pop(): Timer | undefined {
    const heap = this.#heap
    const first = heap[0]
    if (first?.isOff) this.#off--
    const last = heap.pop()
    if (!first || !last || first === last) return first
    let at = 0
    for (;;) {
      let below = 2 * at + 1
      if (below >= heap.length) break
      if (below + 1 < heap.length && isBefore(heap[below + 1]!, heap[below]!)) below++
      if (!isBefore(heap[below]!, last)) break
      heap[at] = heap[below]!
      at = below
    }
    heap[at] = last
    return first
  }
}

function nothing(): void {}

function isBefore(a: Timer, b: Timer): boolean {
  return a.at < b.at || (a.at === b.at && a.order < b.order)
}
