// The spans of time in which a place or an arm is taken, and the gaps between them.

export class Timeline {
  readonly #from: number[] = []
  readonly #to: number[] = []
  readonly #job: number[] = []

  /** Returns the first gap that ends after `time`. Gap 0 lies before all spans, and the last gap never ends. */
  gapAfter(time: number): number {
    let [low, high] = [0, this.#from.length]
    while (low < high) {
      const middle = (low + high) >> 1
      if (this.#from[middle]! > time) high = middle
      else low = middle + 1
    }
    return low
  }

  get gaps(): number {
    return this.#from.length + 1
  }

  gapFrom(gap: number): number {
    return gap === 0 ? Number.NEGATIVE_INFINITY : this.#to[gap - 1]!
  }

  gapTo(gap: number): number {
    return gap === this.#from.length ? Number.POSITIVE_INFINITY : this.#from[gap]!
  }

  add(from: number, to: number, job: number): void {
    const index = this.gapAfter(from)
    this.#from.splice(index, 0, from)
    this.#to.splice(index, 0, to)
    this.#job.splice(index, 0, job)
  }

  /** Removes all spans of a job. */
  remove(job: number): void {
    let kept = 0
    for (let index = 0; index < this.#job.length; index++) {
      if (this.#job[index] === job) continue
      this.#from[kept] = this.#from[index]!
      this.#to[kept] = this.#to[index]!
      this.#job[kept++] = this.#job[index]!
    }
    this.#from.length = this.#to.length = this.#job.length = kept
  }
}
