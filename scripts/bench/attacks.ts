// Attacks of a client that wants to end the service, or to keep the stop out: memory, stops, and places while they go on.

import { execFileSync } from 'node:child_process'
import { availableParallelism, getPriority, loadavg, setPriority } from 'node:os'
import { setTimeout as wait } from 'node:timers/promises'
import type { Attack, Came } from './attacks/attacker.ts'
import { groupsOf, startTarget, type Target } from './attacks/service.ts'
import { bench, median, type Row, row } from './bench.ts'
import { startChild } from './child.ts'

type Attacking = Pick<Attack, 'connections' | 'head'> &
  Partial<Pick<Attack, 'filler' | 'reads' | 'again' | 'more' | 'resumes'>> & { tls?: 'silent'; addresses?: number }

const lines = (method: string, path: string, ...headers: string[]) =>
  [`${method} ${path} HTTP/1.1`, 'Host: localhost', ...headers, '', ''].join('\r\n')
const get = (path: string, key?: string) => lines('GET', path, ...(key ? [`X-API-Key: ${key}`] : []))
const post = (path: string, key: string, body: object | string) => {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  return lines('POST', path, `X-API-Key: ${key}`, 'Content-Type: application/json', `Content-Length: ${text.length}`) + text
}
const bulk = (key: string) =>
  lines('POST', '/api/teachpoints/bulk', `X-API-Key: ${key}`, 'Content-Type: application/json', 'Content-Length: 2097152')

/** As many headers as fit into 16 KiB. */
const short = Array.from({ length: 3000 }, () => 'a:')
const unlike = Array.from({ length: 1900 }, (_, i) => `${i.toString(36)}:`)
/** As many as are answered. */
const hundred = Array.from({ length: 90 }, (_, i) => `${i}: ${'v'.repeat(150)}`)
const chunked = ['Content-Type: application/json', 'Transfer-Encoding: chunked']
const tiny = '1\r\n \r\n'
const wrongKey = `bk_abcdefgh_${'A'.repeat(43)}`
/** The id is that of a key, the secret is not. */
const likeTheRight = (key: string) => `${key.slice(0, 12)}${'A'.repeat(43)}`

/** A flood of requests, each sent when the one before was answered; the connections are kept. */
const flood = (connections: number, head: string) => ({ connections, head, more: head, again: 'answered' as const, reads: true })

const chunks = (path: string) => ({ ...flood(256, lines('POST', path, ...chunked)), more: tiny.repeat(5000), again: 'sent' as const })

/**
 * By name. By default the attacker has the same address as the client that stops, as behind one router; `--from 127.0.0.2` gives it its own.
 * Of each the attacker keeps so many connections, and comes back when it is cut off.
 */
