// Hops as rows of numbers: those that may be made next, and those that were made.

import type { Hop } from './state.ts'

export type Step = {
  readonly job: number
  readonly to: number
  readonly option: number /** The hop does not begin before. */
  readonly earliest: number
}

type Row = Step & { readonly score: number; readonly hash: number; readonly parent: number }

/** Rows of numbers that grow. */
export class Rows {
  count = 0
  score = new Float64Array(256)
  earliest = new Float64Array(256)
  /** The hash of the configuration after the hop. */
  hash = new Float64Array(256)
  /** The beginning of the hop: the slot of a state, or the row of the hop before. */
  parent = new Int32Array(256)
  option = new Int32Array(256)
  job = new Int16Array(256)
  to = new Int16Array(256)
  #heap = new Int32Array(256)

  add(score: number, earliest: number, parent: number, hop: Hop, hash: number): number {
    if (this.count === this.score.length) this.#grow()
    const row = this.count++
    this.score[row] = score
    this.earliest[row] = earliest
    this.hash[row] = hash
    this.parent[row] = parent
    this.option[row] = hop.option
    this.job[row] = hop.job
    this.to[row] = hop.to
    return row
  }

  #grow(): void {
    const length = this.score.length * 2
    const wider = <T extends Float64Array | Int32Array | Int16Array>(old: T, array: T): T => {
      array.set(old)
      return array
    }
    this.score = wider(this.score, new Float64Array(length))
    this.earliest = wider(this.earliest, new Float64Array(length))
    this.hash = wider(this.hash, new Float64Array(length))
    this.parent = wider(this.parent, new Int32Array(length))
    this.option = wider(this.option, new Int32Array(length))
    this.job = wider(this.job, new Int16Array(length))
    this.to = wider(this.to, new Int16Array(length))
  }

  read(row: number): Row {
    const [score, earliest, hash, parent] = [this.score[row]!, this.earliest[row]!, this.hash[row]!, this.parent[row]!]
    return { score, earliest, hash, parent, option: this.option[row]!, job: this.job[row]!, to: this.to[row]! }
  }

  write(row: number, { score, earliest, hash, parent, option, job, to }: Row): void {
    this.score[row] = score
    this.earliest[row] = earliest
    this.hash[row] = hash
    this.parent[row] = parent
    this.option[row] = option
    this.job[row] = job
    this.to[row] = to
  }

  /** The hops that led to a row, the first of them first. */
  stepsTo(row: number): Step[] {
    const steps: Step[] = []
    for (let index = row; index >= 0; index = this.parent[index]!)
      steps.push({ job: this.job[index]!, to: this.to[index]!, option: this.option[index]!, earliest: this.earliest[index]! })
    return steps.reverse()
  }

  /** Makes a heap of all rows, from which `next` takes the best. */
  order(): void {
    if (this.#heap.length < this.count) this.#heap = new Int32Array(this.score.length)
    for (let row = 0; row < this.count; row++) this.#heap[row] = row
    for (let index = (this.count >> 1) - 1; index >= 0; index--) this.#sink(index, this.count)
  }

  /** Returns the best row of a heap of so many rows, and takes it off. */
  next(size: number): number {
    const top = this.#heap[0]!
    this.#heap[0] = this.#heap[size - 1]!
    this.#sink(0, size - 1)
    return top
  }

  #isBefore(one: number, other: number): boolean {
    return this.score[one]! < this.score[other]! || (this.score[one] === this.score[other] && one < other)
  }

  #sink(from: number, size: number): void {
    const heap = this.#heap
    const row = heap[from]!
    let index = from
    for (let child = 2 * index + 1; child < size; child = 2 * index + 1) {
      if (child + 1 < size && this.#isBefore(heap[child + 1]!, heap[child]!)) child++
      if (!this.#isBefore(heap[child]!, row)) break
      heap[index] = heap[child]!
      index = child
    }
    heap[index] = row
  }
}
