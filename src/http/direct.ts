// The one way of a request to its route, over a socket or through Hono, which decodes addresses that are not written plainly. Hono's contexts and its
// chains of steps cost as much as a small answer itself.

import type { Context, Hono, MiddlewareHandler } from 'hono'
import { TrieRouter } from 'hono/router/trie-router'
import { getQueryParam } from 'hono/utils/url'
import { LabError } from '../errors.ts'
import type { Bindings, Env, Exchange, Route, Variables } from './contract.ts'
import type { Enter } from './entrance.ts'
import { answerError } from './errors.ts'
import { headerOf } from './headers.ts'
import { catchMaybe, type MaybePromise } from './maybe_promise.ts'

/** `path` where the address is decoded but for its parameters; `raw` where the request did not come over a socket and past Hono. */
type Asked = { method: string; url: string; path?: string; raw?: Request }

/** Answers a request to a route. Undefined where no route is at its path, and for an address that has to be decoded first. */
export type Direct = (asked: Asked, env: Bindings | undefined) => MaybePromise<Response> | undefined

type Param = (name: string) => string
type Place = Pick<Route, 'path'> & { method: string }
/** A route as the router has it; `ALL` stands for every method. */
export type Entry = Place & { isPublic?: boolean; answer(c: Exchange, param: Param): MaybePromise<Response> }

type Found<P> = { route: P; params: Readonly<Record<string, string>> }

/** Addresses whose route is remembered, as a bench is asked the same again and again. */
const mostKnown = 1000
/** A longer address, in characters, is not remembered: a client without a key could fill the memory with such addresses. */
const longestKnown = 200
/** Neither a query nor an escape, and nothing that leads up again. */
const plain = /^(\/[\w~-][\w.~-]*)+$/
/** A query that is the same for every reader. */
const plainQuery = /^\?[\w.~=&,:+%@/-]*$/

/** Makes a function that finds the route of a method and a path; undefined where there is none, and for a path that has to be decoded. */
export function finderOf<P extends Place>(
  routes: readonly P[],
): (method: string, path: string, options?: { isDecoded: boolean }) => Found<P> | undefined {
  const router = new TrieRouter<P>()
  for (const route of routes) router.add(route.method, route.path, route)
  const known = new Map<string, Found<P>>()
  return (method, path, { isDecoded } = { isDecoded: false }) => {
    const asked = `${method} ${path}`
    const before = known.get(asked)
    if (before) return before
    const isPlain = plain.test(path)
    if (!isPlain && !isDecoded) return undefined
    const [[route, params] = []] = router.match(method, path)[0]
    if (!route) return undefined
    const found = { route, params: params as Record<string, string> }
    if (!isPlain || path.length > longestKnown) return found
    if (known.size >= mostKnown) known.clear()
    known.set(asked, found)
    return found
  }
}

/** Makes the entries of routes, and behind them one for each path that refuses every other method. */
export function entriesOf<R extends Pick<Route, 'method' | 'path' | 'scope'>>(
  routes: readonly R[],
  answer: (route: R, c: Exchange, param: Param) => MaybePromise<Response>,
): Entry[] {
  const methods = new Map<string, string[]>()
  for (const { method, path } of routes)
    methods.set(path, [...(methods.get(path) ?? []), ...(method === 'GET' ? ['GET', 'HEAD'] : [method])])
  return [
    ...routes.map((route): Entry => {
      const { method, path, scope } = route
      return { method, path, isPublic: scope === 'public', answer: (c, param) => answer(route, c, param) }
    }),
    ...[...methods].map(([path, allowed]): Entry => ({ method: 'ALL', path, answer: (c) => notAllowed(c, allowed) })),
  ]
}

