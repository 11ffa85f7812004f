// A set for a handful of items, in the order of their insertion.

/**
 * Used as a Set that is emptied and filled all the time. A Set makes a new table whenever it becomes empty; the old ones know the
 * next, so that one which has grown old keeps all that was ever put in after it from being collected while it is young.
 */
export class SmallSet<Item> {
  readonly #items: Item[] = []

  get size(): number {
    return this.#items.length
  }

  /** The one that was put in before all others. */
  get first(): Item | undefined {
    return this.#items[0]
  }

  has(item: Item): boolean {
    return this.#items.includes(item)
  }

  add(item: Item): void {
    if (!this.#items.includes(item)) this.#items.push(item)
  }

  delete(item: Item): void {
    const items = this.#items
    const at = items.indexOf(item)
    if (at === -1) return
    // Taking the last one out keeps the memory of the list for the next, which `splice` would give back.
    items.copyWithin(at, at + 1)
    items.pop()
  }

  /** Takes out the first. */
  shift(): Item | undefined {
    return this.#items.shift()
  }

  /** A list of those that pass the test. */
  filter(test: (item: Item) => boolean): Item[] {
    return this.#items.filter(test)
  }

  /** Nothing may be taken out meanwhile. */
  [Symbol.iterator](): Iterator<Item> {
    return this.#items[Symbol.iterator]()
  }
}
