import { readdirSync, readFileSync } from 'node:fs'
import type { IncomingMessage } from 'node:http'
import { gzipSync } from 'node:zlib'
import { Hono } from 'hono'
import { test } from 'tap'
import { VirtualClock } from '../kit/clock.ts'
import { readShipped } from '../kit/shipped.ts'
import { usualBounds } from '../testing/http.ts'
import type { Env } from './contract.ts'
import { answerError } from './errors.ts'
import { publicPages, servePages } from './pages.ts'
import { apiVersion } from './version.ts'

const hono = new Hono<Env>()
// Nobody takes what is asked for here: the clock stands still.
servePages(hono, { ...(await usualBounds()), clock: new VirtualClock() })
const paths = publicPages.map((page) => page.replace('GET ', ''))

test('every public page is served as what it is, with its version, and may be kept if it is asked about', async (t) => {
  for (const path of paths) {
    const answer = await hono.request(path)
    t.equal(answer.status, 200, path)
    t.match(answer.headers.get('content-type'), typeOf(path), path)
    t.equal(answer.headers.get('x-api-version'), apiVersion, path)
    t.equal(answer.headers.get('cache-control'), 'no-cache', path)
    t.match(answer.headers.get('etag'), /^"[\w-]{43}"$/, path)
  }
})

test('the guides lead to each other, to their headings, and to nothing that is not on the bench', async (t) => {
  const guides = paths.filter((path) => path.startsWith('/docs/guides/'))
  const texts = new Map(await Promise.all(guides.map(async (path) => [path, await (await hono.request(path)).text()] as const)))
  t.ok(texts.size >= 6)
  for (const [path, text] of texts) {
    t.match(text, /<h1 id=/, path)
    t.notMatch(text, /<script|<img|style=|README\.md"/, path)
    for (const [, href = ''] of text.matchAll(/ href="([^"]+)"/g)) {
      const { origin, pathname, hash } = new URL(href, `http://bench${path}`)
      if (origin !== 'http://bench') continue
      t.ok(paths.includes(pathname), `${path}: ${href}`)
      if (hash && texts.has(pathname)) t.ok(texts.get(pathname)!.includes(` id="${hash.slice(1)}"`), `${path}: ${href}`)
    }
  }
  t.match(await (await hono.request('/docs')).text(), /href="docs\/guides\/care"/)
})

test('the OpenAPI document is served without white space, and says what the committed one says', async (t) => {
  const text = await (await hono.request('/openapi.json')).text()
  const committed = new TextDecoder().decode(await readShipped(new URL('../../../src/http/openapi.json', import.meta.url)))
  t.equal(text, `${JSON.stringify(JSON.parse(committed))}\n`)
  t.ok(text.length < committed.length * 0.6)
})

test('an address that asks for too many files is refused for a moment, and no other', async (t) => {
  const clock = new VirtualClock()
  const its = new Hono<Env>().onError((error, c) => answerError(c, error))
  servePages(its, { ...(await usualBounds({ pages_per_address: 2 })), clock })
  const status = async (remoteAddress: string, headers = {}) =>
    (await its.request('/icon.svg', { headers }, { incoming: { socket: { remoteAddress } } as unknown as IncomingMessage })).status
  const etag = (await its.request('/icon.svg')).headers.get('etag')!
  for (let i = 0; i < 16; i++) t.equal(await status('10.0.0.1'), 200)
  t.equal(await status('10.0.0.1'), 503)
  t.equal(await status('10.0.0.1', { 'If-None-Match': etag }), 304, 'what a browser has already is not sent')
  t.equal(await status('10.0.0.2'), 200)
  await clock.advance(1000)
  t.same([await status('10.0.0.1'), await status('10.0.0.1'), await status('10.0.0.1')], [200, 200, 503])
})

test('a page that the browser has already is not sent again', async (t) => {
  const etag = (await hono.request('/')).headers.get('etag')!
  const again = await hono.request('/', { headers: { 'If-None-Match': etag } })
  t.equal(again.status, 304)
  t.equal(await again.text(), '')
  t.equal(again.headers.get('x-api-version'), apiVersion)
  t.match(again.headers.get('content-security-policy'), /default-src 'self'/)
})

