// The short way of a request to its route, past Hono's contexts and its chains of steps, which cost as much as a small answer itself. It is
// for addresses that are written plainly; every other request goes through Hono, to the same checks and the same routes.

import { TrieRouter } from 'hono/router/trie-router'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import type { Bindings, Exchange, Route, Variables } from './contract.ts'
import { headerOf } from './headers.ts'
import type { MaybePromise } from './maybe_promise.ts'

/** Returns a plain request to a route that is there from the start; undefined for any other. `raw` where the request did not come over a socket. */
export type Direct = (asked: PlainRequest, env: Bindings | undefined) => MaybePromise<Response> | undefined
type PlainRequest = { method: string; path: string; raw?: Request }

type Found<R> = { route: R; params: Readonly<Record<string, string>> }

/** Addresses whose route is remembered, as a bench is asked the same again and again. */
const mostKnown = 1000
/** A longer address, in characters, is not remembered: a client without a key could fill the memory with such addresses. */
const longestKnown = 200
/** Neither a query nor an escape, and nothing that leads up again. */
const plain = /^(\/[\w~-][\w.~-]*)+$/

/** Makes a function that finds the route of a method and a path; undefined for a path that has to be decoded, and where there is none. */
export function finderOf<R extends Pick<Route, 'method' | 'path'>>(
  routes: readonly R[],
): (method: string, path: string) => Found<R> | undefined {
  const router = new TrieRouter<R>()
  for (const route of routes) router.add(route.method, route.path, route)
  const known = new Map<string, Found<R>>()
  return (method, path) => {
    const asked = `${method} ${path}`
    const before = known.get(asked)
    if (before || !plain.test(path)) return before
    const [[route, params] = []] = router.match(method, path)[0]
    if (!route) return undefined
    const found = { route, params: params as Record<string, string> }
    if (path.length > longestKnown) return found
    if (known.size >= mostKnown) known.clear()
    known.set(asked, found)
    return found
  }
}

/** A request of such a path. */
export class DirectExchange implements Exchange {
  readonly env: Bindings | undefined
  readonly req: Exchange['req']
  readonly #variables: Partial<Variables> = {}
  #headers: Record<string, string> = {}

  constructor({ method, path, raw }: PlainRequest, env: Bindings | undefined) {
    this.env = env
    this.req = { raw, method, url: path, path, header: (name) => headerOf(this, name), query: () => ({}) }
  }

  get<Name extends keyof Variables>(name: Name): Variables[Name] {
    return this.#variables[name] as Variables[Name]
  }

  set<Name extends keyof Variables>(name: Name, value: Variables[Name]): void {
    this.#variables[name] = value
  }

  header(name: string, value: string): void {
    this.#headers = { ...this.#headers, [name]: value }
  }

  body(data: Parameters<Exchange['body']>[0], status: ContentfulStatusCode, headers: Record<string, string>): Response {
    return new Response(data, { status, headers: { ...this.#headers, ...headers } })
  }
}
