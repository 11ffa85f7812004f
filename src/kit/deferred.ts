type Deferred<Value> = { promise: Promise<Value>; resolve(value: Value): void; reject(error: unknown): void }

/** Makes a promise that somebody else settles, as `Promise.withResolvers` does from Node 22 on. */
export function deferred<Value>(): Deferred<Value> {
  let settle: Omit<Deferred<Value>, 'promise'> | undefined
  const promise = new Promise<Value>((resolve, reject) => {
    settle = { resolve, reject }
  })
  return { promise, ...settle! }
}
