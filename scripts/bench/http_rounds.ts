// The service beside two servers that do the same with less: node:http by hand, and Hono with nothing but the two routes.

import { median, type Row, type Target } from './bench.ts'
import { type Child, startChild } from './child.ts'
import type { Load, Loaded } from './load.ts'
import type { Serving, Usage } from './servers/serving.ts'

export type HttpOptions = { seconds: number; rounds: number; connections: number; profile: string }

/** The short form. `profile` is a folder: each server writes V8's CPU profile there. */
export const httpOptions: HttpOptions = { seconds: 0.6, rounds: 5, connections: 32, profile: '' }

type Round = { cpu_us: number; rate: number; rss_mib: number }
type Server = { name: string; child: Child<Serving>; rounds: Round[] }

type Work = {
  /** How many devices each server has. */
  devices: number
  /** What goes over the wire on a connection. */
  request: (serving: Serving, connection: number) => string
  /** Ratios to the first server. */
  targets: Targets
}
type Targets = { cpu: number; rate?: number }

/** Rows of CPU time a request, of requests a second and of memory. */
export async function besideRaw(options: HttpOptions, { devices, request, targets }: Work): Promise<Row[]> {
  const { seconds, rounds, connections, profile } = options
  const load = await startChild<object>('./load.js')
  const servers: Server[] = []
  try {
    for (const [name, module] of Object.entries(modules))
      servers.push({ name, child: await startChild<Serving>(module, { args: [String(devices)], ...(profile && { profile }) }), rounds: [] })
    for (let i = -1; i < rounds; i++) {
      for (const { child, rounds } of servers) {
        const requests = Array.from({ length: connections }, (_, connection) => request(child.ready, connection))
        const round = await oneRound(load, child, {
          port: child.ready.port,
          requests,
          expect: 'HTTP/1.1 200 ',
          seconds: i < 0 ? 1 : seconds,
        })
        // The first warms it up.
        if (i >= 0) rounds.push(round)
      }
    }
  } finally {
    for (const { end } of [load, ...servers.map(({ child }) => child)]) await end()
  }
  return rowsOf(servers, targets)
}

const modules = { 'raw node:http': './servers/raw.js', 'bare Hono': './servers/bare_hono.js', benchd: './servers/benchd.js' }

async function oneRound(load: Child<object>, server: Child<Serving>, work: Load): Promise<Round> {
  const before = await server.ask<Usage>({})
  const { answers, seconds, error } = await load.ask<Loaded>(work)
  if (error) throw new Error(error)
  const { cpu_us, rss_mib } = await server.ask<Usage>({})
  return { cpu_us: (cpu_us - before.cpu_us) / answers, rate: answers / seconds, rss_mib }
}

function rowsOf(servers: readonly Server[], targets: Targets): Row[] {
  return measures.flatMap(({ what, unit, of, aim }) => {
    const [raw, ...others] = servers.map(({ name, rounds }) => ({ name, values: rounds.map((round) => round[of]) }))
    return others.map(({ name, values }) => ({
      what: `${what}, ${name}`,
      unit,
      value: median(values),
      limit: median(raw!.values),
      ratio: median(values.map((value, i) => value / raw!.values[i]!)),
      ...(name === 'benchd' && { target: aim?.(targets) }),
    }))
  })
}

type Measure = { what: string; unit: string; of: keyof Round; aim?: (targets: Targets) => Target | undefined }

const measures: readonly Measure[] = [
  { what: 'CPU a request', unit: 'us', of: 'cpu_us', aim: ({ cpu }) => ({ of: 'ratio', most: cpu }) },
  {
    what: 'requests a second',
    unit: '1/s',
    of: 'rate',
    aim: ({ rate }) => (rate === undefined ? undefined : { of: 'ratio', least: rate, wall: true }),
  },
  { what: 'RSS under load', unit: 'MiB', of: 'rss_mib' },
]
