// Asks a question once for many simultaneous callers.

export class SharedAnswer<T> {
  readonly #ask: () => Promise<T>
  #now: Promise<T> | undefined
  #next: Promise<T> | undefined

  constructor(ask: () => Promise<T>) {
    this.#ask = ask
  }

  /** Asks. Callers that come while an answer is on its way share the next one, so that no answer is older than the request. */
  get(): Promise<T> {
    if (!this.#now) return this.#begin()
    this.#next ??= this.#now.then(
      () => this.#begin(),
      () => this.#begin(),
    )
    return this.#next
  }

  #begin(): Promise<T> {
    this.#next = undefined
    const answer = this.#ask()
    this.#now = answer
    const end = () => {
      if (this.#now === answer) this.#now = undefined
    }
    answer.then(end, end)
    return answer
  }
}
