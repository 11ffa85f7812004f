// A queue ordered by rank: the higher priority first, then the greater urgency, then the lower sequence number.

export type Ranked = {
  readonly priority: number /** Seconds; 0 where only the order counts. */
  readonly urgency?: number
  readonly sequence: number
}

/** Compares two ranks; negative if `a` comes before `b`. */
export function compare(a: Ranked, b: Ranked): number {
  return b.priority - a.priority || (b.urgency ?? 0) - (a.urgency ?? 0) || a.sequence - b.sequence
}

export class RankedQueue<Item extends Ranked> {
  readonly #items: Item[] = []

  get size(): number {
    return this.#items.length
  }

  get first(): Item | undefined {
    return this.#items[0]
  }

  /** Inserts by rank. Most items come last, which costs O(1). */
  add(item: Item): void {
    const last = this.#items.at(-1)
    if (!last || compare(last, item) < 0) this.#items.push(item)
    else this.#items.splice(this.#indexAfter(item), 0, item)
  }

  delete(item: Item): void {
    const index = this.#indexAfter(item) - 1
    if (this.#items[index] === item) this.#items.splice(index, 1)
  }

  /** Returns the item after this rank, which need not be in the queue; the first item if none is given. */
  after(item: Ranked | undefined): Item | undefined {
    return item ? this.#items[this.#indexAfter(item)] : this.#items[0]
  }

  [Symbol.iterator](): Iterator<Item> {
    return this.#items[Symbol.iterator]()
  }

  /** Returns the number of items before this rank or at it. */
  #indexAfter(item: Ranked): number {
    let [low, high] = [0, this.#items.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (compare(this.#items[middle]!, item) <= 0) low = middle + 1
      else high = middle
    }
    return low
  }
}
