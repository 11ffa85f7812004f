// Node loads its whole fetch, a fifth of the start time and 9 MiB, at the first access to `Request`, `Response` or `Headers`.
// `@hono/node-server` accesses them to derive its light classes. The stand-ins here load it when a real object is first made.
// Import this file before that package. Node 22 and later have no getter to replace, and load it at the start.

type Class = (abstract new (...args: never[]) => object) & { prototype: object }

for (const name of ['Headers', 'Request', 'Response'] as const) {
  const own = Object.getOwnPropertyDescriptor(globalThis, name)
  if (own?.get && own.configurable)
    Object.defineProperty(globalThis, name, { value: late(name, own.get), writable: true, configurable: true })
}

/** Makes a class that becomes the result of `getter`, also for classes that were derived from it before. */
function late(name: string, getter: () => unknown): object {
  let real: Class | undefined
  function Late(...args: never[]): object {
    return Reflect.construct(real ?? become(), args, new.target ?? Late)
  }
  const become = (): Class => {
    // The getter overwrites the light class that was derived from this one meanwhile.
    const present = Object.getOwnPropertyDescriptor(globalThis, name)!
    real = getter.call(globalThis) as Class
    Object.defineProperty(globalThis, name, present)
    Object.setPrototypeOf(Late.prototype, real.prototype)
    Object.setPrototypeOf(Late, real)
    Late.prototype = real.prototype
    return real
  }
  return Late
}
