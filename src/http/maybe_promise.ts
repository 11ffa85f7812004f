// Values that are there, or will be: an answer that waits for nothing goes out in the turn of its request, without a round of promises.

export type MaybePromise<Value> = Value | Promise<Value>

/** Goes on with the value at once where it is there, and later where it is promised. */
export function thenMaybe<Value, Next>(value: MaybePromise<Value>, next: (value: Value) => Next): Next | Promise<Awaited<Next>> {
  return value instanceof Promise ? (value.then(next) as Promise<Awaited<Next>>) : next(value)
}

/** Calls, and goes on with the error where the call throws or what it promises is rejected. */
export function catchMaybe<Value>(call: () => MaybePromise<Value>, instead: (error: unknown) => Value): MaybePromise<Value> {
  try {
    const value = call()
    return value instanceof Promise ? value.catch(instead) : value
  } catch (error) {
    return instead(error)
  }
}
