// From the request of a stop to its first byte at the far end of the wire.

import { Agent, request as requestHttp } from 'node:http'
import { drivers } from '../../drivers/index.ts'
import { openPty } from '../../drivers/transports/pty.ts'
import { scaled, systemClock } from '../../src/kit/clock.ts'
import { bench, type Row } from './bench.ts'
import { type Child, startChild } from './child.ts'
import type { Asked } from './events/readers.ts'
import type { Load } from './load.ts'
import type { Beside, Stoppable } from './servers/stoppable.ts'

/** The limit is a bare `node:http` that writes the bytes itself; the two are asked in turn, and flooded both. */
export const estop = bench({
  name: 'estop',
  summary: 'stop: from the request to the first byte on a pseudo-terminal',
  limit: 'node:http',
  options: { stops: 40, subscribers: 100, rate: 1000, flood: 16 },
  async run({ stops, subscribers, rate, flood }) {
    const [ours, theirs] = [await farEnd('service'), await farEnd('raw')]
    const readers = await startChild<object>('./events/readers.js')
    const askers = [await startChild<object>('./load.js'), await startChild<object>('./load.js')]
    const cases: { what: string; beside: Beside; streams?: boolean; flooded?: boolean }[] = [
      { what: 'idle', beside: {} },
      { what: 'port busy', beside: { port_busy: true } },
      { what: `port busy, ${subscribers} streams`, beside: { port_busy: true, events: rate }, streams: true },
      { what: 'port busy, thread pool full', beside: { port_busy: true, pool_full: true } },
      { what: 'port busy, HTTP flood', beside: { port_busy: true }, flooded: true },
      { what: 'all of it', beside: { port_busy: true, events: rate, pool_full: true }, streams: true, flooded: true },
    ]
    try {
      const rows: Row[] = []
      for (const { what, beside, streams, flooded } of cases) {
        await ours.server.ask(beside)
        if (streams) await readers.ask(opening(ours.server.ready, subscribers))
        const flooding = flooded ? [ours, theirs].map(({ server }, i) => askers[i]!.ask(floodOf(server.ready, flood))) : []
        rows.push(...(await measured(what, ours, theirs, stops)))
        await Promise.all(flooding)
        await readers.ask({ do: 'close' } satisfies Asked)
      }
      return rows
    } finally {
      for (const end of [ours.end, theirs.end, readers.end, ...askers.map(({ end }) => end)]) await end()
    }
  },
})

type FarEnd = { server: Child<Stoppable>; stopped(): Promise<number>; end(): Promise<void> }

/** A server and the instrument that it talks to; `stopped` presses stop and answers after how many milliseconds that arrived. */
async function farEnd(kind: 'service' | 'raw'): Promise<FarEnd> {
  const pty = await openPty()
  const driver = await drivers.bioshake()
  const simulator = driver.simulate({
    clock: scaled(systemClock, 50),
    settings: (await import('valibot')).parse(driver.settings, {}),
    send: (bytes) => kind === 'service' && pty.write(bytes),
  })
  let arrived = (_at: number) => {}
  pty.onBytes((bytes) => {
    const at = performance.now()
    if (Buffer.from(bytes).includes('shakeEmergencyOff')) arrived(at)
    simulator.receive(bytes)
  })
  const server = await startChild<Stoppable>('./servers/stoppable.js', { args: [kind, pty.path] })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  return {
    server,
    async stopped() {
      const arrival = new Promise<number>((resolve) => {
        arrived = resolve
      })
      const began = performance.now()
      const answered = press(server.ready, agent)
      const at = await Promise.race([arrival, answered.then(() => lost())])
      await answered
      return at - began
    },
    async end() {
      agent.destroy()
      await server.end()
      simulator.powerOff()
      await pty.close()
    },
  }
}

/** An answer without the bytes at the far end, a second later still. */
async function lost(): Promise<never> {
  await new Promise((resolve) => setTimeout(resolve, 1000))
  throw new Error('a stop was answered and never arrived')
}

function press({ port, key, path }: Stoppable, agent: Agent): Promise<void> {
  return new Promise((resolve, reject) => {
    const asking = requestHttp({ port, path, agent, host: '127.0.0.1', method: 'POST', headers: { 'X-API-Key': key } }, (response) => {
      response.resume().on('end', resolve)
    })
    asking.on('error', reject)
    asking.end()
  })
}

async function measured(what: string, ours: FarEnd, theirs: FarEnd, stops: number): Promise<Row[]> {
  const found: { ours: number[]; theirs: number[] } = { ours: [], theirs: [] }
  for (let i = 0; i < stops; i++) {
    found.theirs.push(await theirs.stopped())
    found.ours.push(await ours.stopped())
  }
  const [p50, limit] = [percentile(found.ours, 0.5), percentile(found.theirs, 0.5)]
  const most = what === 'all of it' ? 15 : 100
  return [
    { what: `${what}, p50`, unit: 'ms', value: p50, limit, ratio: p50 / limit, target: { of: 'ratio', most: 1.5, wall: true } },
    {
      what: `${what}, p99`,
      unit: 'ms',
      value: percentile(found.ours, 0.99),
      limit: percentile(found.theirs, 0.99),
      target: { of: 'value', most, wall: true },
    },
  ]
}

function percentile(values: readonly number[], part: number): number {
  return values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))]!
}

function opening({ port, key }: Stoppable, connections: number): Asked {
  const request = `GET /events/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: ${key}\r\n\r\n`
  return { do: 'open', port, request, connections, stalled: 0 }
}

function floodOf({ port, key }: Stoppable, connections: number): Load {
  const request = `GET /api/system HTTP/1.1\r\nHost: 127.0.0.1\r\nX-API-Key: ${key}\r\n\r\n`
  return { port, requests: Array.from({ length: connections }, () => request), expect: 'HTTP/1.1 200', seconds: 5 }
}
