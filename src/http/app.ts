// The skin: routes, the checks in the order that is promised, and errors as answers.

import { type Context, Hono } from 'hono'
import { cors } from 'hono/cors'
import { TrieRouter } from 'hono/router/trie-router'
import type { Bench } from '../bench/bench.ts'
import { LabError } from '../errors.ts'
import { allows } from '../keys/keys.ts'
import { didYouMean } from '../kit/did_you_mean.ts'
import { parseJson } from '../kit/json.ts'
import { checked } from '../kit/schema.ts'
import { BodyReader, textOf, usualLimit } from './body.ts'
import { protectConnection } from './connections.ts'
import type { Env, Exchange, Route } from './contract.ts'
import { type Direct, directly, entriesLater, entriesOf, throughHono } from './direct.ts'
import { type Entrance, entrance } from './entrance.ts'
import { answerError, answerFailure } from './errors.ts'
import { idempotent, takesIdempotencyKey } from './idempotency.ts'
import { mustBeAsShown } from './if_state.ts'
import type { MaybePromise } from './maybe_promise.ts'
import { nearPath } from './near_paths.ts'
import { publicPages, servePages } from './pages.ts'
import { mustNotBeSafeMode } from './safe_mode.ts'
import { runPaths, runRoots, serviceRoutes } from './service_routes.ts'

/** For pages of other origins, where the configuration names any. */
const forBrowsers = {
  allowMethods: ['GET', 'POST', 'PUT', 'DELETE'],
  allowHeaders: [
    'X-API-Key',
    'Authorization',
    'Content-Type',
    'Last-Event-ID',
    'Prefer',
    'X-Override',
    'Idempotency-Key',
    'X-Request-Secret',
    'X-Request-Id',
    'If-Match',
    'If-State',
  ],
  exposeHeaders: ['X-API-Version', 'X-Reason', 'Retry-After', 'Operation-Id', 'Location', 'Idempotency-Replayed', 'ETag', 'X-Request-Id'],
  maxAge: 600,
}

/** Answers requests: `direct` past Hono, which is asked where `direct` returns undefined. `admits` tells whose stop waits for nobody. */
export type App = Pick<Hono<Env>, 'fetch'> & { direct?: Direct; admits?: Entrance['admits'] }

export function app(bench: Bench): Hono<Env> & App {
  // The router that Hono comes to by itself for paths like these, after it has built another.
  const hono = new Hono<Env>({ router: new TrieRouter() })
  const paths = [...serviceRoutes.map(({ path }) => path), ...runRoots]
  const { enter, admits } = entrance(
    bench,
    publicity([...publicPages, ...serviceRoutes.filter(({ scope }) => scope === 'public').map(({ method, path }) => `${method} ${path}`)]),
  )
  const failed = (c: Exchange, error: unknown) => {
    if (error instanceof LabError && error.code === 'storage') bench.onRefusedWrite(error)
    return answerFailure(bench.log, c, error)
  }
  const shared = { bench, bodies: new BodyReader(bench), ask: asking(hono) }
  const answer = (route: Route<Bench>, c: Exchange, param: (name: string) => string) => call(shared, route, c, param)
  const aboutRuns = async () => {
    const [{ runRoutes }] = await Promise.all([import('./run_routes.ts'), bench.openRuns()])
    return entriesOf(runRoutes, answer)
  }
  const entries = [...entriesOf(serviceRoutes, answer), ...entriesLater(runPaths, aboutRuns, nothingAt)]
  const route = directly(entries, enter, failed)
  // A reload changes them.
  const origins = () => bench.config.cors.origins
  const crossOrigin = cors({ ...forBrowsers, origin: (origin) => (origins().includes(origin) ? origin : null) })
  hono.onError((error, c) => failed(c, error))
  hono.notFound((c) => answerError(c, nothingAt(c.req.path, paths)))
  const through = hono.fetch
  let isWhole = false
  hono.fetch = (request, env, context) => {
    // The pages are made for the first request that needs them: on many benches none does.
    if (!isWhole) {
      throughHono(hono, route, enter, (c, next) => (origins().length === 0 || isPlainOptions(c) ? next() : crossOrigin(c, next)))
      servePages(hono, bench)
    }
    isWhole = true
    return through(request, env, context)
  }
  // Pages of other origins need headers that Hono's middleware adds.
  const direct: Direct = (asked, env) => (origins().length === 0 ? route(asked, env) : undefined)
  return Object.assign(hono, { direct, admits })
}

function nothingAt(path: string, paths: readonly string[]): LabError {
  return new LabError('not_found', `there is nothing at ${path}${nearPath(path, paths)}; /docs shows what there is`)
}

type Shared = { bench: Bench; bodies: BodyReader; ask: (path: string) => Promise<string> }

