// For tests: the demo bench, which is the whole service on simulated instruments, with a key of each scope, and helpers for requests.

import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import type { Hono } from 'hono'
import type { Test } from 'tap'
import { type Bench, openBench } from '../bench/bench.ts'
import { type Host, unknownHost } from '../care/host.ts'
import { type Config, checkConfig } from '../config.ts'
import { demoBench } from '../examples/demo_bench.ts'
import { app } from '../http/app.ts'
import type { Env } from '../http/contract.ts'
import { type Scope, scopes } from '../keys/keys.ts'
import { systemClock, type VirtualClock } from '../kit/clock.ts'
import { type Log, silent } from '../kit/log.ts'
import { Refusals } from '../kit/refusals.ts'
import { startService } from '../main.ts'
import { diskClock } from './kit.ts'

/** A test's request; `key` is that of scope admin by default, and none if null. */
export type Asking = {
  key?: Scope | null
  /** Sent as JSON, with its media type. */
  json?: unknown
  /** Sent as it is. */
  body?: string | Uint8Array
  headers?: Record<string, string>
}

/** `body` is the text parsed as JSON; undefined if it is not JSON. */
export type Reply = { status: number; headers: Headers; text: string; body: unknown }

export type Ask = (method: string, path: string, asking?: Asking) => Promise<Reply>

type Secrets = Record<Scope, string>

export type TestedBench = {
  bench: Bench
  hono: Hono<Env>
  clock: VirtualClock
  data_dir: string
  secrets: Secrets
  ask: Ask
  logged: string[]
  warned: string[]
}

/** Returns the demo's configuration with two more devices: a robot that another program drives, and a shaker for tests with faults. */
export async function benchConfig(more: object = {}): Promise<Config> {
  const devices = [
    ...demoBench.devices,
    { device_id: 'robot-1', driver: 'external' },
    { device_id: 'spare-1', driver: 'bioshake', transport: { kind: 'simulated' } },
  ]
  return checkConfig({ ...demoBench, devices, listen: { host: '127.0.0.1', port: 0 }, ...more }, 'the bench')
}

/** Returns the bounds for a server without a bench; `limits` replaces the usual ones. */
export async function usualBounds(limits: object = {}) {
  const config = await benchConfig({ limits })
  return { config, limits: () => config.limits, clock: systemClock, refusals: new Refusals({ log: silent, clock: systemClock }) }
}

/** `folder` is a data folder to reuse. A `time_scale` below 1, which a configuration may not have, makes the instruments slower than they report. */
type Opening = { safe?: string; topologies?: string; host?: Host; folder?: string; time_scale?: number }

/** Opens the app without a socket. Its clock advances only as far as a request needs, and no facts of the computer are known. */
export async function openTestBench(
  t: Test,
  more: object = {},
  { safe, topologies, host = unknownHost, folder, time_scale }: Opening = {},
): Promise<TestedBench> {
  const ending = atTheEnd(t)
  const clock = diskClock()
  const logged: string[] = []
  const warned: string[] = []
  const data_dir = folder ?? t.testdir({})
  const config = await benchConfig(more)
  const scaled = { ...config, time_scale: time_scale ?? config.time_scale }
  const bench = await openBench(scaled, { data_dir, topologies, safe, log: logInto(logged, warned), clock, host })
  ending.push(() => passed(clock, closed(bench)))
  await bench.openRuns()
  await clock.advance(1000)
  const hono = app(bench)
  const secrets = await makeKeys(bench)
  const ask: Ask = async (method, path, asking = {}) => {
    return replyOf(await clock.run(Promise.resolve(hono.request(path, requestOf(method, asking, secrets)))))
  }
  return { bench, hono, clock, data_dir, secrets, ask, logged, warned }
}

/** Opens the service on a local port. Simulated time passes by itself, and fast. */
export async function openService(t: Test, more: object = {}, { topologies }: { topologies?: string } = {}) {
  const ending = atTheEnd(t)
  const data_dir = t.testdir({})
  const [logged, warned]: [string[], string[]] = [[], []]
  const service = await startService(await benchConfig({ time_scale: 1000, ...more }), {
    data_dir,
    topologies,
    log: logInto(logged, warned),
  })
  ending.push(async () => {
    await service.close()
    await notedUses(service.bench)
  })
  await service.bench.openRuns()
  const secrets = await makeKeys(service.bench)
  const ask: Ask = async (method, path, asking = {}) => {
    return replyOf(await fetch(service.url + path, requestOf(method, asking, secrets)))
  }
  return {
    service,
    bench: service.bench,
    url: service.url,
    port: Number(new URL(service.url).port),
    data_dir,
    secrets,
    ask,
    logged,
    warned,
  }
}

