// Makes what follows from changes of the deck.

/** Calls `goOn` until it returns false; not while a call of it, or a change of several steps, is under way. */
export class Settling {
  readonly #goOn: () => boolean
  #isBusy = false

  constructor(goOn: () => boolean) {
    this.#goOn = goOn
  }

  settle(): void {
    if (this.#isBusy) return
    this.#keepBusy(() => {
      while (this.#goOn());
    })
  }

  /** Makes a change of several steps, between which nothing is granted. */
  together(change: () => void): void {
    if (this.#isBusy) change()
    else this.#keepBusy(change)
    this.settle()
  }

  #keepBusy(work: () => void): void {
    this.#isBusy = true
    try {
      work()
    } finally {
      this.#isBusy = false
    }
  }
}
