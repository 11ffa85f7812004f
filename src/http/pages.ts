// The public files, which need no key: the page of the bench, the page of the API, the OpenAPI document, the clients, and the
// schemas of files that people write.

import { createHash } from 'node:crypto'
import type { TLSSocket } from 'node:tls'
import type { Context, Hono, MiddlewareHandler } from 'hono'
import { secureHeaders } from 'hono/secure-headers'
import { LabError } from '../errors.ts'
import { commandHere } from '../kit/installation.ts'
import { readShipped } from '../kit/shipped.ts'
import { TokenBuckets } from '../kit/token_buckets.ts'
import type { Env } from './contract.ts'
import { notAllowed } from './direct.ts'
import { remoteAddress } from './entrance.ts'
import { guideNames } from './guide_names.ts'
import { type Pacing, pacedBody } from './paced_body.ts'
import { apiVersion } from './version.ts'

const html = 'text/html; charset=utf-8'
const python = 'text/x-python; charset=utf-8'
const css = 'text/css; charset=utf-8'
const schema = 'application/schema+json'
const javascript = 'text/javascript; charset=utf-8'

/** Keyed by path: the file beside this module, and its content type. */
const files: Record<string, [file: string, type: string]> = {
  '/': ['../../web/index.html', html],
  '/style.css': ['../../web/style.css', css],
  '/page.css': ['../../web/page.css', css],
  '/page.js': ['../../web/page.js', javascript],
  '/run.css': ['../../web/run.css', css],
  '/run.js': ['../../web/run.js', javascript],
  '/new_run.js': ['../../web/new_run.js', javascript],
  '/queue_start.js': ['../../web/queue_start.js', javascript],
  '/rehearsal.js': ['../../web/rehearsal.js', javascript],
  '/more.js': ['../../web/more.js', javascript],
  '/event_words.js': ['../../web/event_words.js', javascript],
  '/device.css': ['../../web/device.css', css],
  '/device.js': ['../../web/device.js', javascript],
  '/deck.js': ['../../web/deck.js', javascript],
  '/thread_colours.js': ['../../web/thread_colours.js', javascript],
  '/deck.css': ['../../web/deck.css', css],
  '/camera_tiles.js': ['../../web/camera_tiles.js', javascript],
  '/key_dialog.js': ['../../web/key_dialog.js', javascript],
  '/icon.svg': ['../../web/icon.svg', 'image/svg+xml'],
  '/clients/benchd.ts': ['../../web/clients/benchd.ts', 'text/plain; charset=utf-8'],
  '/clients/benchd.py': ['../../web/clients/benchd.py', python],
  '/clients/benchd_pylabrobot.py': ['../../web/clients/benchd_pylabrobot.py', python],
  '/clients/benchd_bridge.py': ['../../web/clients/benchd_bridge.py', python],
  '/clients/benchd_bridge_pylabrobot.py': ['../../web/clients/benchd_bridge_pylabrobot.py', python],
  '/clients/benchd_bridge_arms.py': ['../../web/clients/benchd_bridge_arms.py', python],
  '/clients/recipes/madsci_node.py': ['../../web/clients/recipes/madsci_node.py', python],
  '/clients/recipes/orca_driver.py': ['../../web/clients/recipes/orca_driver.py', python],
  '/clients/recipes/opentrons_protocol.py': ['../../web/clients/recipes/opentrons_protocol.py', python],
  '/clients/recipes/node_red_flow.json': ['../../web/clients/recipes/node_red_flow.json', 'application/json'],
  '/clients/benchd.js': ['../../web/clients/benchd.js', javascript],
  '/docs': ['docs/index.html', html],
  '/docs/docs.css': ['docs/docs.css', css],
  '/docs/docs.js': ['docs/docs.js', javascript],
  '/docs/element.js': ['docs/element.js', javascript],
  '/docs/key.js': ['docs/key.js', javascript],
  '/docs/request.js': ['docs/request.js', javascript],
  '/docs/schema.js': ['docs/schema.js', javascript],
  '/openapi.json': ['openapi.json', 'application/json'],
  '/schemas/workflow.schema.json': ['../schemas/workflow.schema.json', schema],
  '/schemas/topology.schema.json': ['../schemas/topology.schema.json', schema],
  '/schemas/config.schema.json': ['../schemas/config.schema.json', schema],
}

/** The guides, made by scripts/guides.mjs. */
for (const guide of guideNames) files[`/docs/guides/${guide}`] = [`../../web/guides/${guide}.html`, html]

/** The page of a coordinator. */
const filesOfLab: typeof files = {
  '/': ['../../web/lab.html', html],
  '/style.css': files['/style.css']!,
  '/page.css': files['/page.css']!,
  '/run.css': files['/run.css']!,
  '/lab.js': ['../../web/lab.js', javascript],
  '/openapi.json': ['openapi-lab.json', 'application/json'],
  ...Object.fromEntries(
    Object.entries(files).filter(([path]) => /^\/(icon\.svg|key_dialog\.js|docs|docs\/\w+\.(js|css)|docs\/guides\/lab)$/.test(path)),
  ),
}