/** Asks the service as somebody with a shell on this machine does. */
function asking(hono: Hono<Env>): Shared['ask'] {
  return async (path) => {
    const response = await hono.request(path, {}, { local: true })
    const text = await response.text()
    if (!response.ok) throw new Error((JSON.parse(text) as { detail: string }).detail)
    return text
  }
}

/** Whether this is an OPTIONS request that no browser sends before a request across origins. */
function isPlainOptions(c: Context<Env>): boolean {
  return c.req.method === 'OPTIONS' && !(c.req.header('origin') && c.req.header('access-control-request-method'))
}

/** Tells of a method and a path whether they need no key. */
export function publicity(all: readonly string[]): (method: string, path: string) => boolean {
  const paths = new Set(all)
  const patterns = all.filter((each) => each.includes(':')).map((each) => new RegExp(`^${each.replace(/:\w+/g, '[^/]+')}$`))
  return (method, path) => {
    const asked = `${method === 'HEAD' ? 'GET' : method} ${path}`
    return paths.has(asked) || patterns.some((pattern) => pattern.test(asked))
  }
}

function call(shared: Shared, route: Route<Bench>, c: Exchange, param: (name: string) => string): MaybePromise<Response> {
  mustBeAllowed(route, c)
  mustNotBeStopping(shared.bench, route)
  mustNotBeSafeMode(shared.bench, route)
  mustKnowParameters(route, c)
  if (!route.body) return carriedOut(shared, route, c, { param, bytes: nothing })
  return shared.bodies.read(c, route.body_limit ?? usualLimit).then(async ({ bytes, release }) => {
    try {
      return await carriedOut(shared, route, c, { param, bytes })
    } finally {
      release()
    }
  })
}

/** Throws `stopping` for a change that would be acknowledged, and might not be kept. A stop is always taken. */
function mustNotBeStopping({ is_stopping }: Bench, { method, scope }: Route): void {
  if (!is_stopping || method === 'GET' || scope === 'any' || scope === 'public') return
  throw new LabError('stopping', 'the service is stopping, and nothing was done; send it again when the service is back', {
    retry_after_s: 5,
  })
}

type RequestParts = { param: (name: string) => string; bytes: Uint8Array }

function carriedOut({ bench, ask }: Shared, route: Route<Bench>, c: Exchange, { param, bytes }: RequestParts): MaybePromise<Response> {
  // A connection whose body still comes can be replaced by others, and so can one without a key.
  if (route.scope !== 'public')
    protectConnection(c.env?.incoming, c.env?.outgoing, route.scope === 'any' ? undefined : c.get('principal').key_id)
  const handle = () => {
    const query = () => (route.query ? checked(route.query, c.req.query(), 'the query') : {})
    return route.handle({ rooms: bench, c, param, ask, query, body: () => bodyOf(route, textOf(bytes)) })
  }
  const shown = route.state_of && c.req.header('if-state')
  const handleAsShown = () =>
    shown ? mustBeAsShown(bench, { shown, present: route.state_of!(bench, param), path: c.req.path }).then(handle) : handle()
  return takesIdempotencyKey(route) ? idempotent(bench, route, c, bytes, handleAsShown) : handleAsShown()
}

const nothing = new Uint8Array()

export function mustBeAllowed({ scope }: Route, c: Exchange): void {
  if (scope === 'public' || scope === 'any') return
  const { name, scope: has } = c.get('principal')
  if (!allows(has, scope)) throw new LabError('forbidden', `this needs a key of scope ${scope}; the key ${JSON.stringify(name)} has ${has}`)
}

/**
 * Throws `invalid` for a parameter that the route does not know, or that is there twice: a mistake of the client. A stop is never refused for it.
 * Names that begin with `_` are free: programs add them so that no cache answers.
 */
export function mustKnowParameters({ scope, query }: Route, c: Exchange): void {
  if (scope === 'any' || !c.req.url.includes('?')) return
  const known = Object.keys(query?.entries ?? {})
  const unknown = Object.keys(c.req.query()).find((name) => !known.includes(name) && !name.startsWith('_'))
  if (unknown !== undefined) {
    const takes = known.length ? `it takes ${known.join(', ')}${didYouMean(unknown, known)}` : 'it takes none'
    throw new LabError('invalid', `the query has a parameter ${JSON.stringify(unknown)} that ${c.req.path} does not know; ${takes}`)
  }
  const given = [...new URLSearchParams(c.req.url.slice(c.req.url.indexOf('?'))).keys()]
  const twice = given.find((name, i) => given.indexOf(name) < i && !name.startsWith('_'))
  if (twice !== undefined) throw new LabError('invalid', `the query has ${JSON.stringify(twice)} more than once; give it once`)
}

export function bodyOf(route: Route, text: string): unknown {
  if (!route.body) return {}
  if (text === '' && !route.body_may_be_empty) throw new LabError('invalid', 'the body is missing; send JSON')
  return checked(route.body, text === '' ? {} : parseJson(text, 'the body'), 'the body')
}
