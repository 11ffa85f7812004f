// Values that may be promises: an answer that waits for nothing is sent in the turn of its request, without promises.

export type MaybePromise<Value> = Value | Promise<Value>

/** Continues with a value at once, or with a promised one later. */
export function thenMaybe<Value, Next>(value: MaybePromise<Value>, next: (value: Value) => Next): Next | Promise<Awaited<Next>> {
  return value instanceof Promise ? (value.then(next) as Promise<Awaited<Next>>) : next(value)
}

/** Calls, and continues with the error if the call throws or its promise is rejected. */
export function catchMaybe<Value>(call: () => MaybePromise<Value>, instead: (error: unknown) => Value): MaybePromise<Value> {
  try {
    const value = call()
    return value instanceof Promise ? value.catch(instead) : value
  } catch (error) {
    return instead(error)
  }
}