const attacks: Record<string, (target: Target) => Attacking[] | Promise<Attacking[]>> = {
  'pipelined /openapi.json': () => [{ connections: 1, head: get('/openapi.json').repeat(1000) }],
  'pipelined /health': () => [{ connections: 16, head: get('/health').repeat(1000), reads: true }],
  'silent connections': () => [{ connections: 700, head: '', tls: 'silent' }],
  'half a header': () => [{ connections: 700, head: 'GET /health HTTP/1.1\r\nHost: loc' }],
  'half a TLS record': () => [{ connections: 700, head: '\x16\x03\x01\x02\x00\x01\x00', tls: 'silent' }],
  'answers not taken': () => [{ connections: 700, head: get('/openapi.json').repeat(8) }],
  'streams and waits of one key': ({ keys: { read } }) => [
    { connections: 256, head: get('/events/stream', read), reads: true },
    { connections: 344, head: get('/events?since=9e9&wait=60', read), reads: true },
  ],
  'answers of one key not taken': ({ keys: { read } }) => [{ connections: 512, head: get('/events?limit=2000', read).repeat(8) }],
  'the whole log, 60 lanes': ({ keys: { read } }) => [{ connections: 60, head: get('/events', read), reads: true }],
  'bodies that stop': ({ keys: { operate } }) => [{ connections: 500, head: bulk(operate), filler: { bytes: 65_536, times: 31 } }],
  'bodies that never begin': ({ keys: { operate } }) => [{ connections: 700, head: bulk(operate) }],
  'short headers, pipelined': () => [{ connections: 256, head: lines('GET', '/health', ...short).repeat(8), reads: true }],
  'headers of many names, pipelined': () => [{ connections: 256, head: lines('GET', '/health', ...unlike).repeat(8) }],
  'a hundred headers, pipelined': () => [
    { ...flood(256, lines('GET', '/health', ...hundred)), head: lines('GET', '/health', ...hundred).repeat(8), again: 'sent' },
  ],
  'a hundred headers, many addresses': () => [
    { connections: 700, addresses: 64, head: lines('GET', '/api/devices', ...hundred).repeat(8) },
  ],
  'stops without a key': () => [flood(400, lines('POST', '/api/stop'))],
  'stops with a wrong key': () => [flood(400, lines('POST', '/api/stop', `X-API-Key: ${wrongKey}`))],
  'stops with the id of a key': ({ keys: { read } }) => [flood(400, lines('POST', '/api/stop', `X-API-Key: ${likeTheRight(read)}`))],
  'stops for a wrong Host': ({ keys: { read } }) => [
    flood(400, lines('POST', '/api/stop', `X-API-Key: ${read}`).replace('localhost', 'other.example')),
  ],
  'stops of 1,000 connections': () => [{ ...flood(1000, lines('POST', '/api/devices/shaker-1/stop')), addresses: 20 }],
  'stops without a key, pipelined': () => [{ ...flood(256, lines('POST', '/api/stop').repeat(8)), again: 'sent' }],
  'GET of a stop': () => [flood(400, lines('GET', '/api/stop'))],
  'stops of HTTP/1.0': () => [{ connections: 400, head: lines('POST', '/api/stop').replace('1.1', '1.0'), reads: true }],
  'unknown Expect': () => [flood(400, lines('POST', '/api/devices/shaker-1/shake', 'Expect: much', 'Content-Length: 0'))],
  'CONNECT and Upgrade': () => [
    flood(200, lines('CONNECT', 'localhost:1')),
    flood(200, lines('GET', '/health', 'Connection: Upgrade', 'Upgrade: websocket')),
  ],
  'queries and cookies': ({ keys: { read } }) => [
    flood(100, lines('GET', `/api/devices?${Array.from({ length: 1900 }, (_, i) => `q${i}=`).join('&')}`, `X-API-Key: ${read}`)),
    flood(100, lines('GET', '/api/devices', `X-API-Key: ${wrongKey}`, `Cookie: ${'c=1; '.repeat(3000)}`)),
  ],
  'small chunks': () => [chunks('/api/keys/requests')],
  'small chunks unread': () => [chunks('/health')],
  'slow bodies': () => [
    { connections: 500, addresses: 16, head: lines('POST', '/api/keys/requests', ...chunked), more: tiny, again: 'slowly' },
  ],
  trailers: () => [flood(256, `${lines('POST', '/api/keys/requests', ...chunked)}${tiny}0\r\n${short.join('\r\n')}\r\n\r\n`)],
  'trailers unread': () => [flood(256, `${lines('POST', '/health', ...chunked)}${tiny}0\r\n${unlike.join('\r\n')}\r\n\r\n`)],
  'sessions taken up': () => [{ connections: 400, head: lines('GET', '/health', 'Connection: close'), reads: true, resumes: true }],
  'dry runs of 1,000 groups': ({ keys: { operate } }) => [
    flood(8, post('/api/simulations', operate, { workflow: 'smc_assay', run_mode: 'PURE_SIM', groups: groupsOf(1000) })),
  ],
  'reads of a run of 1,000 groups': async ({ keys: { read }, run }) => {
    const execution_id = await run(1000)
    return ['', '/threads', '/why', '/blockers', '/timeline'].map((what) => flood(10, get(`/api/executions/${execution_id}${what}`, read)))
  },
}

const most = { rss_mib: 200, stop_ms: 500, crowded_ms: 2000, free_s: 15 }