/** Returns a list for work that is done before the test's folder is deleted. Call it before `t.testdir`: only then does tap keep that order. */
export function atTheEnd(t: Test): (() => Promise<unknown>)[] {
  const work: (() => Promise<unknown>)[] = []
  t.teardown(async () => {
    for (const end of work.reverse()) await end()
  })
  return work
}

/** Sends bytes to a server, and returns everything that it sends until it closes. The client's side stays open unless `end` is true. */
export async function said(port: number, bytes: string | Uint8Array, { end = false } = {}): Promise<string> {
  const socket = await dialled(port)
  const answer = heard(socket)
  socket.write(bytes)
  if (end) socket.end()
  return answer
}

/** Returns everything that a server sends on a socket until it closes. */
export async function heard(socket: Socket): Promise<string> {
  // A server that refuses a body may close before it has read all of it.
  socket.on('error', () => undefined)
  return text(socket).catch(() => '')
}

export function dialled(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => resolve(socket))
    socket.once('error', reject)
  })
}

/** Parses the HTTP answers in what a server sent, by their Content-Length. */
export function repliesIn(said: string): Reply[] {
  const replies: Reply[] = []
  let rest = Buffer.from(said)
  while (rest.length) {
    const end = rest.indexOf('\r\n\r\n')
    const [start = '', ...lines] = rest.subarray(0, end).toString().split('\r\n')
    const headers = new Headers(lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()]))
    const length = Number(headers.get('content-length') ?? 0)
    const content = rest.subarray(end + 4, end + 4 + length).toString()
    replies.push({ status: Number(start.split(' ')[1]), headers, text: content, body: parsed(content) })
    rest = rest.subarray(end + 4 + length)
  }
  return replies
}

/** Fails unless the answer is a well-formed refusal. */
export function isRefusal(t: Test, { status, headers, body, text }: Reply, wanted: number, reason?: string): void {
  const what = `${status} ${text.slice(0, 300)}`
  t.equal(status, wanted, what)
  t.same(Object.keys((body as object | undefined) ?? {}), ['detail'], what)
  const { detail } = (body ?? {}) as { detail?: unknown }
  t.ok(typeof detail === 'string' && detail.length > 0 && detail.length <= 300, what)
  t.match(headers.get('content-type'), /^application\/json/)
  t.equal(headers.get('x-api-version'), '2.1.0')
  t.match(headers.get('x-reason'), reason ?? /^[a-z_]+$/)
  t.equal(headers.get('www-authenticate') !== null, status === 401)
  if (status === 503 || headers.get('x-reason') === 'busy') t.match(headers.get('retry-after'), /^[1-9]\d*$/)
}

function requestOf(method: string, { key = 'admin', json, body, headers = {} }: Asking, secrets: Secrets): RequestInit {
  const content = json === undefined ? body : JSON.stringify(json)
  return {
    method,
    headers: {
      Host: 'localhost',
      ...(key && { 'X-API-Key': secrets[key] }),
      ...(json !== undefined && { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(content !== undefined && { body: content as NonNullable<RequestInit['body']> }),
  }
}

async function closed(bench: Bench): Promise<void> {
  await bench.close()
  await notedUses(bench)
}

/** Waits for the notes of the last use of keys, which are written after their requests. */
function notedUses({ keys }: Bench): Promise<void> {
  return keys.reload()
}

/** Advances the clock until the promise settles, which in the end may wait for the disk alone. */
async function passed(clock: VirtualClock, promise: Promise<unknown>): Promise<void> {
  let settled = false
  const mark = () => {
    settled = true
  }
  promise.then(mark, mark)
  while (!settled) await clock.advance(100)
  await promise
}

async function replyOf(response: Response): Promise<Reply> {
  const content = await response.text()
  return { status: response.status, headers: response.headers, text: content, body: parsed(content) }
}

function parsed(content: string): unknown {
  try {
    return JSON.parse(content)
  } catch {
    return undefined
  }
}

async function makeKeys({ keys }: Bench): Promise<Secrets> {
  const secrets: Partial<Secrets> = {}
  for (const scope of scopes) secrets[scope] = (await keys.create({ name: `key to ${scope}`, scope })).api_key
  return secrets as Secrets
}

function logInto(lines: string[], warned: string[] = []): Log {
  return {
    info() {},
    warn: (message) => void warned.push(message),
    error: (message, error) => void lines.push(`${message} ${error instanceof Error ? error.stack : (error ?? '')}`),
  }
}
