import { bench, median, type Row } from './bench.ts'
import { type Child, startChild } from './child.ts'
import type { Asked as Reading, Taken } from './events/readers.ts'
import type { Asked, Serving, Told } from './events/service.ts'

/** Lateness is that of the first event in each piece that a reader gets. */
export const sseFanout = bench({
  name: 'sse-fanout',
  summary: 'live events to many streams; the readers are another process',
  limit: 'a TCP loop',
  options: { rates: '200,1000,5000', connections: 100, seconds: 0.7, rounds: 2, profile: '' },
  async run({ rates, connections, seconds, rounds, profile }) {
    const children = {
      readers: await startChild<object>('./events/readers.js'),
      limit: await startChild<Serving>('./events/tcp_loop.js'),
      service: await startChild<Serving>('./events/service.js', { profile }),
    }
    try {
      const rows: Row[] = []
      const warmUp = { connections, flow: { rate: 2000, seconds: 0.5 } }
      for (const server of [children.limit, children.service]) await oneRound(children.readers, server, warmUp)
      for (const rate of rates.split(',').map(Number)) {
        const done: { limit: Round; service: Round }[] = []
        for (let i = 0; i < rounds; i++) {
          const load = { connections, flow: { rate, seconds } }
          done.push({
            limit: await oneRound(children.readers, children.limit, load),
            service: await oneRound(children.readers, children.service, load),
          })
        }
        rows.push(...rowsOf(`${rate} x ${connections}`, done))
      }
      return rows
    } finally {
      for (const child of Object.values(children)) await child.end()
    }
  },
})

type Round = { cpu_us: number; p50_ms: number; p99_ms: number; missing: number; rate: number }

export function streamRequest({ head }: Serving): string {
  return head && `GET /events/stream?heartbeat=60 HTTP/1.1\r\n${head}`
}

async function oneRound(
  readers: Child<object>,
  server: Child<Serving>,
  { connections, flow }: { connections: number; flow: { rate: number; seconds: number } },
): Promise<Round> {
  const { port } = server.ready
  const ask = <Answer>(question: Reading) => readers.ask<Answer>(question)
  await ask({ do: 'open', port, request: streamRequest(server.ready), connections })
  const before = await server.ask<Told>({} satisfies Asked)
  const began = performance.now()
  const { sent } = await server.ask<Told>({ flow } satisfies Asked)
  const { taken, missing, p50_ms, p99_ms } = await ask<Taken>({ do: 'take', frames: sent })
  const seconds = (performance.now() - began) / 1000
  const after = await server.ask<Told>({} satisfies Asked)
  await ask({ do: 'close' })
  return { cpu_us: (after.cpu_us - before.cpu_us) / taken, p50_ms, p99_ms, missing, rate: taken / seconds }
}

function rowsOf(load: string, done: readonly { limit: Round; service: Round }[]): Row[] {
  const row = (what: string, unit: string, of: keyof Round, target?: Row['target']): Row => ({
    what: `${load}: ${what}`,
    unit,
    value: median(done.map(({ service }) => service[of])),
    limit: median(done.map(({ limit }) => limit[of])),
    ratio: median(done.map(({ service, limit }) => service[of] / limit[of])),
    target,
  })
  const missing = done.reduce((sum, { service }) => sum + service.missing, 0)
  return [
    row('CPU', 'us/delivery', 'cpu_us', { of: 'ratio', most: 1.3 }),
    row('p99', 'ms', 'p99_ms', { of: 'ratio', most: 3, wall: true }),
    row('deliveries', '1/s', 'rate'),
    { what: `${load}: lost`, unit: '', value: missing, target: { of: 'value', most: 0 } },
  ]
}