export const attacksBench = bench({
  name: 'attacks',
  summary: `while it is attacked: memory (at most ${most.rss_mib} MiB), stops (${most.stop_ms} ms), and places free again (${most.free_s} s)`,
  options: { stops: 20, events: 20_000, only: '', over: 'plain,tls', from: '127.0.0.1', seconds: 1.5 },
  async run({ stops, events, only, over, from, seconds }) {
    const rows: Row[] = []
    for (const way of over.split(',')) {
      const trial = { tls: way === 'tls', stops, events, from, seconds }
      for (const [name, attack] of Object.entries(attacks))
        if (name.includes(only)) rows.push(...(await attacked({ ...trial, name: `${name}, ${way}`, attack, apart: true })))
      for (const name of ['stops without a key', 'a hundred headers, pipelined'])
        if (name.includes(only)) {
          const called = `${name}, ${way}, the service at nice 10 beside the attacker`
          rows.push(...(await attacked({ ...trial, name: called, attack: attacks[name]!, apart: false })))
        }
    }
    return rows
  },
})

type Trial = {
  name: string
  attack: (typeof attacks)[string]
  tls: boolean
  stops: number
  events: number
  from: string
  /** How long the attack goes on before the first stop. */
  seconds: number
  /** The attacker has a processor of its own, and yields to the client that stops; else both share all, and the service yields. */
  apart: boolean
}

async function attacked({ name, attack, tls, stops, events, from, seconds, apart }: Trial): Promise<Row[]> {
  const target = await startTarget({ tls, events })
  const attacker = await startChild<{ pid: number }>('./attacks/attacker.js')
  try {
    if (apart) pin(target.pid, 1)
    if (apart) pin(attacker.ready.pid, 0)
    else setPriority(target.pid, getPriority() + 10)
    const before = target.sockets()
    const own: number[] = []
    for (let i = 0; i < 5; i++) own.push((await target.stop()) ?? Number.POSITIVE_INFINITY)
    for (const { tls: how, addresses = 1, ...its } of await attack(target)) {
      const usual = { filler: { bytes: 0, times: 0 }, reads: false, again: 'never' as const, more: '', resumes: false }
      const whole: Attack = { ...usual, ...its, port: target.port, from: addressesFrom(from, addresses), tls: tls && how !== 'silent' }
      await attacker.ask({ do: 'attack', attack: whole, nice: getPriority() + (apart ? 10 : 0) })
    }
    await wait(seconds * 1000)
    const times: (number | undefined)[] = []
    for (let i = 0; i < stops; i++) times.push(await target.stop())
    const { came } = await attacker.ask<Came>({ do: 'count' })
    await attacker.end()
    const free_s = await freeAfter(target, before)
    const worst = Math.max(...times.map((time) => time ?? Number.POSITIVE_INFINITY))
    const beyond_ms = Math.max(0, worst - median(own))
    const answered = times.filter((time) => time !== undefined).length
    const upTo = (limit: number, wall?: true) => ({ limit, target: { of: 'value', most: limit, ...(wall && { wall }) } as const })
    return [
      row(`${name}: peak of memory`, 'MiB', target.peak(), upTo(most.rss_mib)),
      row(`${name}: stops answered`, `of ${stops}`, answered, { target: { of: 'value', least: stops } }),
      row(`${name}: worst stop, without the instrument`, 'ms', beyond_ms, upTo(apart ? most.stop_ms : most.crowded_ms, true)),
      row(`${name}: places free after`, 's', free_s, upTo(most.free_s, true)),
      row(`${name}: connections of the attacker`, '', came),
      row(`${name}: load of the computer`, '', loadavg()[0]!),
    ]
  } finally {
    await attacker.end()
    await target.end()
  }
}

/** Keeps a process on one processor, where there are two and `taskset` is installed. */
function pin(pid: number, processor: number): void {
  if (availableParallelism() < 2) return
  try {
    execFileSync('taskset', ['-a', '-p', '-c', String(processor), String(pid)], { stdio: 'ignore' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}

function addressesFrom(first: string, count: number): string[] {
  const [, net, last] = /^(.*\.)(\d+)$/.exec(first)!
  return Array.from({ length: count }, (_, i) => `${net}${Number(last) + i}`)
}

/** Seconds until the service has as many sockets as before. */
async function freeAfter(target: Target, before: number): Promise<number> {
  const began = performance.now()
  while (target.sockets() > before && performance.now() - began < 2 * most.free_s * 1000) await wait(100)
  return (performance.now() - began) / 1000
}
