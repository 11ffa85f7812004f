// Node reads in its whole fetch, a fifth of our start and 9 MiB, when `Request`, `Response` or `Headers` is first looked at, and
// `@hono/node-server` looks at them to build its light ones upon. Those that stand here have it read in when one is first made.
// To be imported before that package. Node 22 and later leave no getter to stand in for: there it is read in at the start.

type Class = (abstract new (...args: never[]) => object) & { prototype: object }

for (const name of ['Headers', 'Request', 'Response'] as const) {
  const own = Object.getOwnPropertyDescriptor(globalThis, name)
  if (own?.get && own.configurable)
    Object.defineProperty(globalThis, name, { value: late(name, own.get), writable: true, configurable: true })
}

/** A class that becomes what `getter` gives, with all that was derived from it before. */
function late(name: string, getter: () => unknown): object {
  let real: Class | undefined
  function Late(...args: never[]): object {
    return Reflect.construct(real ?? become(), args, new.target ?? Late)
  }
  const become = (): Class => {
    // The getter puts the real class into the place of the light one that was built upon this one meanwhile.
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
