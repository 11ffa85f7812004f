import { setTimeout as wait } from 'node:timers/promises'
import { bench } from './bench.ts'
import { type Child, startChild } from './child.ts'
import type { Asked as Reading } from './events/readers.ts'
import type { Serving, Told } from './events/service.ts'
import { streamRequest } from './sse_fanout.ts'

/** The first connections are not counted: they fill what every process keeps ready. */
export const sseIdle = bench({
  name: 'sse-idle',
  summary: 'memory of a stream on which nothing happens',
  limit: 'raw node:http',
  options: { connections: 1000 },
  async run({ connections }) {
    const [value, limit] = [await kibOf('./events/service.js', connections), await kibOf('./events/raw_http.js', connections)]
    return [{ what: 'RSS a connection', unit: 'KiB', value, limit, ratio: value / limit, target: { of: 'value', most: 25 } }]
  },
})

const first = 200

async function kibOf(module: string, connections: number): Promise<number> {
  const server = await startChild<Serving>(module)
  const readers = [await startChild<object>('./events/readers.js'), await startChild<object>('./events/readers.js')]
  try {
    const before = await rssWith(readers[0]!, server, first)
    const after = await rssWith(readers[1]!, server, connections)
    return ((after - before) * 1024) / connections
  } finally {
    for (const child of [server, ...readers]) await child.end()
  }
}

async function rssWith(readers: Child<object>, server: Child<Serving>, connections: number): Promise<number> {
  await readers.ask({ do: 'open', port: server.ready.port, request: streamRequest(server.ready), connections, stalled: 0 } satisfies Reading)
  await wait(300)
  return (await server.ask<Told>({})).rss_mib
}
