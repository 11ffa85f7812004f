// A signal without a value: something has changed, so every watcher looks again.

import { SmallSet } from '../../kit/small_set.ts'

export class Signal {
  readonly #watchers = new SmallSet<() => void>()

  /** Calls `look` each time the signal is given. The returned function ends that. */
  watch(look: () => void): () => void {
    this.#watchers.add(look)
    return () => this.#watchers.delete(look)
  }

  tell(): void {
    for (const look of [...this.#watchers]) look()
  }
}

/** Returns a `begin` function for `ThreadControl.wait`: it calls `find` at once and at each signal, until `find` returns a value. */
export function once<Value>(signal: Signal, find: () => Value | undefined) {
  return (resolve: (value: Value) => void): (() => void) => {
    const found = find()
    if (found !== undefined) {
      resolve(found)
      return () => {}
    }
    const end = signal.watch(() => {
      const now = find()
      if (now === undefined) return
      end()
      resolve(now)
    })
    return end
  }
}