test('the pages may load from this service alone and ask for no encryption that is not there', async (t) => {
  const { headers } = await hono.request('/docs')
  t.equal(headers.get('content-security-policy'), "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'")
  t.equal(headers.get('x-content-type-options'), 'nosniff')
  t.notOk(headers.has('strict-transport-security'))
})

test('nothing of the pages is at another address, or script or style in the HTML itself', async (t) => {
  for (const path of paths.filter((path) => !path.endsWith('.json') && !path.startsWith('/clients/'))) {
    const whole = await (await hono.request(path)).text()
    // A guide may name addresses, and lead to them.
    const text = path.startsWith('/docs/guides/') ? (whole.match(/<(?!a )[^>]+>/g) ?? []).join('') : whole
    // Names of markup languages are no addresses.
    t.same(text.replaceAll(/http:\/\/www\.w3\.org\/[\w/]+/g, '').match(/(https?:)?\/\/[a-z0-9]/gi), null, path)
    if (!typeOf(path).test('text/html')) continue
    t.notMatch(text, /<style|\sstyle=|\son[a-z]+=|<script(?![^>]*\ssrc=)/i, path)
  }
})

test('everything that a page refers to is served', async (t) => {
  for (const path of paths.filter((path) => !path.endsWith('.json'))) {
    const text = await (await hono.request(path)).text()
    const references = [...text.matchAll(/(?:\b(?:href|src)="|from ')([^"'#]+)["'#]/g)].map(
      ([, found]) => new URL(found!, `http://bench${path}`).pathname,
    )
    for (const reference of references) t.ok(paths.includes(reference), `${path} refers to ${reference}`)
  }
})

test('a page never writes markup from data', async (t) => {
  // Preact could write markup, where a part asks it to.
  const web = new URL('../../../src/web/', import.meta.url)
  const parts = readdirSync(web, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.tsx'))
  t.ok(parts.length > 8)
  for (const path of parts) t.notMatch(readFileSync(new URL(path, web), 'utf8'), /dangerouslySetInnerHTML|innerHTML|outerHTML/, path)
  for (const path of paths.filter((path) => path.endsWith('.js') && path !== '/page.js')) {
    t.notMatch(
      await (await hono.request(path)).text(),
      /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function/,
      path,
    )
  }
})

test('what is not a page is left to others', async (t) => {
  t.equal((await hono.request('/pages/index.html')).status, 404)
  t.equal((await hono.request('/docs/../../package.json')).status, 404)
})

function typeOf(path: string): RegExp {
  const ending = /\.(\w+)$/.exec(path)?.[1] ?? 'html'
  return {
    html: /^text\/html/,
    css: /^text\/css/,
    js: /^text\/javascript/,
    ts: /^text\/plain/,
    py: /^text\/x-python/,
    svg: /^image\/svg\+xml/,
    json: /^application\/(schema\+)?json/,
  }[ending]!
}

test('the first screen is small, and the whole page with its charts is', async (t) => {
  const compressed = async (files: readonly string[]) => {
    let bytes = 0
    for (const path of files) bytes += gzipSync(await (await hono.request(path)).text()).length
    return bytes
  }
  const first = await compressed(['/page.js', '/page.css', '/style.css'])
  t.ok(first <= 41_000, `${first} bytes, compressed`)
  t.ok(first > 10_000)
  const deck = await compressed(['/deck.js'])
  t.ok(deck <= 9000 && deck > 4000, `${deck} bytes of the deck, compressed`)
  const later = await compressed(['/more.js', '/device.js'])
  t.ok(first + later <= 90_000, `${first + later} bytes, compressed`)
  t.ok(later > 30_000, 'the charts are among them')
})

test('every script that the build makes for the page is served', (t) => {
  const made = readdirSync(new URL('../../../dist/web/', import.meta.url)).filter((name) => name.endsWith('.js') && name !== 'lab.js')
  t.same(
    made.filter((name) => !paths.includes(`/${name}`)),
    [],
  )
  t.ok(made.length > 3)
  t.end()
})