/** Lists `GET /path` of each file. */
const pathsOf = (files: object): readonly string[] => Object.keys(files).map((path) => `GET ${path}`)
export const publicPages = pathsOf(files)
export const publicLabPages = pathsOf(filesOfLab)

/** Security headers: all content comes from this service, none is inline, and the pages may not be framed. */
const secure: MiddlewareHandler<Env> = secureHeaders({
  contentSecurityPolicy: { defaultSrc: ["'self'"], baseUri: ["'none'"], formAction: ["'none'"], frameAncestors: ["'none'"] },
  xFrameOptions: 'DENY',
  // Over plain HTTP the first header would lock people out, and browsers ignore the others with a warning.
  strictTransportSecurity: false,
  crossOriginOpenerPolicy: false,
  originAgentCluster: false,
})

/** The burst of files as a multiple of those of a second, since a browser requests several for a page. */
const burst = 8

type Shipped = { bytes: Uint8Array<ArrayBuffer>; etag: string }

/** The piece size over TLS, which copies each piece, so that a client that takes nothing holds only one. */
const piece_bytes = 64 * 1024

/** Serves the files. Each is read once, at its first request, so that a bench without browsers holds none. */
export function servePages(hono: Hono<Env>, pacing: Pacing, of: 'bench' | 'lab' = 'bench'): void {
  const mustNotBeMany = rateByAddress(pacing)
  for (const [path, [file, type]] of Object.entries(of === 'bench' ? files : filesOfLab)) {
    const url = new URL(file, import.meta.url)
    let shipped: Promise<Shipped> | undefined
    hono.use(path, versioned, secure)
    hono.all(path, async (c) => {
      if (c.req.method !== 'GET' && c.req.method !== 'HEAD') return notAllowed(c, ['GET', 'HEAD'])
      shipped ??= type === html ? readPage(url) : read(url)
      // A failed page is read again at the next request.
      shipped.catch(() => {
        shipped = undefined
      })
      const { bytes, etag } = await shipped
      const headers = { ETag: etag, 'Cache-Control': 'no-cache' }
      if (c.req.header('if-none-match')?.includes(etag)) return c.body(null, 304, headers)
      mustNotBeMany(remoteAddress(c.env))
      return answered(pacing, c, bytes, { ...headers, 'Content-Type': type, 'Content-Length': String(bytes.length) })
    })
  }
}

async function read(url: URL): Promise<Shipped> {
  return shippedOf(await readShipped(url))
}

/** Reads a page, and inserts how commands are typed on this computer. */
async function readPage(url: URL): Promise<Shipped> {
  const page = new TextDecoder().decode(await readShipped(url))
  return shippedOf(new TextEncoder().encode(page.replace('content="benchd"', () => `content="${commandHere().replaceAll('"', '&quot;')}"`)))
}

function shippedOf(bytes: Shipped['bytes']): Shipped {
  return { bytes, etag: `"${createHash('sha256').update(bytes).digest('base64url')}"` }
}

/**
 * Makes a function that throws `overloaded` for an address that requests too many files, because a client without a key could keep the computer busy. On
 * the control socket there is no address and no bound.
 */
function rateByAddress({ clock, config, refusals }: Pacing): (address: string | undefined) => void {
  let perSecond = 0
  let buckets: TokenBuckets
  return (address) => {
    if (address === undefined) return
    const { pages_per_address } = config.limits
    // A reload may have changed the setting.
    if (perSecond !== pages_per_address) {
      perSecond = pages_per_address
      buckets = new TokenBuckets({ burst: burst * perSecond, perSecond, now: () => clock.now() })
    }
    if (buckets.take(address)) return
    const sentence = `${address} asks for more than ${perSecond} files a second`
    refusals.count(
      'pages_per_address',
      `a request was refused: ${sentence}; limits.pages_per_address of the configuration says how many are sent`,
    )
    throw new LabError('overloaded', `${sentence}; ask again in a moment`, { retry_after_s: 1 })
  }
}

function answered(pacing: Pacing, c: Context<Env>, bytes: Shipped['bytes'], whole: Record<string, string>): Response {
  if (c.req.method === 'HEAD') return c.body(null, 200, whole)
  const isCopied = (c.env?.incoming?.socket as TLSSocket | undefined)?.encrypted
  if (!isCopied || bytes.length <= piece_bytes) return c.body(bytes, 200, whole)
  return c.body(pacedBody(pacing, { pieces: piecesOf(bytes), response: c.env?.outgoing }).body, 200, whole)
}

async function* piecesOf(bytes: Uint8Array): AsyncGenerator<Uint8Array, undefined> {
  for (let at = 0; at < bytes.length; at += piece_bytes) yield bytes.subarray(at, at + piece_bytes)
}

const versioned: MiddlewareHandler<Env> = async (c, next) => {
  await next()
  c.res.headers.set('X-API-Version', apiVersion)
}
