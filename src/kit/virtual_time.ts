// The clock of a simulated run, which jumps to the next timer as soon as nothing is left to do.

import type { Clock } from './clock.ts'
import type { StepQueue } from './steps.ts'

/** `isOff`: it has fired, or was cancelled. */
type Timer = { at: number; order: number; call: () => void; isOff: boolean }

/** The number of cancelled timers from which they are removed. */
const fewOff = 64

export class VirtualTime implements Clock {
  #now = 0
  #order = 0
  /** A binary heap with the first due timer at its top. */
  #heap: Timer[] = []
  /** The number of cancelled timers in the heap. */
  #off = 0
  #steps: StepQueue | undefined

  /** Connects the clock to the queue that knows when nothing is left to do. The queue's `onIdle` has to be `ringNext`. */
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

  /** Jumps to the next due moment and fires all its timers. Returns whether there were any. */
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

  /** Cancels a timer and frees it early, because each call of a device has a deadline that is hardly ever reached. */
  #callOff(timer: Timer): void {
    if (timer.isOff) return
    timer.isOff = true
    // Frees the callback at once, with its device call.
    timer.call = nothing
    if (++this.#off < fewOff || this.#off * 2 < this.#heap.length) return
    // A sorted array is a heap.
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
