// Those who wait, in their order: the higher priority first, then the one that asked first.

export type Ranked = { readonly priority: number; readonly sequence: number }

/** Negative if the first comes before the second. */
export function compare(a: Ranked, b: Ranked): number {
  return b.priority - a.priority || a.sequence - b.sequence
}

export class Line<Item extends Ranked> {
  readonly #items: Item[] = []

  get size(): number {
    return this.#items.length
  }

  get first(): Item | undefined {
    return this.#items[0]
  }

  /** Most come last: then it costs nothing. */
  add(item: Item): void {
    const last = this.#items.at(-1)
    if (!last || compare(last, item) < 0) this.#items.push(item)
    else this.#items.splice(this.#indexAfter(item), 0, item)
  }

  delete(item: Item): void {
    const index = this.#indexAfter(item) - 1
    if (this.#items[index] === item) this.#items.splice(index, 1)
  }

  /** The one that comes next after this one, which need not be in the line; the first, if none is given. */
  after(item: Ranked | undefined): Item | undefined {
    return item ? this.#items[this.#indexAfter(item)] : this.#items[0]
  }

  [Symbol.iterator](): Iterator<Item> {
    return this.#items[Symbol.iterator]()
  }

  /** How many come before it or at its place. */
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