/** Makes entries for paths that lead to other entries, which are made at the first request. `nothingAt` makes the error where none is there. */
export function entriesLater(
  paths: readonly string[],
  make: () => Promise<readonly Entry[]>,
  nothingAt: (path: string, others: readonly string[]) => LabError,
): Entry[] {
  let made: { find: ReturnType<typeof finderOf<Entry>>; others: readonly string[] } | undefined
  const answer: Entry['answer'] = async (c) => {
    if (!made) {
      const entries = await make()
      made = { find: finderOf(entries), others: entries.map(({ path }) => path) }
    }
    const found = made.find(methodOf(c.req), c.req.path, { isDecoded: true })
    if (!found) throw nothingAt(c.req.path, made.others)
    return found.route.answer(c, paramOf(found))
  }
  return paths.map((path) => ({ method: 'ALL', path, answer }))
}

/** Makes the way from the entrance to the entries. `failed` makes an answer of an error. */
export function directly(entries: readonly Entry[], enter: Enter, failed: (c: Exchange, error: unknown) => Response): Direct {
  const find = finderOf(entries)
  return (asked, env) => {
    const { method, url, path = pathOf(asked) } = asked
    const found = path === undefined ? undefined : find(methodOf(asked), path, { isDecoded: asked.path !== undefined })
    if (!found) return undefined
    const c = new DirectExchange({ method, url, path: path!, raw: asked.raw }, env)
    const { isPublic, answer } = found.route
    const proceed = () => answer(c, paramOf(found))
    return enter(c, () => catchMaybe(proceed, (error) => failed(c, error)), { isPublic })
  }
}

type Around = (c: Context<Env>, proceed: () => Promise<void>) => ReturnType<MiddlewareHandler>

/** `publicPages` need no key; `around` is a step before all others. */
type Ways = { direct: Direct; enter: Enter; publicPages: readonly string[]; around?: Around }

/** Leads requests that come to Hono the same way, and those to all other paths through the entrance. */
export function throughHono(hono: Hono<Env>, { direct, enter, publicPages, around = (_c, proceed) => proceed() }: Ways): void {
  // All of it is one step of Hono, because each step costs a round of promises.
  hono.use((c, next) =>
    around(c, async () => {
      const { method, url, path, raw } = c.req
      const isPublic = publicPages.includes(`${methodOf(c.req)} ${path}`)
      const others = async () => {
        await next()
        return c.res
      }
      const answer = await (direct({ method, url, path, raw }, c.env) ?? enter(c, others, { isPublic }))
      if (!c.finalized) c.res = answer
    }),
  )
}

export function notAllowed(c: Exchange, methods: readonly string[]): Response {
  const allowed = methods.join(', ')
  return answerError(c, new LabError('method_not_allowed', `${c.req.method} is not for ${c.req.path}; use ${allowed}`), { Allow: allowed })
}

/** Hono takes the body of the answer to HEAD away. */
function methodOf({ method }: { method: string }): string {
  return method === 'HEAD' ? 'GET' : method
}

/** The path of an address that everybody reads in the same way; undefined for any other, and for HEAD. */
function pathOf({ method, url }: Asked): string | undefined {
  if (method === 'HEAD') return undefined
  const at = url.indexOf('?')
  if (at < 0) return url
  return plainQuery.test(url.slice(at)) ? url.slice(0, at) : undefined
}

/** The entrance has refused addresses with a bad escape. */
function paramOf({ params }: Found<unknown>): Param {
  return (name) => {
    const value = params[name] ?? ''
    return value.includes('%') ? decodeURIComponent(value) : value
  }
}

class DirectExchange implements Exchange {
  readonly env: Bindings | undefined
  readonly req: Exchange['req']
  readonly #variables: Partial<Variables> = {}

  constructor({ method, url, path, raw }: Pick<Exchange['req'], 'method' | 'url' | 'path' | 'raw'>, env: Bindings | undefined) {
    this.env = env
    // Hono looks for a query behind the name of a host.
    const query = () => getQueryParam(`http://localhost${url.slice(url.indexOf('?'))}`) as Record<string, string>
    this.req = { raw, method, url, path, header: (name) => headerOf(this, name), query: () => (url.includes('?') ? query() : {}) }
  }

  get<Name extends keyof Variables>(name: Name): Variables[Name] {
    return this.#variables[name] as Variables[Name]
  }

  set<Name extends keyof Variables>(name: Name, value: Variables[Name]): void {
    this.#variables[name] = value
  }
}
