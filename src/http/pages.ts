// The files that a browser gets without a key: the page of the bench, the page of the API, and the OpenAPI document.

import type { Hono, MiddlewareHandler } from 'hono'
import { etag } from 'hono/etag'
import { secureHeaders } from 'hono/secure-headers'
import { readShipped } from '../kit/files.ts'
import type { Env } from './contract.ts'
import { apiVersion } from './version.ts'

const html = 'text/html; charset=utf-8'
const css = 'text/css; charset=utf-8'
const javascript = 'text/javascript; charset=utf-8'

/** By path: the file beside this module, and what it is. */
const files: Record<string, [file: string, type: string]> = {
  '/': ['pages/index.html', html],
  '/page.css': ['pages/page.css', css],
  '/page.js': ['pages/page.js', javascript],
  '/key.js': ['pages/key.js', javascript],
  '/live.js': ['pages/live.js', javascript],
  '/icon.svg': ['pages/icon.svg', 'image/svg+xml'],
  '/docs': ['docs/index.html', html],
  '/docs/docs.css': ['docs/docs.css', css],
  '/docs/docs.js': ['docs/docs.js', javascript],
  '/docs/element.js': ['docs/element.js', javascript],
  '/docs/request.js': ['docs/request.js', javascript],
  '/docs/schema.js': ['docs/schema.js', javascript],
  '/openapi.json': ['openapi.json', 'application/json'],
}

/** `GET /path` of each: what needs no key. */
export const publicPages: readonly string[] = Object.keys(files).map((path) => `GET ${path}`)

/** Everything is from here, nothing stands in the HTML itself, and nobody may put the pages into a frame. */
const secure: MiddlewareHandler<Env> = secureHeaders({
  contentSecurityPolicy: { defaultSrc: ["'self'"], baseUri: ["'none'"], formAction: ["'none'"], frameAncestors: ["'none'"] },
  xFrameOptions: 'DENY',
  // The service is spoken to over plain HTTP: the first would lock people out, the others are ignored there with a warning.
  strictTransportSecurity: false,
  crossOriginOpenerPolicy: false,
  originAgentCluster: false,
})

/** Each is read when it is asked for: a bench that no browser looks at holds none of them. */
export function servePages(hono: Hono<Env>): void {
  for (const [path, [file, type]] of Object.entries(files)) {
    hono.use(path, versioned, secure, etag())
    const url = new URL(file, import.meta.url)
    hono.get(path, async (c) => c.body(await readShipped(url), 200, { 'Content-Type': type, 'Cache-Control': 'no-cache' }))
  }
}

const versioned: MiddlewareHandler<Env> = async (c, next) => {
  await next()
  c.res.headers.set('X-API-Version', apiVersion)
}
