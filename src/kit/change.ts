// Something has changed: those who asked to be told look again.

import { SmallSet } from './small_set.ts'

export class Change {
  readonly #watchers = new SmallSet<() => void>()

  /** Calls at each change, until the answer was called. */
  watch(look: () => void): () => void {
    this.#watchers.add(look)
    return () => this.#watchers.delete(look)
  }

  tell(): void {
    for (const look of [...this.#watchers]) look()
  }
}

/** What `thread.wait` begins with to wait until `find` finds something, looking at each change. */
export function once<Value>(change: Change, find: () => Value | undefined) {
  return (resolve: (value: Value) => void): (() => void) => {
    const found = find()
    if (found !== undefined) {
      resolve(found)
      return () => {}
    }
    const end = change.watch(() => {
      const now = find()
      if (now === undefined) return
      end()
      resolve(now)
    })
    return end
  }
}
