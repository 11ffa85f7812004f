// The skin: routes, the checks in the order that is promised, and errors as answers.

import { type Context, Hono } from 'hono'
import { cors } from 'hono/cors'
import { TrieRouter } from 'hono/router/trie-router'
import type { Bench } from '../bench/bench.ts'
import { LabError } from '../errors.ts'
import { subjectOf } from './audit_subjects.ts'
import { BodyReader } from './body.ts'
import { caller } from './call.ts'
import { protectConnection } from './connections.ts'
import type { Env, Exchange, Route } from './contract.ts'
import { type Direct, directly, entriesLater, entriesOf, throughHono } from './direct.ts'
import { type Entrance, entrance } from './entrance.ts'
import { answerError, answerFailure } from './errors.ts'
import { idempotent, takesIdempotencyKey } from './idempotency.ts'
import { mustBeAsShown } from './if_state.ts'
import { mayHaveChanged } from './live/board.ts'
import { thenMaybe } from './maybe_promise.ts'
import { mcpRoutes } from './mcp.ts'
import { nearPath } from './near_paths.ts'
import { publicPages, servePages } from './pages.ts'
import { pluginCalls } from './plugin_calls.ts'
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
    'X-Operator',
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
  const { enter, admits } = entrance(bench)
  const failed = (c: Exchange, error: unknown) => {
    if (error instanceof LabError && error.code === 'storage') bench.onRefusedWrite(error)
    return answerFailure(bench.log, c, error)
  }
  const mustBeOpen = (route: Route<Bench>) => {
    mustNotBeStopping(bench, route)
    mustNotBeSafeMode(bench, route)
  }
  const answer = caller({ rooms: bench, bodies: new BodyReader(bench), ask: asking(hono), mustBeOpen, before: guarded(bench) })
  const aboutRuns = async () => {
    const [{ runRoutes }] = await Promise.all([import('./run_routes.ts'), bench.openRuns()])
    return entriesOf(runRoutes, answer)
  }
  const entries = [...entriesOf([...serviceRoutes, ...mcpRoutes], answer), ...entriesLater(runPaths, aboutRuns, nothingAt)]
  const route = directly(entries, enter, failed)
  // A reload changes them.
  const origins = () => bench.config.cors.origins
  const crossOrigin = cors({ ...forBrowsers, origin: (origin) => (origins().includes(origin) ? origin : null) })
  const around = (c: Context<Env>, proceed: () => Promise<void>) =>
    origins().length === 0 || isPlainOptions(c) ? proceed() : crossOrigin(c, proceed)
  hono.onError((error, c) => failed(c, error))
  hono.notFound((c) => answerError(c, nothingAt(c.req.path, paths)))
  const through = hono.fetch
  let isWhole = false
  hono.fetch = (request, env, context) => {
    // The pages are made for the first request that needs them: on many benches none does.
    if (!isWhole) {
      throughHono(hono, { direct: route, enter, publicPages, around })
      servePages(hono, bench)
    }
    isWhole = true
    return through(request, env, context)
  }
  // Pages of other origins need headers that Hono's middleware adds.
  const direct: Direct = (asked, env) => (origins().length === 0 ? route(asked, env) : undefined)
  bench.plugins.connect(pluginCalls(hono))
  return Object.assign(hono, { direct, admits })
}

function nothingAt(path: string, paths: readonly string[]): LabError {
  return new LabError('not_found', `there is nothing at ${path}${nearPath(path, paths)}; /docs shows what there is`)
}

/** Asks the service as somebody with a shell on this machine does. */
function asking(hono: Hono<Env>): (path: string) => Promise<string> {
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

/** Throws `stopping` for a change that would be acknowledged, and might not be kept. A stop is always taken. */
function mustNotBeStopping({ is_stopping }: Bench, { method, scope }: Route): void {
  if (!is_stopping || method === 'GET' || scope === 'any' || scope === 'public') return
  throw new LabError('stopping', 'the service is stopping, and nothing was done; send it again when the service is back', {
    retry_after_s: 5,
  })
}

/** Protects the connection, and carries a request out once where it says so, and only while its thing is as it was shown. */
function guarded(bench: Bench): NonNullable<Parameters<typeof caller<Bench>>[0]['before']> {
  return ({ route, c, param, bytes }, handle) => {
    const audited = c.get('audited')
    if (audited && !route.is_unrecorded) audited.subject = subjectOf(bench, audited.parameters)
    // A connection whose body still comes can be replaced by others, and so can one without a key.
    if (route.scope !== 'public')
      protectConnection(c.env?.incoming, c.env?.outgoing, route.scope === 'any' ? undefined : c.get('principal').key_id)
    const shown = route.state_of && c.req.header('if-state')
    const handleAsShown = () =>
      shown ? mustBeAsShown(bench, { shown, present: route.state_of!(bench, param), path: c.req.path }).then(handle) : handle()
    const answer = takesIdempotencyKey(route) ? idempotent(bench, route, c, bytes, handleAsShown) : handleAsShown()
    if (route.method === 'GET' || route.is_unrecorded) return answer
    return thenMaybe(answer, (response) => {
      mayHaveChanged(bench)
      return response
    })
  }
}
