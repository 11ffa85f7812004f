// Attacks of a client that wants to end the service, or to keep the stop out: memory, stops, and places while they go on.

import { setTimeout as wait } from 'node:timers/promises'
import type { Attack, Came } from './attacks/attacker.ts'
import { startTarget, type Target } from './attacks/service.ts'
import { bench, median, type Row } from './bench.ts'
import { startChild } from './child.ts'

type Attacking = Pick<Attack, 'connections' | 'head'> & Partial<Pick<Attack, 'filler' | 'reads'>> & { tls?: 'silent' }

const get = (path: string, key?: string) => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n${key ? `X-API-Key: ${key}\r\n` : ''}\r\n`
const bulk = (key: string) =>
  `POST /api/teachpoints/bulk HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${key}\r\nContent-Type: application/json\r\nContent-Length: 2097152\r\n\r\n`

/**
 * By name. By default the attacker has the same address as the client that stops, as behind one router; `--from 127.0.0.2` gives it its own.
 * Of each the attacker keeps so many connections, and comes back when it is cut off.
 */
const attacks: Record<string, (keys: Target['keys']) => Attacking[]> = {
  'pipelined /openapi.json': () => [{ connections: 1, head: get('/openapi.json').repeat(1000) }],
  'pipelined /health': () => [{ connections: 16, head: get('/health').repeat(1000), reads: true }],
  'silent connections': () => [{ connections: 700, head: '', tls: 'silent' }],
  'half a header': () => [{ connections: 700, head: 'GET /health HTTP/1.1\r\nHost: loc' }],
  'half a TLS record': () => [{ connections: 700, head: '\x16\x03\x01\x02\x00\x01\x00', tls: 'silent' }],
  'answers not taken': () => [{ connections: 700, head: get('/openapi.json').repeat(8) }],
  'streams and waits of one key': ({ read }) => [
    { connections: 256, head: get('/events/stream', read), reads: true },
    { connections: 344, head: get('/events?since=9e9&wait=60', read), reads: true },
  ],
  'answers of one key not taken': ({ read }) => [{ connections: 512, head: get('/events?limit=2000', read).repeat(8) }],
  'the whole log, 60 lanes': ({ read }) => [{ connections: 60, head: get('/events', read), reads: true }],
  'bodies that stop': ({ operate }) => [{ connections: 500, head: bulk(operate), filler: { bytes: 65_536, times: 31 } }],
  'bodies that never begin': ({ operate }) => [{ connections: 700, head: bulk(operate) }],
}

const most = { rss_mib: 200, stop_ms: 500, free_s: 15 }

export const attacksBench = bench({
  name: 'attacks',
  summary: `while it is attacked: memory (at most ${most.rss_mib} MiB), stops (${most.stop_ms} ms), and places free again (${most.free_s} s)`,
  options: { stops: 20, events: 20_000, only: '', over: 'plain,tls', from: '127.0.0.1' },
  async run({ stops, events, only, over, from }) {
    const rows: Row[] = []
    for (const way of over.split(',')) {
      for (const [name, attack] of Object.entries(attacks)) {
        if (name.includes(only))
          rows.push(...(await attacked({ name: `${name}, ${way}`, attack, tls: way === 'tls', stops, events, from })))
      }
    }
    return rows
  },
})

type Trial = { name: string; attack: (keys: Target['keys']) => Attacking[]; tls: boolean; stops: number; events: number; from: string }

async function attacked({ name, attack, tls, stops, events, from }: Trial): Promise<Row[]> {
  const target = await startTarget({ tls, events })
  const attacker = await startChild<object>('./attacks/attacker.js')
  try {
    const before = target.sockets()
    const own: number[] = []
    for (let i = 0; i < 5; i++) own.push((await target.stop()) ?? Number.POSITIVE_INFINITY)
    for (const { tls: how, ...its } of attack(target.keys)) {
      const whole: Attack = { filler: { bytes: 0, times: 0 }, reads: false, ...its, port: target.port, from, tls: tls && how !== 'silent' }
      await attacker.ask({ do: 'attack', attack: whole })
    }
    await wait(1500)
    const times: (number | undefined)[] = []
    for (let i = 0; i < stops; i++) times.push(await target.stop())
    const { came } = await attacker.ask<Came>({ do: 'count' })
    await attacker.end()
    const free_s = await freeAfter(target, before)
    const worst = Math.max(...times.map((time) => time ?? Number.POSITIVE_INFINITY))
    const beyond_ms = Math.max(0, worst - median(own))
    return [
      {
        what: `${name}: peak of memory`,
        unit: 'MiB',
        value: target.peak(),
        limit: most.rss_mib,
        target: { of: 'value', most: most.rss_mib },
      },
      {
        what: `${name}: stops answered`,
        unit: `of ${stops}`,
        value: times.filter((time) => time !== undefined).length,
        target: { of: 'value', least: stops },
      },
      {
        what: `${name}: worst stop, without the instrument`,
        unit: 'ms',
        value: beyond_ms,
        limit: most.stop_ms,
        target: { of: 'value', most: most.stop_ms, wall: true },
      },
      {
        what: `${name}: places free after`,
        unit: 's',
        value: free_s,
        limit: most.free_s,
        target: { of: 'value', most: most.free_s, wall: true },
      },
      { what: `${name}: connections of the attacker`, unit: '', value: came },
    ]
  } finally {
    await attacker.end()
    await target.end()
  }
}

/** Seconds until the service has as many sockets as before. */
async function freeAfter(target: Target, before: number): Promise<number> {
  const began = performance.now()
  while (target.sockets() > before && performance.now() - began < 2 * most.free_s * 1000) await wait(100)
  return (performance.now() - began) / 1000
}
