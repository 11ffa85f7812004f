// Requests to the service, beside the same to Hono with nothing but the two routes; and with the Node flags of the unit beside without.

import { bench, type Options, type Row, rowOfRounds, type Target } from './bench.ts'
import { type Child, startChild } from './child.ts'
import { unitFlags } from './events/unit.ts'
import type { Load, Loaded } from './load.ts'
import type { Usage } from './process.ts'
import type { Serving } from './servers/serving.ts'

/** The short form. */
const httpOptions = { seconds: 0.6, rounds: 5, connections: 32 }

/** In answers, not in seconds: on a busy machine a second is not enough for V8 to compile what is asked often. */
const warmUp = { most: 20_000, seconds: 10 }

type Round = { cpu_us: number; rate: number; rss_mib: number }
type Measure = { what: string; unit: string; of: keyof Round; target?: Target }

/** Every server checks the key by its SHA-256 and writes the list of four devices anew as JSON. */
export const httpGet = bench({
  name: 'http-get',
  summary: 'GET /api/devices with a key',
  limit: 'the one before',
  options: httpOptions,
  run: (options) =>
    besideHono(options, {
      devices: 4,
      request: ({ host, key }) => `GET /api/devices HTTP/1.1\r\nHost: ${host}\r\nX-API-Key: ${key}\r\n\r\n`,
      measures: [
        { what: 'CPU a request', unit: 'us', of: 'cpu_us', target: { of: 'ratio', most: 1.15 } },
        { what: 'requests a second', unit: '1/s', of: 'rate', target: { of: 'ratio', least: 0.85, wall: true } },
      ],
    }),
})

/**
 * A shake on an instrument that needs no time: what the service itself costs from the request to the driver and back. Key, route, media
 * type, body, members, ranges and the id of the operation are the work of every server. The service alone makes an operation of it, with
 * a record, a deadline and a way to be stopped, and writes it down. Each connection has a device of its own, so that none is ever busy.
 */
export const httpPost = bench({
  name: 'http-post',
  summary: 'POST /api/devices/{id}/shake, validated, on an instrument that is done at once',
  limit: 'the one before',
  options: httpOptions,
  run: (options) =>
    besideHono(options, {
      devices: options.connections,
      request: shake,
      measures: [
        { what: 'CPU a request', unit: 'us', of: 'cpu_us', target: { of: 'ratio', most: 1.5 } },
        { what: 'requests a second', unit: '1/s', of: 'rate' },
      ],
    }),
})

const body = JSON.stringify({ speed: 500, duration: 5 })

function shake({ host, key }: Serving, connection: number): string {
  const headers = [`Host: ${host}`, `X-API-Key: ${key}`, 'Content-Type: application/json', `Content-Length: ${body.length}`]
  return [`POST /api/devices/shaker-${connection + 1}/shake HTTP/1.1`, ...headers, '', body].join('\r\n')
}

type Work = {
  /** How many devices each server has. */
  devices: number
  /** The bytes that go over the wire on a connection. */
  request: (serving: Serving, connection: number) => string
  measures: readonly Measure[]
}

const withFlags = 'benchd with the flags of the unit'
const kinds = [
  { name: 'bare Hono', module: './servers/bare_hono.js', flags: [] },
  { name: 'benchd', module: './servers/benchd.js', flags: [] },
  { name: withFlags, module: './servers/benchd.js', flags: unitFlags },
]
/** The most that the flags, which save memory, may cost. */
const mostOfFlags: Target = { of: 'ratio', most: 1.25 }

/** Returns a row for each measure of each server but the first, beside the server before it: what the service adds to Hono, and the flags to it. */
async function besideHono(options: Options & typeof httpOptions, work: Work): Promise<Row[]> {
  const { seconds, rounds, connections } = options
  const { devices, request, measures } = work
  const load = await startChild('./load.js')
  const servers: { name: string; child: Child<Serving>; rounds: Round[] }[] = []
  try {
    for (const { name, module, flags } of kinds)
      servers.push({ name, child: await startChild(module, { args: [String(devices)], flags }), rounds: [] })
    const loadOf = ({ ready }: Child<Serving>) => ({
      ...{ port: ready.port, expect: 'HTTP/1.1 200 ' },
      requests: Array.from({ length: connections }, (_, connection) => request(ready, connection)),
    })
    for (const { child } of servers) await oneRound(load, child, { ...loadOf(child), ...warmUp })
    for (let i = 0; i < rounds; i++) {
      for (const { child, rounds } of servers) rounds.push(await oneRound(load, child, { ...loadOf(child), seconds }))
    }
  } finally {
    for (const { end } of [load, ...servers.map(({ child }) => child)]) await end()
  }
  const all: readonly Measure[] = [...measures, { what: 'RSS under load', unit: 'MiB', of: 'rss_mib' }]
  return all.flatMap(({ what, unit, of, target }) =>
    servers.slice(1).map(({ name, rounds }, i) => {
      const its = name === withFlags ? (of === 'cpu_us' ? mostOfFlags : undefined) : target
      const beside = rounds.map((round, n) => ({ value: round[of], limit: servers[i]!.rounds[n]![of] }))
      return rowOfRounds(`${what}, ${name}`, unit, beside, its)
    }),
  )
}

async function oneRound(load: Child<object>, server: Child<Serving>, work: Load): Promise<Round> {
  const before = await server.ask<Usage>({})
  const { answers, seconds, error } = await load.ask<Loaded>(work)
  if (error) throw new Error(error)
  const after = await server.ask<Usage>({})
  return { cpu_us: (after.cpu_us - before.cpu_us) / answers, rate: answers / seconds, rss_mib: after.rss_mib }
}
