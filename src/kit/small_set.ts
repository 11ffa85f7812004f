// A set for a handful of items, in the order of their insertion.

/**
 * For a Set that is emptied and filled all the time. A Set makes a new table whenever it becomes empty. Old tables reference the
 * next, so that an old one keeps all later items from being collected early.
 */
export class SmallSet<Item> {
  readonly #items: Item[] = []

  get size(): number {
    return this.#items.length
  }

  /** The item that was inserted first. */
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
    // Unlike `splice`, this keeps the memory of the list for later items.
    items.copyWithin(at, at + 1)
    items.pop()
  }

  /** Removes and returns the first item. */
  shift(): Item | undefined {
    return this.#items.shift()
  }

  /** Returns the items that pass the test. */
  filter(test: (item: Item) => boolean): Item[] {
    return this.#items.filter(test)
  }

  /** Iterates; do not remove items meanwhile. */
  [Symbol.iterator](): Iterator<Item> {
    return this.#items[Symbol.iterator]()
  }
}
