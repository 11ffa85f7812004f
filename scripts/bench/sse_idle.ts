import { setTimeout as wait } from 'node:timers/promises'
import { bench } from './bench.ts'
import { type Child, startChild } from './child.ts'
import type { Asked as Reading } from './events/readers.ts'
import type { Asked, Serving, Told } from './events/service.ts'
import { unitFlags } from './events/unit.ts'
import { streamRequest } from './sse_fanout.ts'

/**
 * The first ones are not counted, for with them comes what is there only once; nor is what waits to be collected. Node has the
 * flags of the unit: without them the room for young objects grows by more than all streams take.
 */
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
  const server = await startChild<Serving>(module, { flags: unitFlags })
  const readers = await startChild<object>('./events/readers.js')
  const open = (connections: number) =>
    readers.ask({ do: 'open', port: server.ready.port, request: streamRequest(server.ready), connections, stalled: 0 } satisfies Reading)
  try {
    await open(first)
    const before = await rssOf(server)
    await open(connections)
    return (((await rssOf(server)) - before) * 1024) / connections
  } finally {
    for (const child of [server, readers]) await child.end()
  }
}

async function rssOf(server: Child<Serving>): Promise<number> {
  await wait(300)
  return (await server.ask<Told>({ collect: true } satisfies Asked)).rss_mib
}
