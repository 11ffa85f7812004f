// The service beside two servers that do the same with less, node:http by hand and Hono with nothing but the two routes; and with the Node flags
// of the unit beside without.

import { median, type Row, type Target } from './bench.ts'
import { type Child, startChild } from './child.ts'
import { unitFlags } from './events/unit.ts'
import type { Load, Loaded } from './load.ts'
import type { Serving, Usage } from './servers/serving.ts'

export type HttpOptions = { seconds: number; rounds: number; connections: number; profile: string }

/** The short form. `profile` is a folder: each server writes V8's CPU profile there. */
export const httpOptions: HttpOptions = { seconds: 0.6, rounds: 5, connections: 32, profile: '' }

/** In answers, not in seconds: on a busy machine a second is not enough for V8 to compile what is asked often. */
const warmUp = { most: 20_000, seconds: 10 }

/** In the service's own process and without HTTP, the same operations cost `cpu_us - skin_us`. */
type Round = { cpu_us: number; skin_us: number; rate: number; rss_mib: number }
type Server = { name: string; child: Child<Serving>; rounds: Round[] }

type Work = {
  /** How many devices each server has. */
  devices: number
  /** The bytes that go over the wire on a connection. */
  request: (serving: Serving, connection: number) => string
  measures: readonly Measure[]
}

export type Measure = {
  what: string
  unit: string
  of: keyof Round
  /** The request to the service. */
  target?: Target
}

export const rss: Measure = { what: 'RSS under load', unit: 'MiB', of: 'rss_mib' }

/** A row for each measure of each server but the first, beside the server before it: what Hono adds to Node, the service to Hono, and the flags to it. */
export async function besideHono(options: HttpOptions, { devices, request, measures }: Work): Promise<Row[]> {
  const { seconds, rounds, connections, profile } = options
  const load = await startChild<object>('./load.js')
  const servers: Server[] = []
  try {
    for (const { name, module, flags = [] } of kinds)
      servers.push({
        name,
        child: await startChild<Serving>(module, { args: [String(devices)], flags, ...(profile && { profile }) }),
        rounds: [],
      })
    const operations = measures.some(({ of }) => of === 'skin_us') ? 6400 : 0
    const work = ({ ready }: Child<Serving>): Omit<Load, 'seconds'> & { operations: number } => {
      const requests = Array.from({ length: connections }, (_, connection) => request(ready, connection))
      return { port: ready.port, requests, expect: 'HTTP/1.1 200 ', operations }
    }
    for (const { child } of servers) await oneRound(load, child, { ...work(child), ...warmUp })
    for (let i = 0; i < rounds; i++) {
      for (const { child, rounds } of servers) rounds.push(await oneRound(load, child, { ...work(child), seconds }))
    }
  } finally {
    for (const { end } of [load, ...servers.map(({ child }) => child)]) await end()
  }
  return rowsOf(servers, measures)
}

type Kind = { name: string; module: string; flags?: readonly string[] }

const withFlags = 'benchd with the flags of the unit'
const kinds: readonly Kind[] = [
  { name: 'raw node:http', module: './servers/raw.js' },
  { name: 'bare Hono', module: './servers/bare_hono.js' },
  { name: 'benchd', module: './servers/benchd.js' },
  { name: withFlags, module: './servers/benchd.js', flags: unitFlags },
]
/** The most that the flags, which save memory, may cost. */
const mostOfFlags: Target = { of: 'ratio', most: 1.25 }

/** `operations` is how many are done without HTTP afterwards. */
async function oneRound(load: Child<object>, server: Child<Serving>, work: Load & { operations: number }): Promise<Round> {
  const { operations } = work
  const before = await server.ask<Usage>({})
  const { answers, seconds, error } = await load.ask<Loaded>(work)
  if (error) throw new Error(error)
  const after = await server.ask<Usage>({ operations })
  const cpu_us = (after.cpu_us - before.cpu_us) / answers
  return { cpu_us, skin_us: cpu_us - after.operations_us / Math.max(1, operations), rate: answers / seconds, rss_mib: after.rss_mib }
}

function rowsOf(servers: readonly Server[], measures: readonly Measure[]): Row[] {
  return measures.flatMap(({ what, unit, of, target }) => {
    const all = servers.map(({ name, rounds }) => ({ name, values: rounds.map((round) => round[of]) }))
    return all.slice(1).map(({ name, values }, i) => {
      const before = all[i]!
      return {
        what: `${what}, ${name}`,
        unit,
        value: median(values),
        limit: median(before.values),
        ratio: median(values.map((value, round) => value / before.values[round]!)),
        ...(name === 'benchd' && { target }),
        ...(name === withFlags && of === 'cpu_us' && { target: mostOfFlags }),
      }
    })
  })
}
