// The skin: routes, the checks in the order that is promised, and errors as answers.

import { type Context, Hono, type MiddlewareHandler } from 'hono'
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
import { type Direct, DirectExchange, finderOf } from './direct.ts'
import { type Enter, type Entrance, entrance } from './entrance.ts'
import { answerError, answerFailure } from './errors.ts'
import { requestIdOf } from './headers.ts'
import { idempotent, takesIdempotencyKey } from './idempotency.ts'
import { mustBeAsShown } from './if_state.ts'
import { catchMaybe, type MaybePromise } from './maybe_promise.ts'
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
  const hono = plain(bench, [...serviceRoutes.map(({ path }) => path), ...runRoots])
  const isPublic = publicity([
    ...publicPages,
    ...serviceRoutes.filter(({ scope }) => scope === 'public').map(({ method, path }) => `${method} ${path}`),
  ])
  // A reload changes them.
  const origins = () => bench.config.cors.origins
  const crossOrigin = cors({ ...forBrowsers, origin: (origin) => (origins().includes(origin) ? origin : null) })
  const { enter, admits } = entrance(bench, isPublic)
  const shared = { bench, bodies: new BodyReader(bench), ask: asking(hono) }
  const direct = directly(shared, enter, origins)
  const through = hono.fetch
  // The rest is made for the first request that needs it: on many benches none does.
  const whole = once(() => {
    entered(hono, { enter, crossOrigin, origins })
    servePages(hono, bench)
    addRoutes(hono, shared, serviceRoutes)
    const aboutRuns = loadedLater(() => appOfRuns(shared))
    for (const path of runPaths) hono.all(path, aboutRuns)
  })
  hono.fetch = (request, env, context) => {
    const answer = direct({ method: request.method, path: pathOf(request.url), raw: request }, env)
    if (answer) return answer
    whole()
    return through(request, env, context)
  }
  return Object.assign(hono, { direct, admits })
}

/** The path of an address as Hono reads it, and its query. */
function pathOf(url: string): string {
  return url.slice(url.indexOf('/', url.indexOf(':') + 4))
}

function once(work: () => void): () => void {
  let isDone = false
  return () => {
    if (!isDone) work()
    isDone = true
  }
}

type Entering = { enter: Enter; crossOrigin: MiddlewareHandler; origins: () => readonly string[] }

function entered(hono: Hono<Env>, { enter, crossOrigin, origins }: Entering): void {
  // One step for both: each costs a round of promises.
  hono.use((c, next) => {
    const entered = async () => {
      const answer = await enter(c, async () => {
        await next()
        return c.res
      })
      if (!c.finalized) c.res = answer
    }
    return origins().length === 0 || isPlainOptions(c) ? entered() : crossOrigin(c, entered)
  })
}

/** Returns a request past Hono where that comes to the same. Pages of other origins need headers that Hono's middleware adds. */
function directly(shared: Shared, enter: Enter, origins: () => readonly string[]): Direct {
  const find = finderOf(serviceRoutes)
  return (asked, env) => {
    const found = origins().length === 0 ? find(asked.method, asked.path) : undefined
    if (!found) return undefined
    const { route, params } = found
    const c = new DirectExchange(asked, env)
    const proceed = () => call(shared, route, c, (name) => params[name] ?? '')
    return enter(c, () => catchMaybe(proceed, (error) => failed(shared.bench, c, error)))
  }
}

function plain(bench: Bench, paths: readonly string[]): Hono<Env> {
  // The one that Hono comes to by itself for paths like these, after it has built another.
  const hono = new Hono<Env>({ router: new TrieRouter() })
  hono.onError((error, c) => failed(bench, c, error))
  hono.notFound((c) =>
    answerError(c, new LabError('not_found', `there is nothing at ${c.req.path}${nearPath(c.req.path, paths)}; /docs shows what there is`)),
  )
  return hono
}

function failed(bench: Bench, c: Exchange, error: unknown): Response {
  if (error instanceof LabError && error.code === 'storage') bench.onRefusedWrite(error)
  return answerFailure(bench.log, c, error)
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

function addRoutes(hono: Hono<Env>, shared: Shared, routes: readonly Route<Bench>[]): void {
  for (const route of routes) hono.on(route.method, route.path, (c) => call(shared, route, c, (name) => c.req.param(name) ?? ''))
  refuseOtherMethods(hono)
}

/** Answers 405 for a path that is there with another method. */
export function refuseOtherMethods(hono: Hono<Env>): void {
  for (const [path, methods] of methodsByPath(hono)) hono.all(path, (c) => notAllowed(c, methods))
}

/** Hands a request that has passed the entrance to another app, which is made for the first one. */
function loadedLater(make: () => Promise<Hono<Env>>): (c: Context<Env>) => Promise<Response> {
  let made: Hono<Env> | undefined
  return async (c) => {
    made ??= await make()
    return made.fetch(c.req.raw, { ...c.env, principal: c.get('principal'), request_id: requestIdOf(c) })
  }
}

async function appOfRuns(shared: Shared): Promise<Hono<Env>> {
  const { bench } = shared
  const [{ runRoutes }] = await Promise.all([import('./run_routes.ts'), bench.openRuns()])
  const hono = plain(
    bench,
    runRoutes.map(({ path }) => path),
  )
  hono.use((c, next) => {
    c.set('principal', c.env!.principal!)
    c.set('request_id', c.env!.request_id!)
    return next()
  })
  addRoutes(hono, shared, runRoutes)
  return hono
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

function methodsByPath({ routes }: Hono<Env>): Map<string, string[]> {
  const found = new Map<string, string[]>()
  for (const { path, method } of routes.filter(({ method }) => method !== 'ALL')) {
    found.set(path, [...(found.get(path) ?? []), ...(method === 'GET' ? ['GET', 'HEAD'] : [method])])
  }
  return found
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

function notAllowed(c: Context, methods: readonly string[]): Response {
  c.header('Allow', methods.join(', '))
  return answerError(c, new LabError('method_not_allowed', `${c.req.method} is not for ${c.req.path}; use ${methods.join(', ')}`))
}
