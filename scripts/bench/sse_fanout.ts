import { bench, none, type Row, row, rowOfRounds, type Target } from './bench.ts'
import { type Child, startChild } from './child.ts'
import type { Flow } from './events/flow.ts'
import type { Asked as Reading, Taken } from './events/readers.ts'
import type { Asked, Serving, Told } from './events/service.ts'

/** Lateness is that of the first event in each piece that a reader gets. */
export const sseFanout = bench({
  name: 'sse-fanout',
  summary: 'live events to many streams; the readers are another process',
  limit: 'a TCP loop',
  options: { rates: '200,1000,5000', connections: 100, seconds: 0.7, rounds: 2 },
  async run({ rates, connections, seconds, rounds }) {
    const [readers, limit, service] = [
      await startChild('./events/readers.js'),
      await startChild<Serving>('./events/tcp_loop.js'),
      await startChild<Serving>('./events/service.js'),
    ]
    const once = (server: Child<Serving>, flow: Flow) => oneRound(readers, server, connections, flow)
    try {
      const rows: Row[] = []
      for (const server of [limit, service]) await once(server, { rate: 2000, seconds: 0.5 })
      for (const rate of rates.split(',').map(Number)) {
        const done: { limit: Round; service: Round }[] = []
        for (let i = 0; i < rounds; i++)
          done.push({ limit: await once(limit, { rate, seconds }), service: await once(service, { rate, seconds }) })
        rows.push(...rowsOf(`${rate} x ${connections}`, done))
      }
      return rows
    } finally {
      for (const child of [readers, limit, service]) await child.end()
    }
  },
})

type Round = { cpu_us: number; p99_ms: number; missing: number; rate: number }

async function oneRound(readers: Child<object>, server: Child<Serving>, connections: number, flow: Flow): Promise<Round> {
  const { port, head } = server.ready
  const ask = <Answer>(question: Reading) => readers.ask<Answer>(question)
  await ask({ do: 'open', port, request: head && `GET /events/stream?heartbeat=60 HTTP/1.1\r\n${head}`, connections })
  const before = await server.ask<Told>({} satisfies Asked)
  const began = performance.now()
  const { sent } = await server.ask<Told>({ flow } satisfies Asked)
  const { taken, missing, p99_ms } = await ask<Taken>({ do: 'take', frames: sent })
  const seconds = (performance.now() - began) / 1000
  const after = await server.ask<Told>({} satisfies Asked)
  await ask({ do: 'close' })
  return { cpu_us: (after.cpu_us - before.cpu_us) / taken, p99_ms, missing, rate: taken / seconds }
}

function rowsOf(load: string, done: readonly { limit: Round; service: Round }[]): Row[] {
  const beside = (what: string, unit: string, of: keyof Round, target?: Target) => {
    const rounds = done.map(({ service, limit }) => ({ value: service[of], limit: limit[of] }))
    return rowOfRounds(`${load}: ${what}`, unit, rounds, target)
  }
  const missing = done.reduce((sum, { service }) => sum + service.missing, 0)
  return [
    beside('CPU', 'us/delivery', 'cpu_us', { of: 'ratio', most: 1.3 }),
    beside('p99', 'ms', 'p99_ms', { of: 'ratio', most: 3, wall: true }),
    beside('deliveries', '1/s', 'rate'),
    row(`${load}: lost`, '', missing, none),
  ]
}
